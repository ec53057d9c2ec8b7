import { processorSeconds } from './processor-time.ts'

/** Requests of one row, and their number under way at once. */
const REQUESTS = 400
const AT_ONCE = 8
const WARM_UP = 100
const BYTES = 14_000

type Row = { readonly what: string; readonly figure: string; readonly beside: string }
type Send = {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}
type Plane = { readonly url: string; readonly pid: number }

const JSON_TYPE = { 'content-type': 'application/json' }

/** Requests that a data plane refuses, of about this many bytes each. */
const AT_DATA_PLANE: Readonly<Record<string, (bytes: number) => Send>> = {
  'an unknown path of slashes': (bytes) => ({ path: '/'.repeat(bytes) }),
  'a path below a row': (bytes) => ({ path: `/v1/chat/completions${'/a'.repeat(bytes / 2)}` }),
  'a query of unknown members': (bytes) => ({ path: `/v1/prices?${'a=1&'.repeat(bytes / 4)}` }),
  'a malformed key': (bytes) => ({ path: '/v1/key', headers: { authorization: `Bearer inf_${'x'.repeat(bytes)}` } }),
  'a malformed payment': (bytes) => chat('{}', { 'payment-signature': 'A'.repeat(bytes) }),
  'a credential of Payment': (bytes) => chat('{}', { authorization: `Payment ${'A'.repeat(bytes)}` }),
  'a body of lists': (bytes) => chat('['.repeat(bytes)),
  'a body of many members': (bytes) => chat(`{${Array.from({ length: bytes / 10 }, (_, at) => `"m${at}":1`).join()}}`),
  'an unpaid chat': (bytes) =>
    chat(JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'x '.repeat(bytes / 2) }] })),
  'a batch of JSON-RPC': (bytes) => ({
    ...chat(`[${'{},'.repeat(bytes / 3)}{}]`),
    path: '/v1/crypto-rpc/rpc/base',
  }),
}

/** Requests that a control plane refuses. */
const AT_CONTROL_PLANE: Readonly<Record<string, (bytes: number) => Send>> = {
  'an unknown path of slashes': (bytes) => ({ path: '/'.repeat(bytes) }),
  'a malformed key': (bytes) => ({
    path: '/v1/buyer/me',
    headers: { authorization: `Bearer inf_${'x'.repeat(bytes)}` },
  }),
  'a body of lists': (bytes) => ({
    method: 'POST',
    path: '/v1/auth/session',
    headers: JSON_TYPE,
    body: '['.repeat(bytes),
  }),
  'a batch of tRPC': (bytes) => ({ path: `/trpc/${'a,'.repeat(bytes / 2)}a?batch=1` }),
  'GraphQL of unknown fields': (bytes) =>
    document(`{${Array.from({ length: bytes / 12 }, (_, at) => `market${at}`).join(' ')}}`),
  'GraphQL of one field as often as tokens allow': () => document(`{${'viewer{kind}'.repeat(240)}}`),
  'GraphQL of a text that does not end': (bytes) => document(`{market(model:"${'x'.repeat(bytes)}`),
  'GraphQL of fragments': () =>
    document(`{...f0}${Array.from({ length: 140 }, (_, at) => `fragment f${at} on Query{...f${at + 1}}`).join('')}`),
}

function chat(body: string, headers: Readonly<Record<string, string>> = {}): Send {
  return { method: 'POST', path: '/v1/chat/completions', headers: { ...JSON_TYPE, ...headers }, body }
}

function document(query: string): Send {
  const headers = { ...JSON_TYPE, 'graphql-require-preflight': '1' }
  return { method: 'POST', path: '/graphql', headers, body: JSON.stringify({ query }) }
}

/**
 * Measures the processor time of refusals at both planes: microseconds each, and nanoseconds per byte beyond a short
 * one.
 */
export async function* measureRefusedBytes(data: Plane, control: Plane): AsyncGenerator<Row> {
  for (const [name, plane, table] of [
    ['data plane', data, AT_DATA_PLANE],
    ['control plane', control, AT_CONTROL_PLANE],
  ] as const) {
    for (const [what, sendOf] of Object.entries(table)) {
      const small = await costOf(plane, sendOf(BYTES / 10))
      const large = await costOf(plane, sendOf(BYTES))
      const bytes = sizeOf(sendOf(BYTES)) - sizeOf(sendOf(BYTES / 10))
      const perByte = bytes === 0 ? large.seconds / sizeOf(sendOf(BYTES)) : (large.seconds - small.seconds) / bytes
      yield {
        what: `${name}: ${what}`,
        figure: `${(large.seconds * 1e6).toFixed(0)} µs, ${Math.max(0, perByte * 1e9).toFixed(0)} ns a byte`,
        beside: `status ${large.status}, ${sizeOf(sendOf(BYTES))} bytes`,
      }
    }
  }
}

function sizeOf({ path, headers = {}, body = '' }: Send): number {
  return path.length + body.length + Object.entries(headers).reduce((sum, pair) => sum + pair.join().length, 0)
}

/** Seconds of processor time of one such request, and the status of the last one. */
async function costOf(
  { url, pid }: Plane,
  request: Send,
): Promise<{ readonly seconds: number; readonly status: number }> {
  await sendAll(url, request, WARM_UP)
  const before = processorSeconds(pid)
  const status = await sendAll(url, request, REQUESTS)
  return { seconds: (processorSeconds(pid) - before) / REQUESTS, status }
}

async function sendAll(url: string, { path, ...request }: Send, count: number): Promise<number> {
  let left = count
  let status = 0
  const send = async () => {
    while (left-- > 0) {
      const answer = await fetch(url + path, { method: 'GET', ...request })
      await answer.arrayBuffer()
      status = answer.status
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  return status
}
