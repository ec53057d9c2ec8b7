import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chainOf } from '#test/support/chain/chain.ts'
import { payingFetch } from '#test/support/chain/wallet-client.ts'
import type { TestWallet } from '#test/support/doors/wallet.ts'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { DescribedOperation, LiveAnswer } from '#test/support/facts/description.ts'
import { OPERATIONS, problemsOf } from '#test/support/facts/description.ts'
import { keepArtifact } from '#test/support/market/kept-artifact.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

/** Sends every example of docs/openapi.json to a running market, and checks the answer against the same document. */

let network: Network
const [ada, bob] = [newWallet(), newWallet()]
/** The session headers of both wallets. */
let sessions: { readonly ada: Record<string, string>; readonly bob: Record<string, string> }
/** Ids from earlier answers, by the part of the path before them. */
const ids = new Map<string, string>()
let providerUrl = ''
let speech: Blob | undefined
/** Pays with a wallet of its own where no key can pay. */
let payingWallet: ReturnType<typeof payingFetch>

type Sent = { readonly headers?: Record<string, string>; readonly body?: object | FormData | undefined }

async function send(
  method: string,
  target: string,
  { headers = {}, body }: Sent,
): Promise<LiveAnswer & { blob: Blob }> {
  const isForm = body instanceof FormData
  const call = target.startsWith('/x402/') ? payingWallet : fetch
  const answer = await call(network.sandbox.api_base_url + target, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
  const blob = await answer.blob()
  return { status: answer.status, headers: answer.headers, text: await blob.text(), blob }
}

async function signed(wallet: TestWallet): Promise<object> {
  const { text } = await send('GET', `/v1/auth/challenge?address=${wallet.address}`, {})
  const { message } = z.object({ message: z.string() }).parse(JSON.parse(text))
  return { message, signature: await wallet.signMessage({ message }) }
}

async function signIn(wallet: TestWallet): Promise<Record<string, string>> {
  const { headers } = await send('POST', '/v1/auth/session', { body: await signed(wallet) })
  return { cookie: headers.get('set-cookie')?.split(';', 1)[0] ?? '', origin: network.sandbox.base_url }
}

/** Creates a thing and returns its id. */
async function make(path: string, body: object): Promise<string> {
  const headers = { ...sessions.ada, 'idempotency-key': randomUUID() }
  const { text } = await send('POST', path, { headers, body })
  return z.object({ id: z.string() }, text).parse(JSON.parse(text)).id
}

async function invite(): Promise<string> {
  const organization = await make('/v1/organizations', { name: 'Inviting' })
  return make(`/v1/organizations/${organization}/invitations`, { wallet: bob.address, role: 'viewer' })
}

beforeAll(async () => {
  network = await startNetwork()
  const chain = await chainOf()
  payingWallet = payingFetch(chain, await chain.newWallet({ usdc: 10_000_000n }), 'exact')
  const { text } = await send('GET', '/v1/providers', {})
  const Providers = z.object({ providers: z.array(z.object({ id: z.string(), base_url: z.string() })) })
  const found = Providers.parse(JSON.parse(text)).providers.find(({ id }) => id === 'sandbox-a')
  providerUrl = found?.base_url ?? ''
  sessions = { ada: await signIn(ada), bob: await signIn(bob) }
  const headers = { authorization: `Bearer ${network.sandbox.buyer_key}` }
  const said = { model: 'gpt-5-mini', max_tokens: 8, messages: [{ role: 'user', content: 'Hello.' }] }
  const call = await send('POST', '/v1/chat/completions', { headers, body: said })
  ids.set('/v1/requests/', call.headers.get('x-request-id') ?? '')
  ids.set('/v1/seller/bills/', 'openai')
  for (const row of CASES) answered.set(row.title, await answerTo(row).catch((error: unknown) => ({ error })))
})

afterAll(async () => {
  await network?.remove()
})

/** Prepares examples whose needs no earlier answer meets. */
const PREPARE: Readonly<Record<string, (sent: Sent) => Promise<Sent | undefined>>> = {
  sellerKeySignIn: async (sent) => ({ ...sent, body: await signed(ada) }),
  buyerKeySignIn: async (sent) => ({ ...sent, body: await signed(ada) }),
  sessionCreate: async (sent) => ({ ...sent, body: await signed(ada) }),
  sessionEnd: async (sent) => ({ ...sent, headers: await signIn(ada) }),
  invitationAccept: async (sent) => {
    ids.set('/v1/invitations/', await invite())
    return { ...sent, headers: sessions.bob }
  },
  invitationDecline: async (sent) => {
    ids.set('/v1/invitations/', await invite())
    return { ...sent, headers: sessions.bob }
  },
  // The seller's key has used its probes of this minute.
  lentKeyProbe: async (sent) => ({ ...sent, headers: sessions.ada }),
  billFetch: async (sent) => ({ ...sent, headers: sessions.ada }),
  memberUpdate: (sent) => withMember(sent),
  memberRemove: (sent) => withMember(sent),
  jobCancel: async (sent) => {
    const rid = (ids.get('/v1/video/generations/') ?? '').slice('job_'.length)
    await until('the job is booked', 10_000, async () => {
      const { text } = await send('GET', '/v1/buyer/jobs', { headers: sent.headers ?? {} })
      return text.includes(rid)
    })
    ids.set('/v1/buyer/jobs/', rid)
    return sent
  },
  getV1MediaArtifactsJobIdIndex: async (sent) => {
    const job = ids.get('/v1/video/generations/') ?? ''
    const pieces = [Buffer.from('a picture')]
    await keepArtifact(network, { journal: 'journal', job, index: 0 }, { contentType: 'image/png', pieces })
    ids.set('/v1/media/artifacts/', job)
    ids.set('/v1/media/artifacts/{jobId}/', '0')
    return sent
  },
  postV1AudioTranscriptions: async (sent) => ({ ...sent, body: form() }),
  postV1AudioTranscriptionsFloor: async (sent) => ({ ...sent, body: form() }),
}

/** Bob joins the organisation of the examples. */
async function withMember(sent: Sent): Promise<Sent> {
  const organization = `/v1/organizations/${ids.get('/v1/organizations/')}`
  const invited = await send('POST', `${organization}/invitations`, {
    headers: sessions.ada,
    body: { wallet: bob.address, role: 'viewer' },
  })
  if (invited.status === 201) {
    const { id } = z.object({ id: z.string() }).parse(JSON.parse(invited.text))
    await send('POST', `/v1/invitations/${id}/accept`, { headers: sessions.bob, body: {} })
  }
  const { text } = await send('GET', `${organization}/members`, { headers: sessions.ada })
  const { members } = z
    .object({ members: z.array(z.object({ id: z.string(), wallet: z.string() })) })
    .parse(JSON.parse(text))
  const member = members.find(({ wallet }) => wallet === bob.address.toLowerCase())
  ids.set('/v1/organizations/{organization}/members/', member?.id ?? '')
  return sent
}

function form(): FormData {
  const data = new FormData()
  data.set('model', 'gpt-4o-transcribe')
  data.set('file', speech ?? new Blob(), 'speech.wav')
  return data
}

function headersFor({ security, parameters }: DescribedOperation): Record<string, string> {
  const ways = security.flatMap((way) => Object.keys(way))
  const { buyer_key: buyer, seller_key: seller } = network.sandbox
  const key = ways.includes('buyerKey') ? buyer : ways.includes('sellerKey') ? seller : undefined
  const who = key === undefined ? (ways.length === 0 ? {} : sessions.ada) : { authorization: `Bearer ${key}` }
  const isKeyed = parameters.some(({ name }) => name === 'Idempotency-Key')
  return isKeyed ? { ...who, 'idempotency-key': randomUUID() } : who
}

/** Fills the path's variables from the document, or from earlier answers. */
function targetOf({ path, parameters }: DescribedOperation): string {
  const examples = new Map(parameters.map(({ name, example }) => [name, example]))
  const filled = path.replace(/\{(\w+)\}/g, (_match, name: string, at: number) => {
    const before = path.slice(0, at)
    const value = examples.get(name) ?? ids.get(before) ?? ids.get(before.replace('/min{floor}', ''))
    if (value === undefined || value === '') throw new Error(`${path}: there is no value for ${name}`)
    return String(value)
  })
  const query = parameters.flatMap(({ name, in: place, example }): [string, string][] => {
    if (place !== 'query' || example === undefined) return []
    return [[name, path.endsWith('/v1/generation') ? (ids.get('/v1/requests/') ?? '') : String(example)]]
  })
  return query.length === 0 ? filled : `${filled}?${new URLSearchParams(query).toString()}`
}

/** The examples' providers are at example.com. This market's are on this machine. */
function localized(value: unknown): object {
  const text = JSON.stringify(value)
    .replaceAll('https://api.example.com/v1', providerUrl)
    .replaceAll('https://hooks.example.com/market', `${network.sandbox.provider_url}/hook`)
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text))
}

