/** What is known of a span. Values are bounded words and numbers: never content, never a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A span's role, as OpenTelemetry names it. */
export type SpanKind = 'server' | 'client' | 'internal'

/** A place in a trace of somebody else, as the `traceparent` header gives it (W3C Trace Context). */
export type RemoteSpan = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean }

export type SpanStart = {
  readonly kind: SpanKind
  /** Unix milliseconds, with a fraction where it is known. */
  readonly startedAt: number
  /** The span it belongs to, of this process or of another; a new trace without one. */
  readonly parent?: OpenSpan | RemoteSpan | undefined
  readonly attributes?: SpanAttributes
}

/** A span that has not ended yet. */
export type OpenSpan = {
  set(attributes: SpanAttributes): void
  /** Ends it at Unix milliseconds; `errorType` says that it failed, and by which code. */
  end(at: number, errorType?: string): void
}

/** Where spans go. A plane that traces nothing has none. */
export type Tracer = {
  open(name: string, start: SpanStart): OpenSpan
  /** Sends what waits and ends. */
  close(): Promise<void>
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 1

/** Reads a `traceparent` header (W3C Trace Context, level 1); undefined for one that is not valid, as if there were none. */
export function readTraceparent(header: string | readonly string[] | undefined): RemoteSpan | undefined {
  if (typeof header !== 'string') return undefined
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}
