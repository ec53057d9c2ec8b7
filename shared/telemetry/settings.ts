import { z } from 'zod'
import { optionalText } from '#shared/environment.ts'
import { Secret } from '#shared/secret.ts'

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof SAMPLERS)[number]

/** The destination and the choice of traces. A process without these settings traces nothing. */
export type TelemetrySettings = {
  /** The collector's address for traces: OTLP over HTTP. */
  readonly url: string
  /** Headers for the collector. They may hold its token. */
  readonly headers: ReadonlyMap<string, Secret>
  readonly timeoutMs: number
  readonly serviceName: string
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: SamplerName
  /** The share of traces that a ratio sampler takes, 0 to 1. */
  readonly ratio: number
}

const MAX_TIMEOUT_MS = 60_000
const truth = optionalText.transform((text) => text?.toLowerCase() === 'true')
const url = optionalText.pipe(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional())
const number = optionalText.transform((text) => (text === undefined ? undefined : Number(text)))
const timeout = number.pipe(z.number().int().min(1).max(MAX_TIMEOUT_MS).optional())
/** `key=value` pairs with commas between, values percent-encoded (the format of W3C Baggage). */
const pairs = optionalText.transform((text, context) => {
  const baggage = new Map<string, string>()
  for (const pair of text?.split(',') ?? []) {
    const at = pair.indexOf('=')
    const name = pair.slice(0, Math.max(at, 0)).trim()
    if (name === '') {
      context.addIssue({ code: 'custom', message: 'must be key=value pairs separated by commas' })
      return z.NEVER
    }
    baggage.set(name, decode(pair.slice(at + 1).trim()))
  }
  return baggage
})

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** OpenTelemetry's standard variables, as far as traces over HTTP need them. */
export const telemetryVariables = {
  OTEL_SDK_DISABLED: truth,
  OTEL_TRACES_EXPORTER: optionalText.pipe(z.enum(['otlp', 'none']).optional()),
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_HEADERS: pairs,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: pairs,
  OTEL_EXPORTER_OTLP_TIMEOUT: timeout,
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: timeout,
  OTEL_SERVICE_NAME: optionalText,
  OTEL_RESOURCE_ATTRIBUTES: pairs,
  OTEL_TRACES_SAMPLER: optionalText.pipe(z.enum(SAMPLERS).optional()),
  OTEL_TRACES_SAMPLER_ARG: number.pipe(z.number().min(0).max(1).optional()),
}
const Variables = z.object(telemetryVariables)

const TRACES_PATH = '/v1/traces'
const DEFAULT_TIMEOUT_MS = 10_000

/** Reads the settings from the variables. Undefined where no collector is named; tracing is then off. */
export function telemetryOf(variables: z.output<typeof Variables>, serviceName: string): TelemetrySettings | undefined {
  const base = variables.OTEL_EXPORTER_OTLP_ENDPOINT
  // The base address for all signals gets the path of traces. An address for traces alone is used unchanged.
  const address =
    variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (base === undefined ? undefined : base.replace(/\/+$/, '') + TRACES_PATH)
  if (address === undefined || variables.OTEL_SDK_DISABLED || variables.OTEL_TRACES_EXPORTER === 'none')
    return undefined
  const headers = [...variables.OTEL_EXPORTER_OTLP_HEADERS, ...variables.OTEL_EXPORTER_OTLP_TRACES_HEADERS]
  return {
    url: address,
    headers: new Map(headers.map(([name, value]) => [name, new Secret(value)])),
    timeoutMs:
      variables.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? variables.OTEL_EXPORTER_OTLP_TIMEOUT ?? DEFAULT_TIMEOUT_MS,
    serviceName: variables.OTEL_SERVICE_NAME ?? variables.OTEL_RESOURCE_ATTRIBUTES.get('service.name') ?? serviceName,
    resource: Object.fromEntries(variables.OTEL_RESOURCE_ATTRIBUTES),
    sampler: variables.OTEL_TRACES_SAMPLER ?? 'parentbased_always_on',
    ratio: variables.OTEL_TRACES_SAMPLER_ARG ?? 1,
  }
}