/** Remembers the ids in an answer, for the paths below its own. */
function remember({ path, method }: DescribedOperation, { text, headers, blob }: LiveAnswer & { blob: Blob }): void {
  if (path === '/v1/audio/speech') speech = blob
  const file = headers.get('location')?.split('/').at(-1)
  if (file !== undefined) ids.set('/v1/exports/', file)
  const named = Named.safeParse(safeJson(text)).data
  if (named === undefined) return
  if (named.operation_id !== undefined) ids.set('/v1/seller/operations/', named.operation_id)
  if (method === 'POST' && named.id !== undefined && !ids.has(`${path}/`)) ids.set(`${path}/`, named.id)
  const [config] = named.configs ?? []
  if (config !== undefined) ids.set('/v1/seller/configs/', config.id)
}

const Named = z.object({
  id: z.string().optional(),
  operation_id: z.string().optional(),
  configs: z.array(z.object({ id: z.string() })).optional(),
})

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Examples that need the link of another answer, or that end a thing that others use. */
const LATE: ReadonlySet<string> = new Set(['exportDownload', 'offerBulkCancel', 'operationGet'])

type Case = { readonly title: string; readonly operation: DescribedOperation; readonly body: unknown }

/**
 * These examples need a payout, a booked call, a wallet with money, a device for a passkey, or the secret of another
 * answer. Tests of their own cover them.
 */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'payoutGet',
  'payoutGetPostV1SellerPayoutsIdTx',
  'depositSign',
  'allowanceSign',
  'keySessionCreate',
  'signInCodeCreate',
  'keySessionEnd',
  'ownProviderRemoveDeleteV1BuyerProviders',
  'passkeyAccountCreate',
  'passkeyCreate',
  'passkeyRemove',
  'passkeySessionCreate',
  'walletChallenge',
  'emailLinkCreate',
  'emailLinkRead',
  'emailSessionCreate',
  'emailCreate',
  'emailRemove',
  'alertUnsubscribe',
  'playgroundOpen',
  'requestBill',
  'recoverySessionCreate',
  // The secret of a link is in the fragment of its address.
  'inviteLinkOpen',
  'inviteLinkAccept',
  'walletLink',
])

