import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import type { SeenSpan, TraceCollector } from '#test/support/market/trace-collector.ts'
import { attributesOf, startTraceCollector } from '#test/support/market/trace-collector.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'gpt-5-mini'
const PROMPT = 'canary-of-the-prompt: tell nobody of the blue heron'
const COLLECTOR_TOKEN = 'canary-of-the-collector'
const TRACE = 'abcdef0123456789abcdef0123456789'
const PARENT = '00f067aa0ba902b7'
/** Spans are sent every two seconds, and a posting follows its call a little later. */
const SPANS_WITHIN_MS = 30_000
const STRANGERS = 1_000
const AT_ONCE = 16
const PROCESSES = ['data-plane', 'control-plane', 'worker'] as const
const byText = (left: string, right: string) => left.localeCompare(right)

let network: Network
let collector: TraceCollector
let rid = ''
let answerText = ''

beforeAll(async () => {
  collector = await startTraceCollector()
  network = await startNetwork({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-token=${COLLECTOR_TOKEN}`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  const answer = await call(MODEL, network.sandbox.buyer_key, { traceparent: `00-${TRACE}-${PARENT}-01` })
  expect(answer.status).toBe(200)
  rid = answer.headers.get('x-request-id') ?? ''
  answerText = await answer.text()
})

afterAll(async () => {
  await network?.remove()
  await collector?.close()
})

function call(model: string, key: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${network.sandbox.api_base_url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: PROMPT }], max_tokens: 20 }),
  })
}

async function metricsOf(origin: string): Promise<string> {
  const answer = await fetch(`${origin}/metrics`)
  expect(answer.status).toBe(200)
  return answer.text()
}

const bothPages = async () => [
  await metricsOf(network.sandbox.base_url),
  await metricsOf(network.sandbox.control_plane_url),
]

describe('the spans of a paid call', () => {
  const ofTrace = (): readonly SeenSpan[] => collector.spans().filter(({ traceId }) => traceId === TRACE)
  const named = (name: string): SeenSpan | undefined => ofTrace().find((span) => span.name === name)

  const allOfCall = () => [`chat ${MODEL}`, 'reserve', 'attempt', 'settle'].every((name) => named(name) !== undefined)

  it('continue the trace of the caller: the call, its hold, its attempt, its settlement', async () => {
    await until('the spans have arrived', SPANS_WITHIN_MS, allOfCall)
    const root = named(`chat ${MODEL}`)
    expect(root?.parentSpanId).toBe(PARENT)
    expect(root?.service).toBe('market-data-plane')
    expect(attributesOf(root ?? { attributes: [] })).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': MODEL,
      'http.response.status_code': 200,
      'market.request_id': rid,
      'market.outcome': 'succeeded',
      'market.attempts': 1,
    })
    for (const name of ['reserve', 'attempt', 'settle']) {
      const span = named(name)
      expect(span?.parentSpanId, name).toBe(root?.spanId)
      expect(Number(span?.endTimeUnixNano), name).toBeGreaterThanOrEqual(Number(span?.startTimeUnixNano))
    }
    const used = attributesOf(root ?? { attributes: [] })
    expect(used['gen_ai.usage.input_tokens']).toBeGreaterThan(0)
    expect(used['gen_ai.usage.output_tokens']).toBeGreaterThan(0)
    expect(attributesOf(named('attempt') ?? { attributes: [] })['gen_ai.provider.name']).toBe(
      used['gen_ai.provider.name'],
    )
  })

  it('appear beside those of the control plane: a request, the operation in it, the posting', async () => {
    const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
    expect((await fetch(`${network.sandbox.control_plane_url}/v1/buyer/me`, { headers })).status).toBe(200)
    const request = () => collector.spans().find(({ name }) => name === 'GET /v1/buyer/me')
    await until('the spans have arrived', SPANS_WITHIN_MS, () => {
      const isPosted = collector.spans().some(({ name }) => name === 'posting')
      return isPosted && request() !== undefined
    })
    const operation = collector
      .spans()
      .find(({ name, parentSpanId }) => name.startsWith('operation ') && parentSpanId === request()?.spanId)
    expect(operation?.traceId).toBe(request()?.traceId)
    expect(request()?.service).toBe('market-control-plane')
  })

  it('contain no content, no key and no account', async () => {
    await until('the spans have arrived', SPANS_WITHIN_MS, allOfCall)
    const text = collector.text()
    expect(text).toContain(COLLECTOR_TOKEN)
    const content = z
      .object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })) })
      .parse(JSON.parse(answerText)).choices[0]?.message.content
    const { buyer_key, seller_key, management_key } = network.sandbox
    for (const secret of ['canary-of-the-prompt', 'blue heron', content ?? '', buyer_key, seller_key, management_key]) {
      expect(secret.length).toBeGreaterThan(3)
      expect(text).not.toContain(secret)
    }
    expect(text).not.toMatch(/acc_[0-9A-Za-z]{10}/)
  })

  it('are not sent to sellers', async () => {
    const providers: unknown[] = []
    const answer = await fetch(`${network.sandbox.provider_url}/__sandbox/requests`)
    providers.push(await answer.json())
    const seen = JSON.stringify(providers)
    expect(seen).not.toContain(TRACE)
    expect(seen).not.toContain('traceparent')
  })
})

describe('the log of a call', () => {
  const Line = z.looseObject({ level: z.number(), msg: z.string(), rid: z.string().optional() })
  const read = () => readFileSync(join(network.home, 'logs', 'data-plane.log'), 'utf8')

  it('is one line with its id, its kind, its end and its cost, and no content', async () => {
    await until('the log has the line', 5_000, () => read().includes(rid))
    const lines = read()
      .trimEnd()
      .split('\n')
      .map((text) => Line.parse(JSON.parse(text)))
      .filter((line) => line.rid === rid)
    expect(lines).toHaveLength(1)
    expect(Object.keys(lines[0] ?? {}).sort(byText)).toEqual(
      [
        'level',
        'time',
        'pid',
        'hostname',
        'name',
        'msg',
        'rid',
        'wire',
        'model',
        'provider',
        'outcome',
        'errorCode',
        'status',
        'isStreamed',
        'attempts',
        'durationMs',
        'overheadMs',
        'ttftMs',
        'inputTokens',
        'outputTokens',
        'chargeMicro',
      ].sort(byText),
    )
  })

  it('is JSON like every line of every process, and a start logs no stack of an error', async () => {
    const Logged = Line.extend({ err: z.looseObject({ stack: z.unknown().optional() }).optional() })
    for (const name of PROCESSES) {
      const text = readFileSync(join(network.home, 'logs', `${name}.log`), 'utf8')
      const lines = text.trimEnd().split('\n')
      const stacks = lines.map((line) => Logged.parse(JSON.parse(line))).filter(({ err }) => err?.stack !== undefined)
      expect(stacks, name).toEqual([])
    }
  })

  it('contains no secret, nor does the log of another process, nor any figure', async () => {
    const own = z
      .record(z.string(), z.string())
      .parse(JSON.parse(readFileSync(join(network.home, 'secrets.json'), 'utf8')))
    const { buyer_key, seller_key, management_key } = network.sandbox
    const secrets = [
      'canary-of-the-prompt',
      buyer_key,
      seller_key,
      management_key,
      COLLECTOR_TOKEN,
      ...Object.values(own),
    ]
    const logs = PROCESSES.map((name) => readFileSync(join(network.home, 'logs', `${name}.log`), 'utf8'))
    for (const [at, text] of [...logs, ...(await bothPages())].entries()) {
      expect(text.length, PROCESSES[at]).toBeGreaterThan(0)
      for (const secret of secrets) expect(text.includes(secret), `${PROCESSES[at]}: ${secret.slice(0, 8)}`).toBe(false)
    }
  })
})

/** The series of the pages, without those of the Node.js client. Those depend on the machine and not on the traffic. */
function seriesIn(pages: readonly string[]): string[] {
  return pages
    .join('\n')
    .split('\n')
    .filter((line) => /^(market|control|money)_/.test(line))
    .map((line) => line.replace(/ \S+$/, ''))
    .sort(byText)
}

/** Sends calls with unknown models, paths, methods, keys, operation names and providers. */
async function sendStranger(at: number): Promise<void> {
  const { buyer_key: key, base_url, control_plane_url } = network.sandbox
  const strange = `stranger-${at}-${'x'.repeat(at % 50)}`
  const json = { 'content-type': 'application/json' }
  const graphql = JSON.stringify({ query: `query Q${at} { a${at}: viewer { id } }`, operationName: `Q${at}` })
  const answers = [
    call(strange, key),
    call(MODEL, `inf_${strange}`),
    fetch(`${base_url}/v1/${strange}`),
    fetch(`${base_url}/compat/v1/messages/${strange}`, { method: 'DELETE' }),
    fetch(`${control_plane_url}/v1/${strange}?q=${at}`),
    fetch(`${control_plane_url}/v1/seller/offers/${strange}`, { headers: { authorization: `Bearer ${strange}` } }),
    fetch(`${control_plane_url}/graphql`, { method: 'POST', headers: json, body: graphql }),
    fetch(`${control_plane_url}/trpc/${strange}.${at}`),
  ]
  await Promise.all(answers.map(async (answer) => (await answer).text()))
}

describe('the series of the figures', () => {
  it(`are as many after ${STRANGERS} strange models, paths, keys and names as after two`, async () => {
    await sendStranger(0)
    await sendStranger(1)
    await bothPages()
    const before = seriesIn(await bothPages())
    let next = 2
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < STRANGERS) await sendStranger(next++)
      }),
    )
    const after = seriesIn(await bothPages())
    const grown = after.filter((series) => !before.includes(series))
    expect(grown.filter((series) => series.includes('stranger'))).toEqual([])
    // A busy market may add refusals of its own, with codes of the table.
    expect(
      grown.filter((series) => !/code="(rate_limited|too_many_in_flight|overloaded)"|status="(429|503)"/.test(series)),
    ).toEqual([])
  })
})

const ROW = /^\| `([a-z_]+)` \| (counter|gauge|histogram) \| ([^|]*)\| .+ \|$/gm
const documented = new Map(
  [...readFileSync('docs/observe.md', 'utf8').matchAll(ROW)].map(([, name = '', kind = '', labels = '']) => [
    name,
    { kind, labels: [...labels.matchAll(/`([a-z_]+)`/g)].map((match) => match[1] ?? '') },
  ]),
)

describe('docs/observe.md', () => {
  it('list every figure that the processes show, with its kind, and no other', async () => {
    const pages = await bothPages()
    const shown = new Map(
      [...pages.join('\n').matchAll(/^# TYPE ((?:market|control|money)_[a-z_]+) (\w+)$/gm)].map((match) => [
        match[1] ?? '',
        match[2] ?? '',
      ]),
    )
    expect([...documented].map(([name, { kind }]) => `${name} ${kind}`).sort(byText)).toEqual(
      [...shown].map(([name, kind]) => `${name} ${kind}`).sort(byText),
    )
    for (const series of seriesIn(pages)) {
      const [, name = '', labels = ''] = /^([a-z_]+)(?:\{(.*)\})?$/.exec(series) ?? []
      const known = documented.get(name) ?? documented.get(name.replace(/_(bucket|sum|count)$/, ''))
      const used = [...labels.matchAll(/([a-z_]+)="/g)].map((match) => match[1] ?? '').filter((label) => label !== 'le')
      expect(known?.labels.toSorted(byText), series).toEqual(used.toSorted(byText))
    }
  })

  it('follow the naming of Prometheus: base units, _total for counters alone', () => {
    for (const [name, { kind }] of documented) {
      expect(name.endsWith('_total'), name).toBe(kind === 'counter')
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/)
      if (name !== 'market_clock_skew_ms') expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb)(_total)?$/)
    }
  })
})

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })),
})

describe('the dashboard and the alerts', () => {
  const panels = Dashboard.parse(JSON.parse(readFileSync('docs/grafana/market.json', 'utf8'))).panels
  const alerts = readFileSync('docs/grafana/alerts.yml', 'utf8')
  const rules = [...alerts.matchAll(/alert: (\w+)\n {8}expr: (['"])(.*)\2\n {8}for: \d+[smh]\n/g)].map((match) => ({
    title: match[1] ?? '',
    expr: match[3] ?? '',
  }))
  const asked = [...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr }))), ...rules]

  it('use figures and labels that exist', async () => {
    const node = (await metricsOf(network.sandbox.base_url)).matchAll(/^# TYPE ((?:process|nodejs)_\w+) /gm)
    const ofNode = new Set([...node].map((match) => match[1]))
    expect(rules).toHaveLength([...alerts.matchAll(/- alert:/g)].length)
    expect(asked.length).toBeGreaterThan(60)
    for (const { title, expr } of asked) {
      const uses = [...expr.matchAll(/\b((?:market|control|money|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)]
      expect(uses.length, title).toBeGreaterThan(0)
      for (const [, name = '', selector = ''] of uses) {
        const bare = name.replace(/_(bucket|sum|count)$/, '')
        const known = documented.get(name) ?? documented.get(bare)
        expect(known !== undefined || ofNode.has(name), `${title}: ${name}`).toBe(true)
        if (known?.kind === 'histogram') expect(name, title).not.toBe(bare)
        for (const [, label] of selector.matchAll(/([a-z_]+)[=!]/g))
          expect(known?.labels, `${title}: ${label}`).toContain(label)
      }
      const labels = uses.flatMap(
        ([, name = '']) => documented.get(name.replace(/_(bucket|sum|count)$/, ''))?.labels ?? [],
      )
      for (const [, list = ''] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of list.split(',').map((text) => text.trim())) {
          expect([...labels, 'le', 'instance'], `${title}: by ${label}`).toContain(label)
        }
      }
    }
  })

  it('show every figure at least once', () => {
    const texts = asked.map(({ expr }) => expr).join('\n')
    const unseen = [...documented.keys()].filter((name) => !texts.includes(name))
    expect(unseen).toEqual([])
  })
})
