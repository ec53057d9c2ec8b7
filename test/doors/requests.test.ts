import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { MediaUnitsSchema } from '#control-plane/services/media-units.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { paidCalls } from '#test/support/books/payments.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { signInForSession } from '#test/support/doors/wallet.ts'

const Requests = z.object({
  edges: z.array(z.object({ node: z.unknown() })),
  page_info: z.object({ end_cursor: z.string() }),
})

let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket({ chain: true })
  ada = await market.person()
})
afterAll(() => market?.stop())

const FIELDS = `requestId model provider servedBy settlementStatus settlementType settlementError confirmedAt
  buyerCostMicro listCostMicro txHash attempts { provider status ms connectMs resent } createdAt streamed cancelled finishReason
  inputTokens outputTokens cacheReadTokens cacheWriteTokens searches priceConditions reasoningTokens ${Object.keys(MediaUnitsSchema.shape).join(' ')} ttftMs durationMs overheadMs
  routing { offers { offer provider estimateMicro } excluded { offer reason } affinity { offer savingMicro } }`

describe('a call by its request id', () => {
  const rids: string[] = []

  beforeAll(async () => {
    for (let count = 0; count < 3; count++) rids.push(market.plane.ids.ulid())
    const fixed = { account: ada.buyer.account, sellerAccount: ada.seller.account, charge: 0 }
    const events = rids.map((rid) => JSON.stringify(usageEvent({ ...fixed, rid })))
    await postBatch(market.plane, { events, source: 'test' })
  })

  async function graph(key: string, query: string): Promise<Record<string, unknown>> {
    const answer = await market.graphql(key, query)
    const { data } = z.object({ data: z.record(z.string(), z.unknown()) }).parse(answer.body)
    return z.record(z.string(), z.unknown()).parse(toSnakeBody(data))
  }

  it('has the same record at every door, also in lists', async () => {
    const key = ada.buyerKey
    const id = rids[0] ?? ''
    const one = await market.rest('GET', `/v1/requests/${id}`, { key })
    expect(one.body).toMatchObject({ request_id: id })
    expect(await market.trpc(key).request.get.query({ id })).toEqual(one.body)
    expect((await graph(key, `{ request(id: "${id}") { ${FIELDS} } }`))['request']).toEqual(one.body)
    const page = await market.rest('GET', '/v1/requests?limit=2', { key })
    expect(page.body).toMatchObject({
      requests: [{ request_id: rids[2] }, { request_id: rids[1] }],
      next: rids[1],
      next_token: expect.stringContaining('~'),
    })
    const token = z.object({ next_token: z.string() }).parse(page.body).next_token
    expect((await market.rest('GET', '/v1/requests?max_items=2', { key })).body).toEqual(page.body)
    const second = await market.rest('GET', `/v1/requests?max_items=2&next_token=${token}`, { key })
    expect(second.body).toMatchObject({ requests: [{ request_id: rids[0] }], next_token: null })
    const both = await market.rest('GET', '/v1/requests?max_items=2&limit=2', { key })
    expect(both.body).toMatchObject({ error: { code: 'invalid_request', param: 'limit' } })
    expect(toSnakeBody(await market.trpc(key).request.list.query({ limit: 2 }))).toEqual(page.body)
    const found = await graph(key, `{ requests(first: 2) { edges { node { ${FIELDS} } } pageInfo { endCursor } } }`)
    const connection = Requests.parse(found['requests'])
    const requests = connection.edges.map(({ node }) => node)
    expect({ requests, next: rids[1], next_token: connection.page_info.end_cursor }).toEqual(page.body)
  })

  it('has a bill with its key and its endpoint', async () => {
    const id = rids[0] ?? ''
    const { status, body } = await market.rest('GET', `/v1/requests/${id}/bill`, { key: ada.buyerKey })
    expect(status).toBe(200)
    const ofCall = { request_id: id, key_id: 'key_test', endpoint: 'chat', discount_pct: 40 }
    const quantities = [120, 30, 40, 10].map((quantity) => expect.objectContaining({ quantity }))
    expect(body).toMatchObject({ ...ofCall, lines: quantities, buyer_cost_micro: 0 })
  })

  it('does not exist for another buyer, at every door', async () => {
    const { buyerKey: key } = await market.person()
    const id = rids[0] ?? ''
    expect(codeOf(await market.rest('GET', `/v1/requests/${id}/bill`, { key }))).toBe('not_found')
    expect(codeOf(await market.rest('GET', `/v1/requests/${id}`, { key }))).toBe('not_found')
    expect(codeOf(await market.graphql(key, `{ request(id: "${id}") { model } }`))).toBe('not_found')
    expect(await trpcCodeOf(market.trpc(key).request.get.query({ id }))).toBe('not_found')
  })
})