/** Paths whose answers are those of a provider. `forwarded-calls.test.ts` covers them. */
const FORWARDED = /^\/(x402\/)?(min\{\w+\}\/)?(resources|api\/(social|crypto-rpc))\//

/** The cases in an order in which each has its needs. Removals come last, from the leaves to the roots. */
function cases(): Case[] {
  const lastly = (operation: DescribedOperation) =>
    LATE.has(operation.operationId) ? 1 : operation.method === 'DELETE' ? 2 : 0
  const inOrder = OPERATIONS.filter(
    ({ path, operationId }) => !FORWARDED.test(path) && !ELSEWHERE.has(operationId),
  ).sort(
    (left, right) => lastly(left) - lastly(right) || (lastly(left) === 2 ? right.path.length - left.path.length : 0),
  )
  return inOrder.flatMap((operation): Case[] => {
    const content = operation.requestBody?.content['application/json']
    const examples = Object.entries(content?.examples ?? {})
    const { operationId } = operation
    if (examples.length === 0) return [{ title: operationId, operation, body: undefined }]
    return examples.map(([name, { value }]) => ({ title: `${operationId}: ${name}`, operation, body: value }))
  })
}

const CASES = cases()
/** Operations that call a provider at its public address, which no test dials. */
const AWAY: ReadonlySet<string> = new Set(['billFetch'])
type Answered = { readonly target: string; readonly answer: LiveAnswer }
/**
 * The answer of each case, by its title. All are sent before the first test, because each builds on those before it.
 */
