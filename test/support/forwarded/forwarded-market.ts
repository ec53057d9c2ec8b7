import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { z } from 'zod'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import type { TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import type { RecordingProvider } from '#test/support/market/recording-provider.ts'
import { startRecordingProvider } from '#test/support/market/recording-provider.ts'
import { BUSY_MS } from '#test/support/run/until.ts'
import type { Lending, LentKey } from './lent-keys.ts'
import { openLending } from './lent-keys.ts'

/** The market for the tests of forwarded calls, with a provider that records its requests. */

export const KEY = 'lent-key-canary-7c1f9e2a55d34b'
const RECORDS: readonly ResourceInput[] = z
  .object({ resources: z.array(z.custom<ResourceInput>()) })
  .parse(JSON.parse(readFileSync(new URL('../../../dev/seed/resources.json', import.meta.url), 'utf8'))).resources

export let network: Network
export let chain: TestChain
export let lending: Lending
/** The provider that plays every provider except those of text and of the chain. */
export let provider: RecordingProvider
export let queue: RecordingProvider

/** The seed's records at this test's hosts. */
function recordsHere(): readonly ResourceInput[] {
  const { provider_url, rpc_url } = network.sandbox
  const places: Readonly<Record<string, string>> = {
    'http://sandbox-a': provider.origin,
    'http://sandbox-b': queue.origin,
    'http://sandbox-c': provider.origin,
    'http://sandbox-d': new URL(provider_url).origin,
    'http://sandbox-e': provider.origin,
  }
  let text = JSON.stringify(RECORDS)
  for (const [name, origin] of Object.entries(places)) text = text.replaceAll(name, origin)
  const records = z.array(z.custom<ResourceInput>()).parse(JSON.parse(text))
  return records.map((record) => {
    if (record.id !== 'crypto-rpc') return record
    const routes = record.routes.map((route) => ({ ...route, forwardTo: '/' }))
    return { ...record, routes, hosts: [{ role: 'api', baseUrl: new URL(rpc_url).origin }] }
  })
}

export const json = (status: number, body: unknown, headers: Record<string, string | string[]> = {}) =>
  provider.answers((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })

/** Starts a market in which these keys are lent. */
export async function startForwarding(): Promise<void> {
  network = await startNetwork()
  chain = await chainOf()
  lending = await openLending(network)
  provider = await startRecordingProvider('127.0.0.81')
  queue = await startRecordingProvider('127.0.0.82')
  await lending.records(recordsHere())
  for (const { id } of RECORDS) await lending.lend(id, [{ key: id === 'provider-p2' ? `sk-${KEY}` : KEY }])
  json(200, { data: [{ url: 'x' }] })
}

export async function stopForwarding(): Promise<void> {
  provider.close()
  queue.close()
  await lending.close()
  await network.remove()
}

export type Init = RequestInit & { readonly key?: string; readonly duplex?: 'half' }
export const IMAGE = { model: 'canvas-1', prompt: 'a boat', n: 1 }

export function ask(path: string, { key = network.sandbox.buyer_key, ...init }: Init = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, ...Object(init.headers) }
  return fetch(network.sandbox.api_base_url + path, { redirect: 'manual', ...init, headers })
}

export const post = (path: string, body: unknown, init: Init = {}) =>
  ask(path, {
    ...init,
    method: 'POST',
    // A string is sent as a body without change.
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...Object(init.headers) },
  })
export const image = (init: Init = {}, body: object | string = IMAGE) =>
  post('/resources/provider-p1/v1/images', body, init)
export const targeted = (url: string, body: unknown, init: Init = {}) =>
  post('/resources/provider-h', body, { ...init, headers: { 'x-target-url': url, ...Object(init.headers) } })

export const costOf = ({ headers }: Response) => headers.get('x-mkt-buyer-cost-micro')

const Refusal = z.object({ error: z.object({ code: z.string() }) })

export async function refusalOf(answer: Promise<Response>): Promise<readonly [number, string, string | null]> {
  const given = await answer
  const { error } = Refusal.parse(await given.json())
  return [given.status, error.code, costOf(given)]
}

/** Lends these keys of provider-p1 and no others. Returns their ids. */
export const lendImages = (keys: readonly LentKey[]) => lending.lend('provider-p1', keys)

export const MEGABYTE = 1_048_576

/**
 * Sends the beginning of a request unchanged, and disconnects once the provider has the head. Resolves when the market
 * has closed the connection too.
 */
export async function breakOff(text: string): Promise<void> {
  const { hostname, port } = new URL(network.sandbox.api_base_url)
  const begun = provider.begins()
  const socket = connect(Number(port), hostname).resume()
  // A reset connection is closed as well.
  socket.on('error', () => undefined)
  socket.write(text, 'latin1')
  await begun
  socket.end()
  if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(BUSY_MS) })
}
