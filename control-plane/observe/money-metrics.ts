import { Counter, Gauge, Registry } from 'prom-client'
import type { MoneyMetrics } from '#control-plane/ports/telemetry/money-metrics.ts'
import { SECOND } from '#shared/clock.ts'

const WEI_AN_ETH = 1e18
const STATES = { ok: 0, breach: 1, none: -1 } as const

/** Creates the metrics of the money path and their registry. */
export function createMoneyMetrics(): { readonly registry: Registry; readonly metrics: MoneyMetrics } {
  const registry = new Registry()
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers })
  const breach = gauge('money_invariant_breach', 'Invariant: 0 holds, 1 is broken, -1 has nothing to check', ['id'])
  const checkedAt = gauge('money_invariants_checked_at_seconds', 'Unix time of the last whole check')
  const found = gauge('money_findings', 'Differences that the last comparison found', ['kind'])
  const drift = gauge('money_drift_percent', "Percent by which a provider's bills exceed the list cost", [
    'provider',
    'source',
  ])
  const waiting = gauge('money_waiting', 'Records that wait for a person or a sweep', ['what'])
  const shortfall = gauge('money_shortfall_micro_usd', 'Charges that the platform could not collect, micro-USD')
  const gas = gauge('money_gas_eth', 'Balance of the settlement key for gas, in ETH')
  const treasury = gauge(
    'money_treasury_micro_usd',
    'Balance of the treasury, and the floor below which an alarm asks for a refill',
    ['what'],
  )
  const treasuryGas = gauge('money_treasury_gas_eth', 'Balance of the treasury for gas, in ETH')
  const transfers = gauge('money_transfers_open', 'Payouts and sweeps that have not ended', ['state'])
  const transferred = gauge(
    'money_transfers_open_micro_usd',
    'Sum of payouts and sweeps that have not ended, micro-USD',
    ['state'],
  )
  const oldest = gauge('money_transfers_oldest_seconds', 'Unix time of the oldest payout or sweep that has not ended', [
    'state',
  ])
  const swept = new Counter({
    name: 'money_swept_total',
    help: 'Records of dead processes that sweepers finished',
    labelNames: ['what'],
    registers,
  })
  return {
    registry,
    metrics: {
      invariants(findings, at) {
        for (const { id, state } of findings) breach.set({ id }, STATES[state])
        checkedAt.set(at / SECOND)
      },
      drift(rows) {
        drift.reset()
        for (const { percent, ...labels } of rows) drift.set(labels, percent)
      },
      findings: (kind, count) => found.set({ kind }, count),
      backlog({ shortfallMicro, ...counts }) {
        for (const [what, count] of Object.entries(counts)) waiting.set({ what }, count)
        shortfall.set(Number(shortfallMicro))
      },
      gasMoney: (wei) => gas.set(Number(wei) / WEI_AN_ETH),
      treasury({ balanceMicro, gasWei, floorMicro, open }) {
        if (balanceMicro !== null) treasury.set({ what: 'balance' }, Number(balanceMicro))
        treasury.set({ what: 'floor' }, Number(floorMicro))
        if (gasWei !== null) treasuryGas.set(Number(gasWei) / WEI_AN_ETH)
        for (const gauged of [transfers, transferred, oldest]) gauged.reset()
        for (const { state, count, amount, oldestAt } of open) {
          transfers.set({ state }, count)
          transferred.set({ state }, Number(amount))
          oldest.set({ state }, oldestAt.getTime() / SECOND)
        }
      },
      swept: (what, count) => {
        if (count > 0) swept.inc({ what }, count)
      },
    },
  }
}
