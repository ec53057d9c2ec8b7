import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { SECOND } from '#shared/clock.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import type { CallFacts } from './call.ts'
import type { FigureSources } from './figures.ts'
import { mountFigures } from './figures.ts'

/** Figures of one process, in Prometheus' text form. Labels have few values: never an id, a key or a model. */
export type Metrics = {
  /** Counts a call that is over, and its attempts at providers. */
  observe(facts: CallFacts, tried: readonly Attempt[]): void
  /** Notes how long a call waited for its hold, in milliseconds, and whether it got one. */
  reserved(tookMs: number, isGranted: boolean): void
  /** Notes how long the disk took to make the journal's records safe, in milliseconds. */
  synced(tookMs: number): void
  /** Sources that are known once the process is put together. */
  mount(sources: FigureSources): void
  text(): Promise<string>
  readonly contentType: string
}

const SECONDS_BUCKETS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 120, 600]
/** Providers that are told apart; an allow-list that is longer shows the rest together. */
const MAX_PROVIDERS = 200
const OTHER = 'other'

export function createMetrics(isListed: (provider: string) => boolean): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const meters = createMeters(registry)
  const outcomes = remember((wire, outcome, code) => meters.calls.labels({ wire, outcome, code }))
  const durations = remember((wire, streamed) => ({
    duration: meters.duration.labels({ wire, streamed }),
    overhead: meters.overhead.labels({ wire }),
    ttft: meters.ttft.labels({ wire }),
    failovers: meters.failovers.labels({ wire }),
  }))
  const labelOf = createProviderLabels(isListed)
  const attempts = remember((provider, error_class) => ({
    count: meters.attempts.labels({ provider, error_class }),
    duration: meters.attemptDuration.labels({ provider }),
  }))
  const [input, output] = [meters.tokens.labels({ side: 'input' }), meters.tokens.labels({ side: 'output' })]
  const [granted, refused] = [
    meters.reserve.labels({ outcome: 'granted' }),
    meters.reserve.labels({ outcome: 'refused' }),
  ]
  return {
    observe(facts, tried) {
      outcomes(facts.wire, facts.outcome, facts.errorCode ?? '').inc()
      for (const { provider, errorClass, ms } of tried) {
        const of = attempts(labelOf(provider), errorClass ?? 'none', '')
        of.count.inc()
        of.duration.observe(ms / SECOND)
      }
      if (facts.outcome === 'refused') return
      const of = durations(facts.wire, facts.isStreamed ? 'true' : 'false', '')
      if (tried.length > 1) of.failovers.inc()
      of.duration.observe(facts.durationMs / SECOND)
      of.overhead.observe(Math.max(0, facts.overheadMs) / SECOND)
      if (facts.isStreamed && facts.ttftMs !== null) of.ttft.observe(facts.ttftMs / SECOND)
      input.inc(facts.inputTokens)
      output.inc(facts.outputTokens)
      meters.charged.inc(Number(facts.chargeMicro))
    },
    reserved: (tookMs, isGranted) => (isGranted ? granted : refused).observe(tookMs / SECOND),
    synced: (tookMs) => meters.sync.observe(tookMs / SECOND),
    mount: (sources) => mountFigures(registry, sources),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

function createMeters(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets: SECONDS_BUCKETS, registers })
  return {
    calls: counter('market_calls_total', 'Calls by protocol, outcome and error code', ['wire', 'outcome', 'code']),
    attempts: counter('market_attempts_total', 'Attempts at providers by how they failed, none if they did not', [
      'provider',
      'error_class',
    ]),
    attemptDuration: histogram('market_attempt_duration_seconds', 'Time of an attempt at a provider', ['provider']),
    failovers: counter('market_failovers_total', 'Calls that needed more than one attempt', ['wire']),
    duration: histogram('market_call_duration_seconds', 'Time from admission to the last byte', ['wire', 'streamed']),
    overhead: histogram('market_overhead_seconds', 'Time of a call that no provider took', ['wire']),
    ttft: histogram('market_time_to_first_content_seconds', 'Time from admission to the first content', ['wire']),
    reserve: histogram('market_reserve_duration_seconds', 'Time a call waited for its hold', ['outcome']),
    sync: histogram(
      'market_journal_sync_duration_seconds',
      'Time the disk took to make records of the journal safe',
      [],
    ),
    tokens: counter('market_tokens_total', 'Tokens metered', ['side']),
    charged: counter('market_charged_micro_usd_total', 'Charged to buyers, micro-USD', []),
  }
}

/** A provider's label: its id in the allow-list. Names that are not in it share one. */
function createProviderLabels(isListed: (provider: string) => boolean): (provider: string) => string {
  const known = new Set<string>()
  return (provider) => {
    if (known.has(provider)) return provider
    if (known.size >= MAX_PROVIDERS || !isListed(provider)) return OTHER
    known.add(provider)
    return provider
  }
}

/** Remembers what was made for some labels: finding it by its labels again costs more than counting. */
function remember<Value>(make: (first: string, second: string, third: string) => Value) {
  const made = new Map<string, Value>()
  return (first: string, second: string, third: string): Value => {
    const key = `${first} ${second} ${third}`
    let value = made.get(key)
    if (value === undefined) {
      value = make(first, second, third)
      made.set(key, value)
    }
    return value
  }
}
