import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { telemetryOf, telemetryVariables } from '#shared/telemetry/settings.ts'
import { readTraceparent } from '#shared/telemetry/tracer.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

const read = (environment: Record<string, string>) =>
  telemetryOf(z.object(telemetryVariables).parse(environment), 'market')

describe('a traceparent', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])('%s continues the trace', (header, isSampled) => {
    expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled })
  })

  it.each([
    undefined,
    '',
    'not a trace',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
  ])('%s counts as no header', (header) => expect(readTraceparent(header)).toBeUndefined())
})

describe('the settings of traces', () => {
  it('are off without a collector, and off when they are switched off', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
    expect(read({})).toBeUndefined()
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeUndefined()
    expect(read({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' })).toBeUndefined()
    expect(read({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBeUndefined()
    expect(read({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined()
    expect(read(endpoint)?.url).toBe('http://collector:4318/v1/traces')
    expect(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:1/own' })?.url).toBe('http://c:1/own')
  })

  it('are read as OpenTelemetry defines them, and print no token', () => {
    const settings = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20canary, x-team=market',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    })
    expect(settings).toMatchObject({ serviceName: 'market', sampler: 'parentbased_traceidratio', ratio: 0.25 })
    expect(settings?.headers.get('authorization')?.reveal()).toBe('Basic canary')
    expect(settings?.headers.get('x-team')?.reveal()).toBe('market')
    expect(JSON.stringify([...(settings?.headers ?? [])])).not.toContain('canary')
  })

  it.each([
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' },
    { OTEL_EXPORTER_OTLP_HEADERS: 'no pair' },
    { OTEL_TRACES_SAMPLER: 'sometimes' },
    { OTEL_TRACES_SAMPLER_ARG: '2' },
    { OTEL_EXPORTER_OTLP_TIMEOUT: '0' },
  ])('%j is refused', (environment) => expect(() => read(environment)).toThrow())
})

/** Loads the module that starts tracing in a process of its own, and counts the loaded modules of OpenTelemetry. */
function modulesLoaded(settings: string): number {
  const program = `
    import { createRequire } from 'node:module'
    import { openTracer } from '#shared/telemetry/open-tracer.ts'
    const tracer = await openTracer(${settings}, { instance: 'test' })
    const names = Object.keys(createRequire(import.meta.url).cache)
    console.log(names.filter((name) => name.includes('@opentelemetry')).length)
    await tracer?.close()
  `
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

describe('a process without traces', () => {
  it('loads no module of OpenTelemetry, and a process with traces does', () => {
    expect(modulesLoaded('undefined')).toBe(0)
    const settings = `{ url: 'http://127.0.0.1:1/v1/traces', headers: new Map(), timeoutMs: 100, serviceName: 'test',
      resource: {}, sampler: 'always_on', ratio: 1 }`
    expect(modulesLoaded(settings)).toBeGreaterThan(10)
  })
})
