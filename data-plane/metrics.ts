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
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const calls = new Counter({
    name: 'market_calls_total',
    help: 'Calls by protocol, outcome and error code',
    labelNames: ['wire', 'outcome', 'code'],
    registers,
  })
  const attempts = new Counter({
    name: 'market_attempts_total',
    help: 'Attempts at offers',
    labelNames: ['wire'],
    registers,
  })
  const duration = new Histogram({
    name: 'market_call_duration_ms',
    help: 'Time from admission to the last byte',
    labelNames: ['wire', 'streamed'],
    buckets: MS_BUCKETS,
    registers,
  })
  const overhead = new Histogram({
    name: 'market_overhead_ms',
    help: 'Time of a call that no provider took',
    labelNames: ['wire'],
    buckets: MS_BUCKETS,
    registers,
  })
  const ttft = new Histogram({
    name: 'market_time_to_first_content_ms',
    help: 'Time from admission to the first content of a stream',
    labelNames: ['wire'],
    buckets: MS_BUCKETS,
    registers,
  })
  const tokens = new Counter({ name: 'market_tokens_total', help: 'Tokens metered', labelNames: ['side'], registers })
  const charged = new Counter({ name: 'market_charged_micro_usd_total', help: 'Charged to buyers', registers })
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  gauge('market_open_calls', 'Calls under way', gauges.openCalls)
  gauge('market_detached_streams', 'Streams read on without a buyer', gauges.drains)
  gauge('market_events_left_to_sweeper', 'Usage events that were not queued', gauges.droppedEvents)
  gauge('market_gate_open', '1 while paid calls are admitted', () => Number(gauges.isGateOpen()))
  gauge('market_offers', 'Offers in memory', gauges.offers)

  return {
    observe(facts) {
      const { wire } = facts
      calls.inc({ wire, outcome: facts.outcome, code: facts.errorCode ?? '' })
      if (facts.outcome === 'refused') return
      attempts.inc({ wire }, facts.attempts)
      duration.observe({ wire, streamed: String(facts.isStreamed) }, facts.durationMs)
      overhead.observe({ wire }, Math.max(0, facts.overheadMs))
      if (facts.isStreamed && facts.ttftMs !== null) ttft.observe({ wire }, facts.ttftMs)
      tokens.inc({ side: 'input' }, facts.inputTokens)
      tokens.inc({ side: 'output' }, facts.outputTokens)
      charged.inc(Number(facts.chargeMicro))
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
