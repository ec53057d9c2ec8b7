import type { Context, Span } from '@opentelemetry/api'
import type { Sampler } from '@opentelemetry/sdk-trace'
import type { TelemetrySettings } from './settings.ts'
import type { OpenSpan, SpanStart, Tracer } from './tracer.ts'

/**
 * The largest number of spans that wait for the collector. Further ones are dropped, so that a missing collector costs
 * no memory.
 */
const MAX_WAITING_SPANS = 4_096
const MAX_SPANS_A_REQUEST = 512
const SEND_EVERY_MS = 2_000
const MAX_REQUESTS_AT_ONCE = 4
const MAX_ATTRIBUTES = 64
const MAX_ATTRIBUTE_CHARS = 256

/** Loads OpenTelemetry's packages. Only a process that traces does so. */
async function loadPackages() {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  return { api, sdk, OTLPTraceExporter, resourceFromAttributes }
}
type Packages = Awaited<ReturnType<typeof loadPackages>>

/** The name of this process in its traces. */
export type TracedProcess = { readonly version?: string; readonly instance: string }

/** Opens the way to the collector. Undefined without settings; then nothing of OpenTelemetry is loaded. */
export async function openTracer(
  settings: TelemetrySettings | undefined,
  process: TracedProcess,
): Promise<Tracer | undefined> {
  if (settings === undefined) return undefined
  const packages = await loadPackages()
  const { sdk, OTLPTraceExporter, resourceFromAttributes } = packages
  const exporter = new OTLPTraceExporter({
    url: settings.url,
    headers: Object.fromEntries([...settings.headers].map(([name, value]) => [name, value.reveal()])),
    timeoutMillis: settings.timeoutMs,
    concurrencyLimit: MAX_REQUESTS_AT_ONCE,
  })
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      ...settings.resource,
      'service.name': settings.serviceName,
      ...(process.version === undefined ? {} : { 'service.version': process.version }),
      'service.instance.id': process.instance,
    }),
    sampler: samplerOf(sdk, settings),
    spanLimits: { attributeCountLimit: MAX_ATTRIBUTES, attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING_SPANS,
        maxExportBatchSize: MAX_SPANS_A_REQUEST,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: settings.timeoutMs,
      }),
    ],
  })
  return {
    open: createOpener(packages, provider.getTracer('market')),
    // A missing collector must not keep a process from ending.
    close: () => provider.shutdown().catch(() => undefined),
  }
}

function samplerOf(sdk: Packages['sdk'], { sampler, ratio }: TelemetrySettings): Sampler {
  const [name, isParentBased] = sampler.startsWith('parentbased_')
    ? [sampler.slice('parentbased_'.length), true]
    : [sampler, false]
  const root =
    name === 'always_on'
      ? new sdk.AlwaysOnSampler()
      : name === 'always_off'
        ? new sdk.AlwaysOffSampler()
        : new sdk.TraceIdRatioBasedSampler(ratio)
  return isParentBased ? new sdk.ParentBasedSampler({ root }) : root
}

function createOpener({ api }: Packages, tracer: ReturnType<typeof api.trace.getTracer>): Tracer['open'] {
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL }
  const { trace, ROOT_CONTEXT, TraceFlags, SpanStatusCode } = api
  const spans = new WeakMap<OpenSpan, Span>()

  function contextOf(parent: SpanStart['parent']): Context {
    if (parent === undefined) return ROOT_CONTEXT
    if ('traceId' in parent) {
      const { traceId, spanId, isSampled } = parent
      const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE
      return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
    }
    const span = spans.get(parent)
    return span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span)
  }

  return (name, { kind, startedAt, parent, attributes = {} }) => {
    const options = { kind: kinds[kind], startTime: startedAt, attributes: mutable(attributes) }
    const span = tracer.startSpan(name, options, contextOf(parent))
    const open: OpenSpan = {
      set: (more) => void span.setAttributes(mutable(more)),
      end(at, errorType) {
        if (errorType !== undefined) {
          span.setAttribute('error.type', errorType)
          span.setStatus({ code: SpanStatusCode.ERROR })
        }
        span.end(at)
      },
    }
    spans.set(open, span)
    return open
  }
}

/** A copy of the attributes whose lists the new owner may keep. */
function mutable(attributes: SpanStart['attributes'] = {}): Record<string, string | number | boolean | string[]> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  )
}
