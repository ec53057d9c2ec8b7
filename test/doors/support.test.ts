import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { insertArrival } from '#control-plane/db/deposits.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { FAR_MOVES } from '#test/support/doors/stored-deposit.ts'
import { storePaidCall } from '#test/support/doors/stored-paid-call.ts'

let market: TestMarket
let ada: Person
let bob: Person
let staff: ReturnType<TestMarket['trpc']>
let rid: string
let operatorKey: string

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  operatorKey = await market.managementKey('operator')
  staff = market.trpc(operatorKey)
  rid = market.plane.ids.ulid()
  await staff.credit.grant.mutate({ wallet: ada.wallet, amountUsd: 1, ticket: 'S-1', note: 'test' })
  const call = { rid, account: ada.buyer.account, sellerAccount: bob.seller.account, model: 'gpt-test', charge: 1_000 }
  await postBatch(market.plane, { events: [eventText(call)], source: 'test' })
})
afterAll(() => market?.stop())

const find = (text: string) => staff.support.find.query({ text })

describe('the reason of a change to money', () => {
  const moves = {
    grantCredit: '(account: $account, amountUsd: "0.1", ticket: "R-1"',
    refundPayment: '(account: $account, amountUsd: "0.1", ticket: "R-2"',
  }

  it.each(Object.entries(moves))(
    '%s: GraphQL refuses an empty reason, and a document without a reason',
    async (name, args) => {
      const ask = (reason: string) =>
        market.rest('POST', '/graphql', {
          headers: { authorization: `Bearer ${operatorKey}` },
          body: {
            query: `mutation ($account: ID!) { ${name}${args}${reason}) { isRepeat } }`,
            variables: { account: ada.buyer.account },
          },
        })
      for (const blank of [', note: ""', ', note: "  "']) {
        const { text } = await ask(blank)
        expect(text).toContain('invalid_request')
        expect(text).toContain('say why')
      }
      expect((await ask('')).text).toContain('note')
    },
  )

  it('is required by tRPC for credit, refunds, reversals and releases, and nothing moves without it', async () => {
    const { account } = ada.buyer
    const balance = async () => (await staff.support.account.query({ account })).balanceMicro
    const before = await balance()
    const lacking = [
      staff.credit.grant.mutate({ account, amountUsd: 1, ticket: 'R-3', note: ' ' }),
      staff.refund.fiat.mutate({ account, amountUsd: 1, ticket: 'R-4', note: '' }),
      staff.ledger.adjust.mutate({ account, direction: 'debit', amountUsd: 1, ticket: 'R-5', reason: ' ' }),
      staff.ledger.reverse.mutate({ key: 'grant:S-1', reason: '' }),
      staff.hold.release.mutate({ rid, reason: '' }),
    ]
    const codes = await Promise.all(lacking.map(trpcCodeOf))
    expect(codes).toEqual(lacking.map(() => 'invalid_request'))
    expect(await balance()).toBe(before)
  })
})

