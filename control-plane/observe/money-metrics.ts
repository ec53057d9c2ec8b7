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
  const found = gauge('money_findings', 'What the last comparison found to differ', ['kind'])
  const drift = gauge('money_drift_percent', 'What a provider bills above its list cost, percent', [
    'provider',
    'source',
  ])
  const waiting = gauge('money_waiting', 'What waits for a person or a sweep', ['what'])
  const shortfall = gauge('money_shortfall_micro_usd', 'What the platform could not collect, micro-USD')
  const gas = gauge('money_gas_eth', 'What the settlement key has for gas, in ETH')
  const treasury = gauge('money_treasury_micro_usd', 'The treasury: its balance, and the floor of an alarm', ['what'])
  const treasuryGas = gauge('money_treasury_gas_eth', 'What the treasury has for gas, in ETH')
  const transfers = gauge('money_transfers_open', 'Payouts and sweeps that are not at their end', ['state'])
  const transferred = gauge('money_transfers_open_micro_usd', 'What they come to, micro-USD', ['state'])
  const oldest = gauge('money_transfers_oldest_seconds', 'Unix time of the oldest of them', ['state'])
  const swept = new Counter({
    name: 'money_swept_total',
    help: 'What sweepers had to finish for somebody else',
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