const answered = new Map<string, Answered | { readonly error: unknown }>()

async function answerTo({ operation, body }: Case): Promise<Answered> {
  const { method, operationId } = operation
  const given: Sent = {
    headers: headersFor(operation),
    body: body === undefined ? (method === 'GET' || method === 'DELETE' ? undefined : {}) : localized(body),
  }
  const sent = (await PREPARE[operationId]?.(given)) ?? given
  const target = targetOf(operation)
  const answer = await send(method, target, sent)
  remember(operation, answer)
  return { target, answer }
}

describe('the examples of docs/openapi.json', () => {
  it.each(CASES)('$title', ({ title, operation: { method, operationId, responses } }) => {
    const found = answered.get(title)
    if (found === undefined || 'error' in found) throw found?.error ?? new Error(`${title} was not sent`)
    const { target, answer } = found
    const good = Object.keys(responses).filter((status) => /^[23]/.test(status))
    const expected = good.length === 0 ? ['410'] : AWAY.has(operationId) ? ['502'] : good
    expect(expected, answer.text.slice(0, 400)).toContain(String(answer.status))
    expect(problemsOf(method, target, answer)).toEqual([])
  })
})

describe('the reference', () => {
  it('is read at the data plane, too', async () => {
    for (const path of ['/openapi.json', '/docs', '/docs/snippets.md', '/llms.txt']) {
      const { status, headers, text } = await send('GET', path, {})
      expect([status, headers.get('access-control-allow-origin')], path).toEqual([200, '*'])
      expect(text.length).toBeGreaterThan(1_000)
      const again = await send('GET', path, { headers: { 'if-none-match': headers.get('etag') ?? '' } })
      expect(again.status).toBe(304)
    }
  })

  it('describes refusals of calls as they are', async () => {
    const { buyer_key: key, seller_key: other } = network.sandbox
    const said = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello.' }] }
    const message = { ...said, max_tokens: 8 }
    const refused: [path: string, key: string | undefined, body: object, status: number][] = [
      ['/v1/chat/completions', undefined, said, 402],
      ['/v1/chat/completions', 'inf_unknown', said, 401],
      ['/v1/chat/completions', other, said, 401],
      ['/v1/chat/completions', key, { ...said, model: 'no-such-model' }, 400],
      ['/v1/chat/completions', key, { ...said, messages: [] }, 400],
      ['/min99/v1/chat/completions', key, said, 503],
      ['/v1/embeddings', key, { model: 'text-embedding-3-small', input: [] }, 400],
      ['/v1/responses', key, { model: 'gpt-5-mini', input: 'Hello.', previous_response_id: 'x' }, 400],
      ['/compat/v1/messages', undefined, message, 401],
      ['/compat/v1/messages', key, { ...message, model: 'no-such-model' }, 404],
      ['/compat/v1/messages', key, said, 400],
      ['/compat/min99/v1/messages', key, message, 404],
      ['/v1/video/generations', key, { model: 'sandbox/job', prompt: '' }, 400],
    ]
    for (const [path, given, body, status] of refused) {
      const headers = given === undefined ? {} : { authorization: `Bearer ${given}` }
      const answer = await send('POST', path, { headers, body })
      expect([path, answer.status, problemsOf('POST', path, answer)]).toEqual([path, status, []])
    }
  })
})
