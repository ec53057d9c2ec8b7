import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CallFacts } from './call.ts'

/** Counters of one process, in Prometheus' text form. Labels have few values: never an id, a key or a model. */
export type Metrics = {
  observe(facts: CallFacts): void
  text(): Promise<string>
  readonly contentType: string
}

/** Figures that are read when somebody asks. */
export type Gauges = {
  readonly openCalls: () => number
  readonly drains: () => number
  readonly droppedEvents: () => number
  readonly isGateOpen: () => boolean
  readonly offers: () => number
}

const MS_BUCKETS = [0.5, 1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000, 30_000, 120_000, 600_000]

export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  mountGauges(registry, gauges)
  const meters = createMeters(registry)
  const outcomes = remember((wire, outcome, code) => meters.calls.labels({ wire, outcome, code }))
  const durations = remember((wire, streamed) => ({
    attempts: meters.attempts.labels({ wire }),
    duration: meters.duration.labels({ wire, streamed }),
    overhead: meters.overhead.labels({ wire }),
    ttft: meters.ttft.labels({ wire }),
  }))
  const [inputTokens, outputTokens] = [
    meters.tokens.labels({ side: 'input' }),
    meters.tokens.labels({ side: 'output' }),
  ]
  return {
    observe(facts) {
      outcomes(facts.wire, facts.outcome, facts.errorCode ?? '').inc()
      if (facts.outcome === 'refused') return
      const of = durations(facts.wire, facts.isStreamed ? 'true' : 'false', '')
      of.attempts.inc(facts.attempts)
      of.duration.observe(facts.durationMs)
      of.overhead.observe(Math.max(0, facts.overheadMs))
      if (facts.isStreamed && facts.ttftMs !== null) of.ttft.observe(facts.ttftMs)
      inputTokens.inc(facts.inputTokens)
      outputTokens.inc(facts.outputTokens)
      meters.charged.inc(Number(facts.chargeMicro))
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

function createMeters(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets: MS_BUCKETS, registers })
  return {
    calls: counter('market_calls_total', 'Calls by protocol, outcome and error code', ['wire', 'outcome', 'code']),
    attempts: counter('market_attempts_total', 'Attempts at offers', ['wire']),
    duration: histogram('market_call_duration_ms', 'Time from admission to the last byte', ['wire', 'streamed']),
    overhead: histogram('market_overhead_ms', 'Time of a call that no provider took', ['wire']),
    ttft: histogram('market_time_to_first_content_ms', 'Time from admission to the first content', ['wire']),
    tokens: counter('market_tokens_total', 'Tokens metered', ['side']),
    charged: counter('market_charged_micro_usd_total', 'Charged to buyers', []),
  }
}

function mountGauges(registry: Registry, gauges: Gauges): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge('market_open_calls', 'Calls under way', gauges.openCalls)
  gauge('market_detached_streams', 'Streams read on without a buyer', gauges.drains)
  gauge('market_events_left_to_sweeper', 'Usage events that were not queued', gauges.droppedEvents)
  gauge('market_gate_open', '1 while paid calls are admitted', () => Number(gauges.isGateOpen()))
  gauge('market_offers', 'Offers in memory', gauges.offers)
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
