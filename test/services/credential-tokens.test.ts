import { generateKeyPairSync } from 'node:crypto'
import { Writable } from 'node:stream'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import { deleteOffer } from '#control-plane/services/offers/change.ts'
import { listHealthLog, storeHealthEvents } from '#control-plane/services/offers/health-log.ts'
import type { TokenCtx } from '#control-plane/services/offers/renew-tokens.ts'
import { renewTokens } from '#control-plane/services/offers/renew-tokens.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import { createOwnProvider, removeOwnProvider } from '#control-plane/services/routing/own-providers.ts'
import { markOf } from '#dev/provider/token-door.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import { AccountPolicySchema } from '#shared/contract/key-record.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { SealedCredential } from '#shared/contract/sealed-credential.ts'
import { DocumentEnvelopeSchema, OffersDocumentSchema } from '#shared/contract/snapshot.ts'
import { createLogger } from '#shared/logger.ts'
import { openCredential } from '#shared/seal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

const EMAIL = 'seller@project-1.iam.gserviceaccount.com'
const MODEL = 'claude-test'
const pair = (modulusLength = 2_048) =>
  generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
const KEYS = pair()

let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  await door({ key: { account: EMAIL, pem: KEYS.publicKey } })
})
afterEach(async () => {
  await door({ answer: 'token', life_seconds: 3_599, ahead_seconds: 0 })
})
afterAll(() => market.stop())

/** Sets the token endpoint of the provider. Returns the number of tokens that it has made. */
async function door(input: object): Promise<number> {
  const url = new URL('/__sandbox/tokens', market.provider.url)
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(input) })
  const said: { readonly made: number } = await answer.json()
  return said.made
}

/** The JSON file of an account, with members that the market ignores. */
const accountFile = (changes: object = {}) =>
  JSON.stringify(
    {
      type: 'service_account',
      project_id: 'project-1',
      private_key_id: 'key-1',
      private_key: KEYS.privateKey,
      client_email: EMAIL,
      client_id: '1',
      token_uri: 'https://tokens.example/steal',
      ...changes,
    },
    null,
    2,
  )

const AT_VERTEX = `projects/project-1/locations/global/publishers/anthropic/models/${MODEL}`
const AT = { model: MODEL, apiFormat: 'vertexclaude' as const, providerModel: AT_VERTEX }
const sell = (apiKey = accountFile()) => listOffer(market, ada.seller, { ...AT, apiKey })
const remove = (id: string) => invoke(market.plane, ada.seller, deleteOffer, { id })
const turn = (changes: Partial<TokenCtx> = {}) => renewTokens({ ...market.plane, ...changes })
const open = (credential: SealedCredential) => openCredential(market.plane.settings.keyRing, credential).reveal()

async function bodyAt(key: string) {
  return DocumentEnvelopeSchema.parse(JSON.parse((await market.world.redis.get(key)) ?? 'null')).body
}

/**
 * The credential of an offer in the snapshot, with which data planes call. Undefined while the offer is not on sale.
 */
async function calledWith(id: string): Promise<string | undefined> {
  const { offers } = OffersDocumentSchema.parse(await bodyAt(cacheKeys.document(`offers:${MODEL}`)))
  const row = offers.find((offer) => offer.id === id)
  return row && open(row.credential)
}

/** The credential with which data planes call a buyer's own provider. */
async function ownToken({ buyer }: Person): Promise<string | undefined> {
  const { ownProviders } = AccountPolicySchema.parse(await bodyAt(cacheKeys.account(buyer.account)))
  const [own] = ownProviders
  return own && open(own.credential)
}

const logOf = async (offerId: string) => {
  const { items } = await invoke(market.plane, ada.seller, listHealthLog, { offerId, sortOrder: 'ASC' })
  return items.map(({ actionTaken, errorCategory, statusCode, errorDetail }) => ({
    actionTaken,
    errorCategory,
    statusCode,
    errorDetail,
  }))
}