const Earned = z.object({
  pending_usdc: z.string(),
  total_earned_usdc: z.string(),
  recent_sales: z.array(z.looseObject({ id: z.string() })),
})
const Statement = z.object({
  items: z.array(z.object({ kind: z.string(), amount_micro: z.number(), tx_hash: z.string().nullable() })),
})

describe('a call that a wallet pays', () => {
  let chain: TestChain
  let pay: ReturnType<typeof paidCalls>
  let wallet: ChainWallet
  let headers: Record<string, string>

  beforeAll(async () => {
    chain = await chainOf()
    const { payments } = market.plane
    if (payments === null) throw new Error('payments are not set up')
    pay = paidCalls({ ...market.plane, payments }, chain, ada.seller.account)
    wallet = await chain.newWallet({ usdc: 10_000_000n })
    headers = await signInForSession(market, wallet.account)
  })

  const claimed = async (by = wallet) => pay.claimed(await pay.sign(by, 'exact', 20_000n))
  const told = async (rid: string, by = headers) =>
    (await market.rest('GET', `/v1/requests/${rid}`, { headers: by })).body
  const money = (status: string, more: object = {}) => ({ settlement_status: status, settlement_type: 'x402', ...more })

  it('exists from its admission on, accrues, and is settled when its block is final', async () => {
    const rid = await claimed()
    const nothing = { confirmed_at: null, settlement_error: null }
    expect(await told(rid)).toMatchObject({ request_id: rid, ...money('pending', { ...nothing, tx_hash: null }) })
    const { transaction } = await pay.settle(rid, 7_321n)
    const known = { model: 'gpt-5-mini', buyer_cost_micro: 7_321, tx_hash: transaction }
    expect(await told(rid)).toMatchObject(money('accrued', { ...nothing, ...known }))
    const list = async () => (await market.rest('GET', '/v1/requests?max_items=1', { headers })).body
    expect(await list()).toMatchObject({ requests: [money('accrued', { request_id: rid, ...known })] })
    await pay.booked(rid)
    const settled = await told(rid)
    expect(settled).toMatchObject(money('settled', { ...known, confirmed_at: expect.stringMatching(/Z$/) }))
    expect(await list()).toMatchObject({ requests: [settled] })
    const trpc = market.trpc(undefined, headers)
    expect(await trpc.request.get.query({ id: rid })).toEqual(settled)
    const query = `{ request(id: "${rid}") { ${FIELDS} } }`
    const graph = await market.rest('POST', '/graphql', { headers, body: { query } })
    expect(toSnakeBody(graph.body)).toMatchObject({ data: { request: settled } })
    // The transaction finds the call, for the payer only. A holder of the call's id sees only the payment.
    const ofTransaction = (by: object, hash = transaction) => market.rest('GET', `/v1/requests?transaction=${hash}`, by)
    expect((await ofTransaction({ headers })).body).toMatchObject({ requests: [settled], next_token: null })
    expect((await ofTransaction({ key: ada.buyerKey })).body).toMatchObject({ requests: [] })
    expect((await ofTransaction({ headers }, `0x${'cd'.repeat(32)}`)).body).toMatchObject({ requests: [] })
    expect(codeOf(await ofTransaction({ headers }, '0xab'))).toBe('invalid_request')
    const { model: _model, ...paid } = known
    expect(await market.trpc(undefined).request.payment.query({ id: rid })).toMatchObject({ request_id: rid, ...paid })
    const usage = { request_id: rid, settlement_status: 'settled', settlement_type: 'x402', tx_hash: transaction }
    expect((await market.rest('GET', '/v1/buyer/usage?max_items=1', { headers })).body).toMatchObject({
      items: [usage],
    })
  })

  it('shows why it failed when its transfer can never happen', async () => {
    const payer = await chain.newWallet({ usdc: 1_000_000n })
    const session = await signInForSession(market, payer.account)
    const rid = await claimed(payer)
    await chain.blacklist(payer.address)
    await pay.settle(rid, 5_000n)
    const failed = money('failed', { buyer_cost_micro: 5_000, confirmed_at: null, tx_hash: null })
    expect(await told(rid, session)).toMatchObject(failed)
    await pay.booked(rid)
    expect(await told(rid, session)).toMatchObject({ ...failed, settlement_error: expect.stringMatching(/\w/) })
  })

  it('is a pending sale until it is booked, and then has its transfer in files and statements of both sides', async () => {
    const seller = { key: ada.sellerKey }
    const earned = async () => Earned.parse((await market.rest('GET', '/v1/seller/earnings', seller)).body)
    const before = await earned()
    const rid = await claimed()
    const { transaction } = await pay.settle(rid, 10_000n)
    const pending = await earned()
    expect(pending.recent_sales[0]).toMatchObject({
      id: rid,
      settlement_status: 'pending',
      seller_cost_usdc: '9500',
      tx_hash: transaction,
      model: 'gpt-5-mini',
      input_tokens: 150,
      output_tokens: 50,
      cache_read_tokens: 30,
    })
    for (const name of ['pending_usdc', 'total_earned_usdc'] as const) {
      expect(BigInt(pending[name]) - BigInt(before[name])).toBe(9_500n)
    }
    const position = async () => (await market.rest('GET', '/v1/seller/payouts', seller)).body
    const available = await position()
    await pay.booked(rid)
    const after = await earned()
    expect(after.recent_sales[0]).toMatchObject({ id: rid, settlement_status: 'settled', tx_hash: transaction })
    expect([after.pending_usdc, after.total_earned_usdc]).toEqual([pending.pending_usdc, pending.total_earned_usdc])
    expect(await position()).not.toEqual(available)
    const line = async (side: string, by: object) => {
      const file = await market.rest('GET', `/v1/${side}/usage/export`, by)
      return file.text.split('\r\n').find((text) => text.startsWith(rid)) ?? ''
    }
    expect(await line('buyer', { headers })).toMatch(new RegExp(`,settled,${transaction},.*,x402(?:,0){12},$`))
    const sold = await line('seller', seller)
    expect(sold).toMatch(new RegExp(`,settled,${transaction},x402(?:,0){12},,20000,,500$`))
    expect(sold.toLowerCase()).not.toContain(wallet.address.slice(2).toLowerCase())
    const lines = await market.rest('GET', '/v1/buyer/statements?max_items=2', { headers })
    expect(
      Statement.parse(lines.body).items.map(({ kind, amount_micro, tx_hash }) => [kind, amount_micro, tx_hash]),
    ).toEqual(
      expect.arrayContaining([
        ['payment', 20_000, transaction],
        ['settle', -10_000, transaction],
      ]),
    )
  })

  it('is free when it cost nothing', async () => {
    const rid = await claimed()
    await pay.settle(rid, 0n)
    expect(await told(rid)).toMatchObject(money('failed', { settlement_error: 'upstream_error', buyer_cost_micro: 0 }))
    await pay.booked(rid)
    expect(await told(rid)).toMatchObject(money('failed', { tx_hash: null, buyer_cost_micro: 0 }))
  })

  it('does not exist for another buyer, and only its money is visible without a key to a holder of its id', async () => {
    const rid = await claimed()
    const { transaction } = await pay.settle(rid, 3_000n)
    const stranger = await signInForSession(market, (await chain.newWallet()).account)
    for (const by of [stranger, { authorization: `Bearer ${ada.buyerKey}` }]) {
      expect(await told(rid, by)).toMatchObject({ error: { code: 'not_found' } })
    }
    const list = await market.rest('GET', '/v1/requests', { headers: stranger })
    expect(list.body).toMatchObject({ requests: [] })
    expect(await told(rid, {})).toEqual({
      request_id: rid,
      ...money('accrued', { settlement_error: null, confirmed_at: null }),
      buyer_cost_micro: 3_000,
      tx_hash: transaction,
    })
    for (const id of [market.plane.ids.ulid(), 'x']) {
      expect(await told(id, {})).toMatchObject({ error: { code: 'authentication_required' } })
    }
  })
})