describe('the search of support', () => {
  it('finds an account by a wallet or its beginning, a user and an account of either side', async () => {
    const subject = { kind: 'account', id: ada.buyer.account, account: ada.buyer.account, about: ada.wallet }
    for (const text of [
      ada.wallet,
      ada.wallet.toUpperCase().replace('0X', '0x'),
      ada.buyer.account,
      ada.seller.account,
      ada.buyer.user,
    ]) {
      expect([text, await find(text)]).toEqual([text, [subject]])
    }
    expect(await find(ada.wallet.slice(0, 12))).toContainEqual(subject)
    expect(await find('0x99999999')).toEqual([])
  })

  it('finds a key by its id, its beginning or the whole secret, and answers no secret', async () => {
    const prefix = ada.buyerKey.slice(0, 12)
    for (const text of [ada.buyerKey, prefix]) {
      const [key, ...others] = await find(text)
      expect(others).toEqual([])
      expect(key).toMatchObject({ kind: 'key', account: ada.buyer.account })
      expect(key?.about).toContain(prefix)
      expect(JSON.stringify(key)).not.toContain(ada.buyerKey.slice(0, 13))
      expect(await find(key?.id ?? '')).toEqual([key])
    }
    expect(await find(ada.sellerKey)).toMatchObject([{ kind: 'key', account: ada.seller.account }])
    // An underscore is no wildcard in the search, and a beginning that is too short lists no keys.
    expect(await find('inf_')).toEqual([])
    expect(await find('inf_______')).toEqual([])
  })

  it('finds a call, a running call, a transaction of the chain and a ledger key', async () => {
    expect(await find(rid)).toMatchObject([{ kind: 'call', id: rid, account: ada.buyer.account }])
    expect(await find(`chatcmpl-${rid}`)).toMatchObject([{ kind: 'call', id: rid }])
    const node = await market.world.node('support-node')
    await untilOpen(node)
    const account = await market.world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400 }))
    expect(await find(hold.rid)).toEqual([{ kind: 'hold', id: hold.rid, account, about: '$0.0004 held' }])
    const paid = await storePaidCall(market)
    expect(await find(paid)).toMatchObject([{ kind: 'wallet_payment', id: paid, about: 'claimed' }])
    const id = market.plane.ids.make('dep')
    const transaction = `0x${'cd'.repeat(32)}`
    const sender = ada.wallet
    const arrival = {
      id,
      account: ada.buyer.account,
      method: 'transfer',
      sender,
      amount: 5n,
      transaction,
      block: 1n,
    } as const
    await transact(market.plane.db, (trx) => insertArrival(trx, FAR_MOVES, arrival))
    const deposited = { kind: 'deposit', id, account: ada.buyer.account, about: 'credited' }
    for (const text of [transaction, transaction.toUpperCase().replace('0X', '0x'), id]) {
      expect([text, await find(text)]).toEqual([text, [deposited]])
    }
    expect(await find(`0x${'ce'.repeat(32)}`)).toEqual([])
    expect(await find('grant:S-1')).toMatchObject([{ kind: 'ledger', account: ada.buyer.account, about: 'grant' }])
    expect(await find('grant:S-2')).toEqual([])
    expect(await find(market.plane.ids.ulid())).toEqual([])
  })
})

describe('a customer', () => {
  it("is read with exact balances, no other account's calls and lines, and masked keys", async () => {
    const read = await staff.support.account.query({ account: ada.buyer.account })
    expect(read).toMatchObject({ wallet: ada.wallet, balanceMicro: '999000', earnedMicro: '0', holds: [] })
    expect(read.calls.map(({ rid: id, chargeMicro }) => [id, chargeMicro])).toEqual([[rid, '1000']])
    expect(read.entries.map(({ amountMicro }) => amountMicro).sort()).toEqual(['-1000', '1000000'])
    expect(JSON.stringify(read)).not.toContain(ada.buyerKey.slice(0, 13))
    const seller = await staff.support.account.query({ account: bob.seller.account })
    expect(seller).toMatchObject({ buyerAccount: bob.buyer.account, calls: [], entries: [] })
    expect(BigInt(seller.earnedMicro)).toBeGreaterThan(0n)
    expect(await trpcCodeOf(staff.support.account.query({ account: 'acc_fees' }))).toBe('not_found')
  })

  it("gets the charge of a call back once, from the seller's and the market's parts", async () => {
    const call = await staff.support.request.query({ id: rid })
    expect(call).toMatchObject({ chargeMicro: '1000', isRefunded: false })
    expect(BigInt(call.sellerNetMicro) + BigInt(call.feeMicro)).toBe(1_000n)
    const booked = await staff.ledger.reverse.mutate({ key: rid, reason: 'the answer was cut' })
    const at = (account: string) => booked.lines.find((line) => line.account === account)?.amountMicro
    expect([at(ada.buyer.account), at(bob.seller.account)]).toEqual(['1000', `-${call.sellerNetMicro}`])
    expect((await staff.ledger.reverse.mutate({ key: rid, reason: 'again' })).isRepeat).toBe(true)
    expect((await staff.support.request.query({ id: rid })).isRefunded).toBe(true)
    expect(await staff.support.account.query({ account: ada.buyer.account })).toMatchObject({ balanceMicro: '1000000' })
    const { items } = await staff.auditLog.search.query({ operation: 'ledger.reverse', subject: rid })
    expect(items).toMatchObject([{ after: { reason: 'the answer was cut' }, subjectName: 'gpt-test at sandbox-a' }])
    const [given] = (await staff.auditLog.search.query({ operation: 'credit.grant' })).items
    expect(given).toMatchObject({ subject: ada.buyer.account, subjectName: ada.wallet })
    expect(given?.actorName).toEqual(expect.any(String))
  })
})
