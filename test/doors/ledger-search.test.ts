import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { HOUR } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let ada: Person
let bob: Person
let staff: ReturnType<TestMarket['trpc']>
let rid: string
/** Calls that were admitted an hour before everything else, and booked last, at one instant. */
let late: readonly string[]
const before = Date.now() - 1

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  staff = market.trpc(await market.managementKey('operator'))
  for (const ticket of ['L-1', 'L-2', 'L-3']) {
    await staff.credit.grant.mutate({ wallet: ada.wallet, amountUsd: 1, ticket, note: `for ${ticket}` })
  }
  rid = market.plane.ids.ulid()
  const call = { rid, account: ada.buyer.account, sellerAccount: bob.seller.account, model: 'gpt-test', charge: 1_000 }
  await postBatch(market.plane, { events: [eventText(call)], source: 'test' })
  late = [HOUR + 1, HOUR].map((ago) => createIds({ now: () => Date.now() - ago }).ulid())
  await postBatch(market.plane, { events: late.map((id) => eventText({ ...call, rid: id })), source: 'test' })
})
afterAll(() => market?.stop())

const search = (input: Parameters<typeof staff.ledger.search.query>[0] = {}) => staff.ledger.search.query(input)

describe('the search of the ledger', () => {
  it('finds transactions by account, kind, reference and time, newest first', async () => {
    const { buyer } = ada
    const all = (await search({ account: buyer.account })).items
    expect(all.map(({ kind }) => kind)).toEqual(['settle', 'settle', 'settle', 'grant', 'grant', 'grant'])
    const grants = await search({ kind: 'grant', account: buyer.account })
    expect(grants.items.map(({ key }) => key)).toEqual(['grant:L-3', 'grant:L-2', 'grant:L-1'])
    for (const reference of [rid, `chatcmpl-${rid}`]) {
      expect((await search({ reference })).items.map(({ id, key }) => [id, key])).toEqual([[rid, null]])
    }
    const [byKey] = (await search({ reference: 'grant:L-2' })).items
    expect(byKey).toMatchObject({ kind: 'grant', note: 'for L-2' })
    expect((await search({ reference: byKey?.id })).items).toEqual([byKey])
    expect((await search({ account: buyer.account, to: before })).items).toEqual([])
    expect((await search({ account: buyer.account, from: before })).items).toHaveLength(6)
    expect((await search({ reference: 'grant:nothing' })).items).toEqual([])
  })

  it('shows every entry with its account, and they sum to zero', async () => {
    const [call] = (await search({ reference: rid })).items
    expect(call).toMatchObject({ about: 'gpt-test at sandbox-a', movedMicro: '1000', sumMicro: '0' })
    expect(call?.lines).toEqual([
      { account: ada.buyer.account, accountKind: 'buyer_credit', holder: ada.wallet, amountMicro: '-1000' },
      { account: 'acc_platform_fee', accountKind: 'platform_fee', holder: null, amountMicro: '50' },
      expect.objectContaining({ holder: bob.wallet, amountMicro: '950' }),
    ])
  })

  it('is in the order of booking, and of the id within one instant', async () => {
    const { items } = await search({ account: ada.buyer.account })
    expect(items.slice(0, 3).map(({ id }) => id)).toEqual([late[1], late[0], rid])
    expect(items[0]?.at).toBe(items[1]?.at)
    expect(items.every(({ at }, place) => place === 0 || at <= (items[place - 1]?.at ?? 0))).toBe(true)
    expect((await search({})).items.slice(0, 3).map(({ id }) => id)).toEqual([late[1], late[0], rid])
    const since = items[0]?.at ?? 0
    expect((await search({ account: ada.buyer.account, from: since })).items.map(({ id }) => id)).toContain(late[0])
  })

  it('goes on by pages that miss nothing and show nothing twice', async () => {
    for (const wanted of [{ account: ada.buyer.account }, { kind: 'grant' }, { kind: 'settle' }, {}]) {
      const whole = (await search(wanted)).items.map(({ id }) => id)
      const seen: string[] = []
      let nextToken: string | undefined
      do {
        const page = await search({ ...wanted, limit: 1, nextToken })
        seen.push(...page.items.map(({ id }) => id))
        nextToken = page.nextToken ?? undefined
      } while (nextToken !== undefined)
      expect(seen).toEqual(whole)
    }
    const { nextToken: token } = await search({ account: ada.buyer.account, limit: 1 })
    const foreign = search({ account: bob.buyer.account, limit: 1, nextToken: token ?? '' })
    expect(await trpcCodeOf(foreign)).toBe('invalid_request')
  })

  it('is for operators', async () => {
    expect(await trpcCodeOf(market.trpc(ada.buyerKey).ledger.search.query({}))).toBe('wrong_key_type')
    expect(await trpcCodeOf(market.trpc(bob.sellerKey).ledger.search.query({}))).toBe('wrong_key_type')
  })
})
