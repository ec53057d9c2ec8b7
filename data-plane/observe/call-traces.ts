import type { CallFacts } from '#data-plane/call.ts'
import type { CallTracing } from '#data-plane/pipeline/call-plane.ts'
import type { Clock } from '#shared/clock.ts'
import type { OpenSpan, RemoteSpan, SpanAttributes, Tracer } from '#shared/telemetry/tracer.ts'
import { readTraceparent } from '#shared/telemetry/tracer.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'

/** Most calls that are traced at once. Beyond it the oldest is dropped. */
const MAX_CALLS = 20_000

/** A part of a call, with its times in monotonic milliseconds. */
type Part = {
  readonly name: string
  readonly kind: 'client' | 'internal'
  readonly startedAt: number
  endedAt: number | undefined
  errorType: string | undefined
  readonly attributes: SpanAttributes
}

type Traced = {
  /** Unix milliseconds and the monotonic reading of the same instant. */
  readonly receivedAt: number
  readonly startedAt: number
  readonly parent: RemoteSpan | undefined
  readonly parts: Part[]
}

/** Writes calls as spans: the call, its hold, every attempt, its settlement. */
export type CallTraces = {
  readonly tracing: CallTracing
  /** Begins a part of a call. The returned function ends it. */
  begin(rid: string, name: 'reserve' | 'settle'): (errorType?: string) => void
  /** Ends a call and sends its spans. */
  ended(facts: CallFacts): void
}

/** Operation names of OpenTelemetry's GenAI conventions. An operation without a name there keeps its own. */
const OPERATIONS = new Map([
  ['chat', 'chat'],
  ['messages', 'chat'],
  ['responses', 'chat'],
  ['completions', 'text_completion'],
])

/**
 * Collects the parts of a call and writes its spans when it is over, with the names of OpenTelemetry's GenAI
 * conventions. A span has no content, key or account, only a model, a provider, counts and times. It continues a trace
 * that the caller began, but passes no trace on to a seller.
 */
export function createCallTraces(tracer: Tracer, clock: Clock): CallTraces {
  const calls = createTurnoverMap<string, Traced>()

  return {
    tracing: {
      begin({ requestId, receivedAt, startedAt, headers }) {
        if (calls.size() >= MAX_CALLS) for (const [oldest] of calls.entries()) if (calls.delete(oldest)) break
        calls.set(requestId, { receivedAt, startedAt, parent: readTraceparent(headers['traceparent']), parts: [] })
      },
      tried({ rid, offer, target }, { sentAt, endedAt, status, failure, firstContentAt }) {
        calls.get(rid)?.parts.push({
          name: 'attempt',
          kind: 'client',
          startedAt: sentAt,
          endedAt,
          errorType: failure?.errorClass,
          attributes: {
            'gen_ai.operation.name': OPERATIONS.get(target.endpoint) ?? target.endpoint,
            'gen_ai.provider.name': offer.provider,
            'gen_ai.request.model': offer.providerModel,
            'http.response.status_code': status,
            ...(firstContentAt === undefined ? {} : { 'market.time_to_first_content_ms': firstContentAt - sentAt }),
          },
        })
      },
    },
    begin(rid, name) {
      const call = calls.get(rid)
      if (call === undefined) return () => undefined
      const startedAt = clock.monotonic()
      const part: Part = { name, kind: 'internal', startedAt, endedAt: undefined, errorType: undefined, attributes: {} }
      call.parts.push(part)
      return (errorType) => {
        part.endedAt = clock.monotonic()
        part.errorType = errorType
      }
    },
    ended(facts) {
      const call = calls.get(facts.rid)
      if (call === undefined) return
      calls.delete(facts.rid)
      writeSpans(tracer, call, facts)
    },
  }
}

function writeSpans(tracer: Tracer, { receivedAt, startedAt, parent, parts }: Traced, facts: CallFacts): void {
  const wallTime = (monotonic: number) => receivedAt + (monotonic - startedAt)
  const endedAt = startedAt + facts.durationMs
  const operation = OPERATIONS.get(facts.wire) ?? facts.wire
  const call = tracer.open(facts.model === '' ? operation : `${operation} ${facts.model}`, {
    kind: 'server',
    startedAt: receivedAt,
    parent,
    attributes: attributesOf(facts, operation),
  })
  for (const part of parts) writePart(tracer, call, { part, endedAt, wallTime })
  call.end(wallTime(endedAt), facts.errorCode ?? undefined)
}

type Written = { readonly part: Part; readonly endedAt: number; wallTime(monotonic: number): number }

function writePart(tracer: Tracer, parent: OpenSpan, { part, endedAt, wallTime }: Written): void {
  const { name, kind, startedAt, attributes, errorType } = part
  const span = tracer.open(name, { kind, startedAt: wallTime(startedAt), parent, attributes })
  // The release of a hold is not awaited. It may still be under way when the call is over.
  span.end(wallTime(part.endedAt ?? endedAt), errorType)
}

function attributesOf(facts: CallFacts, operation: string): SpanAttributes {
  return {
    'gen_ai.operation.name': operation,
    ...(facts.model === '' ? {} : { 'gen_ai.request.model': facts.model }),
    ...(facts.provider === null ? {} : { 'gen_ai.provider.name': facts.provider }),
    'gen_ai.usage.input_tokens': facts.inputTokens,
    'gen_ai.usage.output_tokens': facts.outputTokens,
    'http.response.status_code': facts.status,
    'market.request_id': facts.rid,
    'market.wire': facts.wire,
    'market.outcome': facts.outcome,
    'market.attempts': facts.attempts,
    'market.charge_micro_usd': Number(facts.chargeMicro),
    ...(facts.ttftMs === null ? {} : { 'market.time_to_first_content_ms': facts.ttftMs }),
  }
}
