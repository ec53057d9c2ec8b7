import type { Registry } from 'prom-client'
import { Counter, Histogram } from 'prom-client'
import type { PostReport } from '#control-plane/ports/telemetry/post-report.ts'
import type { Telemetry } from '#control-plane/ports/telemetry/telemetry.ts'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { toAppError } from '#shared/errors.ts'
import type { Traces } from './plane-traces.ts'

const FAST_BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]
const SLOW_BUCKETS = [0.01, 0.1, 0.5, 2, 10, 60, 300, 1_800]
/** Finds the Unix milliseconds of an event's end without parsing the whole event. */
const ENDED_AT = /"endedAt":(\d{13})\b/

type Parts = { readonly registry: Registry; readonly clock: Time; readonly traces: Traces | undefined }

/** Counts and times the plane's work. Writes spans if there is a tracer. */
export function createTelemetry({ registry, clock, traces }: Parts): Telemetry {
  const meters = createMeters(registry)
  const span: Traces['span'] = traces === undefined ? (_name, _attributes, work) => work() : traces.span

  async function timed<Result>(work: () => Promise<Result>, note: (outcome: string, seconds: number) => void) {
    const startedAt = clock.monotonic()
    const seconds = () => (clock.monotonic() - startedAt) / SECOND
    try {
      const result = await work()
      note('ok', seconds())
      return result
    } catch (thrown) {
      note(toAppError(thrown).code, seconds())
      throw thrown
    }
  }

  return {
    operation: (operation, work) =>
      timed(
        () => span(`operation ${operation}`, { 'market.operation': operation }, work),
        (outcome, seconds) => {
          meters.operations.inc({ operation, outcome })
          meters.operationSeconds.observe({ operation }, seconds)
        },
      ),
    posting(events, work) {
      const endedAt = Number(ENDED_AT.exec(events[0] ?? '')?.[1] ?? Number.NaN)
      const post = () => span('posting', { 'market.events': events.length }, work)
      return timed(post, (_outcome, seconds) => meters.postingSeconds.observe(seconds)).then((report) => {
        countPosted(meters.posted, report)
        if (!Number.isNaN(endedAt)) meters.lag.observe(Math.max(0, clock.now() - endedAt) / SECOND)
        return report
      })
    },
    turn: (worker, work) =>
      timed(work, (outcome, seconds) => {
        meters.turns.inc({ worker, outcome: outcome === 'ok' ? 'ok' : 'failed' })
        meters.turnSeconds.observe({ worker }, seconds)
      }),
    rebuilt: (tookMs) => meters.rebuild.observe(tookMs / SECOND),
    delivered: (outcome) => meters.deliveries.inc({ outcome }),
    document: ({ type, field }, isOk) => meters.documents.inc({ type, field, outcome: isOk ? 'ok' : 'failed' }),
  }
}

function countPosted(counter: Counter<'result'>, { posted: fresh, repeats, conflicts, poisoned }: PostReport): void {
  for (const [result, count] of Object.entries({ posted: fresh, repeats, conflicts, poisoned })) {
    if (count > 0) counter.inc({ result }, count)
  }
}

function createMeters(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers })
  return {
    operations: counter('control_operations_total', 'Operations by name and error code', ['operation', 'outcome']),
    operationSeconds: histogram(
      'control_operation_duration_seconds',
      'Time of an operation',
      ['operation'],
      FAST_BUCKETS,
    ),
    documents: counter('control_graphql_documents_total', 'GraphQL documents by kind and first field', [
      'type',
      'field',
      'outcome',
    ]),
    posted: counter('control_posted_events_total', 'Usage events of postings, by their result', ['result']),
    postingSeconds: histogram('control_posting_duration_seconds', 'Time of posting a batch', [], FAST_BUCKETS),
    lag: histogram('control_posting_lag_seconds', 'From the end of a call to its posting', [], SLOW_BUCKETS),
    turns: counter('control_worker_turns_total', 'Turns of workers', ['worker', 'outcome']),
    turnSeconds: histogram('control_worker_turn_duration_seconds', 'Time of a turn', ['worker'], SLOW_BUCKETS),
    rebuild: histogram(
      'control_gate_rebuild_duration_seconds',
      'Time the gate was shut for a rebuild',
      [],
      SLOW_BUCKETS,
    ),
    deliveries: counter('control_webhook_deliveries_total', 'Tries of webhooks', ['outcome']),
  }
}
