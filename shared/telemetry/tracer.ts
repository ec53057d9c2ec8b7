/** Attributes of a span. Values are bounded words and numbers, never content or secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A span's role, as OpenTelemetry names it. */
export type SpanKind = 'server' | 'client' | 'internal'

/** A place in a foreign trace, from the `traceparent` header (W3C Trace Context). */
export type RemoteSpan = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean }

export type SpanStart = {
  readonly kind: SpanKind
  /** Unix milliseconds, with a fraction where it is known. */
  readonly startedAt: number
  /** The parent span, of this process or another. Without one a new trace begins. */
  readonly parent?: OpenSpan | RemoteSpan | undefined
  readonly attributes?: SpanAttributes
}

/** A span that has not ended yet. */
export type OpenSpan = {
  set(attributes: SpanAttributes): void
  /** Ends it at the given Unix milliseconds. `errorType` is the code of a failure. */
  end(at: number, errorType?: string): void
}

/** The destination of spans. A plane that traces nothing has none. */
export type Tracer = {
  open(name: string, start: SpanStart): OpenSpan
  /** Sends the waiting spans and ends. */
  close(): Promise<void>
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 1

/** Reads a `traceparent` header (W3C Trace Context, level 1). An invalid header counts as absent. */
export function readTraceparent(header: string | readonly string[] | undefined): RemoteSpan | undefined {
  if (typeof header !== 'string') return undefined
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}