/** A log that the test can read. */
function openLog() {
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return { lines, log: createLogger('control-plane', 'trace', sink) }
}

const refusedListing = (input: Promise<unknown>) =>
  input.then(
    () => 'listed',
    (error: unknown) => error,
  )

describe('an offer under a service account', () => {
  it('is published with a token in the place of the account, and the token is renewed well before it ends', async () => {
    const { id } = await sell()
    const first = await calledWith(id)
    expect(first).toMatch(/^Bearer ya29\.\S+$/)
    expect(await turn()).toBe(0)
    market.advance(40 * MINUTE)
    expect(await turn()).toBe(0)
    market.advance(10 * MINUTE)
    expect(await turn()).toBe(1)
    const second = await calledWith(id)
    expect(second).toMatch(/^Bearer ya29\.\S+$/)
    expect(second).not.toBe(first)
    await remove(id)
    expect(await calledWith(id)).toBeUndefined()
    // No token is made for an account without an offer.
    market.advance(2 * HOUR)
    expect(await turn()).toBe(0)
  })

  it('sells Gemini as well', async () => {
    const providerModel = `projects/project-1/locations/global/publishers/google/models/${MODEL}`
    const { id } = await listOffer(market, ada.seller, {
      ...AT,
      apiFormat: 'vertex',
      providerModel,
      apiKey: accountFile(),
    })
    expect(await calledWith(id)).toMatch(/^Bearer ya29/)
    const { path, headers } = market.provider.requests.list().at(-1) ?? {}
    expect([path, headers?.authorization]).toEqual([
      `/v1/${providerModel}:generateContent`,
      expect.stringMatching(/^Bearer ya29/),
    ])
    await remove(id)
  })

  it('is the same account in any spelling of its JSON, and its key is nowhere in plain text', async () => {
    const { id } = await sell()
    const again = accountFile({ token_uri: undefined, private_key: `\n${KEYS.privateKey.replaceAll('\n', '\r\n')}` })
    expect(await refusedListing(sell(again))).toMatchObject({ code: 'duplicate_offer_for_credential' })
    const body = KEYS.privateKey.split('\n')[1] ?? ''
    const rows = await sql<{ text: string }>`select c::text || coalesce(t::text, '') as text
      from credential c left join credential_token t on t.credential_id = c.id`.execute(market.plane.db)
    expect(JSON.stringify(rows.rows)).not.toMatch(/ya29|PRIVATE KEY/)
    expect(JSON.stringify(rows.rows)).not.toContain(body)
    await remove(id)
  })

  it.each([
    ['a key that is too short', { private_key: pair(1_024).privateKey }],
    ['no key', { private_key: 'secret-words' }],
    ['another type', { type: 'authorized_user' }],
    ['an invalid token endpoint', { client_email: 'nobody' }],
  ])('is refused with %s, and the refusal repeats none of the file', async (_what, changes) => {
    const refusal = await refusedListing(sell(accountFile(changes)))
    expect(refusal).toMatchObject({ code: 'invalid_request', param: 'apiKey' })
    expect(String(refusal)).not.toMatch(/secret-words|PRIVATE/)
  })

  it.each([
    ['refusal', 'answered 400 (invalid_grant)'],
    ['nonsense', 'gave no token'],
    ['never', 'could not be reached (UND_ERR_HEADERS_TIMEOUT)'],
  ])('is not listed while the token endpoint gives %s', async (answer, words) => {
    await door({ answer })
    const refusal = await refusedListing(sell())
    const reason = `no access token could be made: the address of tokens ${words}`
    expect(refusal).toMatchObject({ code: 'provider_probe_failed', detail: { reason } })
  })

  it('leaves the market when its token ends, shows the reason, and comes back', async () => {
    const { id } = await sell()
    await door({ answer: 'refusal' })
    market.advance(50 * MINUTE)
    expect(await turn()).toBe(1)
    expect(await calledWith(id)).toMatch(/^Bearer/)
    expect(await logOf(id)).toEqual([])
    market.advance(10 * MINUTE)
    expect(await turn()).toBe(1)
    expect(await calledWith(id)).toBeUndefined()
    expect(await logOf(id)).toEqual([
      {
        actionTaken: 'backed_off',
        errorCategory: 'credential_rejected',
        statusCode: 400,
        errorDetail: 'no access token could be made: the address of tokens answered 400 (invalid_grant)',
      },
    ])
    await door({ answer: 'token' })
    market.advance(10 * MINUTE)
    expect(await turn()).toBe(1)
    expect(await calledWith(id)).toMatch(/^Bearer/)
    await remove(id)
  })

  it('is sold to the second in which its token ends, after any number of failed renewals', async () => {
    const { id } = await sell()
    const listedAt = market.plane.clock.now()
    await door({ answer: 'refusal' })
    const lifeMs = 3_599 * SECOND
    let makings = 0
    for (let at = 45 * MINUTE; at < lifeMs - 15 * SECOND; at += 15 * SECOND) {
      market.advance(listedAt + at - market.plane.clock.now())
      makings += await turn()
    }
    // The pauses double, from 15 seconds to eight minutes.
    expect(makings).toBe(6)
    expect(await calledWith(id)).toMatch(/^Bearer/)
    market.advance(listedAt + lifeMs + SECOND - market.plane.clock.now())
    expect(await turn()).toBe(1)
    expect(await calledWith(id)).toBeUndefined()
    await remove(id)
  })

  it('is sold at once when it is listed again after failed renewals', async () => {
    const { id } = await sell()
    await door({ answer: 'refusal' })
    for (let at = 0; at < 8; at++) {
      market.advance(HOUR)
      expect(await turn()).toBe(1)
    }
    await remove(id)
    await door({ answer: 'token' })
    const again = await sell()
    expect(await calledWith(again.id)).toMatch(/^Bearer/)
    await remove(again.id)
  })

  it('is called with a token of its own account', async () => {
    const bob = await market.person()
    const other = `other-${EMAIL}`
    const { id } = await sell()
    const apiKey = accountFile({ client_email: other, private_key: pair().privateKey })
    market.advance(30 * MINUTE)
    const { id: otherId } = await listOffer(market, bob.seller, { ...AT, apiKey })
    market.advance(20 * MINUTE)
    const before = [await calledWith(id), await calledWith(otherId)]
    expect(before.map((token) => token?.split('.')[2])).toEqual([markOf(EMAIL), markOf(other)])
    // Only the first token is due, although the second seller lists again.
    const second = await listOffer(market, bob.seller, { ...AT, model: 'gpt-test', apiKey })
    expect([await calledWith(id), await calledWith(otherId)]).toEqual(before)
    expect(await turn()).toBe(1)
    const after = [await calledWith(id), await calledWith(otherId)]
    expect(after[0]).not.toBe(before[0])
    expect(after[1]).toBe(before[1])
    expect(after[0]?.split('.')[2]).toBe(markOf(EMAIL))
    await remove(id)
    for (const each of [otherId, second.id]) await invoke(market.plane, bob.seller, deleteOffer, { id: each })
  })

  it('is called with its new token when the process ended before the publication', async () => {
    const { id } = await sell()
    const input = { ...AT, baseUrl: market.provider.url, apiKey: accountFile({ private_key_id: 'key-2' }) }
    const own = await invoke(market.plane, ada.buyer, createOwnProvider, input)
    const before = [await calledWith(id), await ownToken(ada)]
    market.advance(50 * MINUTE)
    const end = () => Promise.reject(new Error('the process ends'))
    const publication = { ...market.plane.publication, publishOffers: end, publishSoon: end }
    expect(await turn({ publication })).toBe(2)
    expect([await calledWith(id), await ownToken(ada)]).toEqual(before)
    await market.plane.publication.reconcile()
    for (const [place, token] of [await calledWith(id), await ownToken(ada)].entries()) {
      expect(token).toMatch(/^Bearer ya29/)
      expect(token).not.toBe(before[place])
    }
    await invoke(market.plane, ada.buyer, removeOwnProvider, { id: own.id })
    expect(await ownToken(ada)).toBeUndefined()
    await remove(id)
  })

  it('writes no token, key or answer of the token endpoint to a log', async () => {
    const { id } = await sell()
    const { lines, log } = openLog()
    for (const answer of ['token', 'refusal', 'nonsense']) {
      await door({ answer })
      market.advance(HOUR)
      expect(await turn({ log })).toBe(1)
    }
    const makeToken: TokenCtx['makeToken'] = ({ account }) =>
      Promise.reject(new Error(`no token for ${account.client_email}`))
    market.advance(HOUR)
    await turn({ log, makeToken })
    const body = KEYS.privateKey.split('\n')[1] ?? ''
    const told = lines.join('') + JSON.stringify(await logOf(id))
    expect(told).toMatch(/a token could not be renewed/)
    expect(told).not.toMatch(/ya29|PRIVATE KEY|Invalid JWT|eyJ/)
    expect(told).not.toContain(body)
    await remove(id)
  })

  it('has its token renewed once by two workers at once', async () => {
    const { id } = await sell()
    market.advance(50 * MINUTE)
    const before = await door({})
    const turns = await Promise.all([turn(), turn(), turn()])
    expect(turns.reduce((sum, made) => sum + made, 0)).toBe(1)
    expect(await door({})).toBe(before + 1)
    await remove(id)
  })

  it('has its token renewed early where the provider refuses the token, once an hour', async () => {
    const { id } = await sell()
    const first = await calledWith(id)
    const told = async () => {
      const event = {
        v: 1,
        id: market.plane.ids.make('hlt'),
        at: market.plane.clock.now(),
        node: 'a',
        offer: id,
        sellerAccount: ada.seller.account,
        model: MODEL,
        rid: null,
        errorClass: 'credential_rejected',
        statusCode: 401,
        detail: 'refused',
        action: 'counted',
        backedOffUntil: null,
      }
      await storeHealthEvents(market.plane, { v: 1, events: [event] })
      return turn()
    }
    expect(await told()).toBe(1)
    expect(await calledWith(id)).not.toBe(first)
    market.advance(MINUTE)
    expect(await told()).toBe(0)
    await remove(id)
  })

  it.each([
    ['ahead', 2 * HOUR],
    ['behind', -2 * HOUR],
  ])('is listed although the clock of the token endpoint is %s', async (_where, ms) => {
    await door({ ahead_seconds: ms / SECOND })
    const { id } = await sell()
    expect(await calledWith(id)).toMatch(/^Bearer/)
    await remove(id)
  })

  it('may be moved to another account', async () => {
    const { id } = await sell()
    const other = accountFile({ client_email: `other-${EMAIL}`, private_key: pair().privateKey })
    const before = await calledWith(id)
    await invoke(market.plane, ada.seller, rotateCredential, { id, apiKey: other })
    const after = await calledWith(id)
    expect(after).toMatch(/^Bearer ya29/)
    expect(after).not.toBe(before)
    expect(after?.split('.')[2]).toBe(markOf(`other-${EMAIL}`))
    await remove(id)
  })
})

it('a buyer’s own service account is in the policy as its token', async () => {
  const { buyer } = ada
  const input = { ...AT, baseUrl: market.provider.url, apiKey: accountFile() }
  const { id } = await invoke(market.plane, buyer, createOwnProvider, input)
  expect(await ownToken(ada)).toMatch(/^Bearer ya29/)
  await door({ answer: 'refusal' })
  market.advance(2 * HOUR)
  expect(await turn()).toBe(1)
  expect(await ownToken(ada)).toBeUndefined()
  await invoke(market.plane, buyer, removeOwnProvider, { id })
})
