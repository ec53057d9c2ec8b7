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
  const waiting = gauge('money_waiting', 'What waits for a person or a sweep', ['what'])
  const shortfall = gauge('money_shortfall_micro_usd', 'What the platform could not collect, micro-USD')
  const gas = gauge('money_gas_eth', 'What the settlement key has for gas, in ETH')
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
      findings: (kind, count) => found.set({ kind }, count),
      backlog({ shortfallMicro, ...counts }) {
        for (const [what, count] of Object.entries(counts)) waiting.set({ what }, count)
        shortfall.set(Number(shortfallMicro))
      },
      gasMoney: (wei) => gas.set(Number(wei) / WEI_AN_ETH),
      swept: (what, count) => {
        if (count > 0) swept.inc({ what }, count)
      },
    },
  }
}
