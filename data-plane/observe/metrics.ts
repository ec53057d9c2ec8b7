import { collectDefaultMetrics, Registry } from 'prom-client'
import type { CallFacts } from '#data-plane/call.ts'
import { SECOND } from '#shared/clock.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import type { FigureSources } from './figures.ts'
import { mountFigures } from './figures.ts'
import type { Tallies } from './tallies.ts'
import { createTallies } from './tallies.ts'

/** Figures of one process in Prometheus' text format. Labels have few values: never an id, a key or a model. */
export type Metrics = {
  /** Counts a call that is over, and its attempts. */
  observe(facts: CallFacts, attempts: readonly Attempt[]): void
  /** Records the milliseconds for which a call waited for its hold, and whether it got one. */
  reserved(tookMs: number, isGranted: boolean): void
  /** Records the milliseconds that the disk took to make the journal's records durable. */
  synced(tookMs: number): void
  /** Adds the sources that exist only after the process is assembled. */
  mount(sources: FigureSources): void
  text(): Promise<string>
  readonly contentType: string
}

const SECONDS_BUCKETS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 120, 600]
/** Most providers with labels of their own. The others share one. */
const MAX_PROVIDERS = 200
const OTHER = 'other'

export function createMetrics(isListed: (provider: string) => boolean): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const tallies = createTallies()
  const meters = createMeters(tallies)
  const outcomes = remember((wire, outcome, code) => meters.calls(wire, outcome, code))
  const durations = remember((wire, streamed) => ({
    duration: meters.duration(wire, streamed),
    overhead: meters.overhead(wire),
    ttft: meters.ttft(wire),
    failovers: meters.failovers(wire),
  }))
  const labelOf = createProviderLabels(isListed)
  const attempts = remember((provider, errorClass) => meters.attempts(provider, errorClass))
  const attemptDurations = remember((provider) => meters.attemptDuration(provider))
  const [input, output, charged] = [meters.tokens('input'), meters.tokens('output'), meters.charged()]
  const [granted, refused, sync] = [meters.reserve('granted'), meters.reserve('refused'), meters.sync()]
  return {
    observe(facts, triedAttempts) {
      outcomes(facts.wire, facts.outcome, facts.errorCode ?? '').add(1)
      for (const { provider, errorClass, ms } of triedAttempts) {
        const label = labelOf(provider)
        attempts(label, errorClass ?? 'none', '').add(1)
        attemptDurations(label, '', '').add(ms / SECOND)
      }
      if (facts.outcome === 'refused') return
      const of = durations(facts.wire, facts.isStreamed ? 'true' : 'false', '')
      if (triedAttempts.length > 1) of.failovers.add(1)
      of.duration.add(facts.durationMs / SECOND)
      of.overhead.add(Math.max(0, facts.overheadMs) / SECOND)
      if (facts.isStreamed && facts.ttftMs !== null) of.ttft.add(facts.ttftMs / SECOND)
      input.add(facts.inputTokens)
      output.add(facts.outputTokens)
      charged.add(Number(facts.chargeMicro))
    },
    reserved: (tookMs, isGranted) => (isGranted ? granted : refused).add(tookMs / SECOND),
    synced: (tookMs) => sync.add(tookMs / SECOND),
    mount: (sources) => mountFigures(registry, sources),
    text: async () => `${await registry.metrics()}\n${tallies.text()}`,
    contentType: registry.contentType,
  }
}

function createMeters({ counter, histogram }: Tallies) {
  const inSeconds = (...labelNames: readonly string[]) => ({ labelNames, bounds: SECONDS_BUCKETS })
  return {
    calls: counter('market_calls_total', 'Calls by protocol, outcome and error code', ['wire', 'outcome', 'code']),
    attempts: counter('market_attempts_total', 'Attempts at providers by their failure; none for success', [
      'provider',
      'error_class',
    ]),
    attemptDuration: histogram(
      'market_attempt_duration_seconds',
      'Time of an attempt at a provider',
      inSeconds('provider'),
    ),
    failovers: counter('market_failovers_total', 'Calls that needed more than one attempt', ['wire']),
    duration: histogram(
      'market_call_duration_seconds',
      'Time from admission to the last byte',
      inSeconds('wire', 'streamed'),
    ),
    overhead: histogram('market_overhead_seconds', 'Time of a call outside of providers', inSeconds('wire')),
    ttft: histogram(
      'market_time_to_first_content_seconds',
      'Time from admission to the first content',
      inSeconds('wire'),
    ),
    reserve: histogram('market_reserve_duration_seconds', 'Time a call waited for its hold', inSeconds('outcome')),
    sync: histogram(
      'market_journal_sync_duration_seconds',
      'Time the disk took to make records of the journal safe',
      inSeconds(),
    ),
    tokens: counter('market_tokens_total', 'Tokens metered', ['side']),
    charged: counter('market_charged_micro_usd_total', 'Charged to buyers, micro-USD', []),
  }
}

/** The label of a provider is its id in the allow-list. All other names share one label. */
function createProviderLabels(isListed: (provider: string) => boolean): (provider: string) => string {
  const knownModels = new Set<string>()
  return (provider) => {
    if (knownModels.has(provider)) return provider
    if (knownModels.size >= MAX_PROVIDERS || !isListed(provider)) return OTHER
    knownModels.add(provider)
    return provider
  }
}

/**
 * Remembers the value made for some labels. Three look-ups of known strings are cheaper than one of a joined string.
 */
function remember<Value>(make: (first: string, second: string, third: string) => Value) {
  const values = new Map<string, Map<string, Map<string, Value>>>()
  return (first: string, second: string, third: string): Value => {
    const found = values.get(first)?.get(second)?.get(third)
    if (found !== undefined) return found
    const value = make(first, second, third)
    const seconds = values.get(first) ?? new Map<string, Map<string, Value>>()
    const thirds = seconds.get(second) ?? new Map<string, Value>()
    values.set(first, seconds.set(second, thirds.set(third, value)))
    return value
  }
}
