import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Person, TestMarket } from '#test/support/control-plane.ts'
import { startMarket, trpcCodeOf } from '#test/support/control-plane.ts'

let market: TestMarket
let buyer: Person
let operatorKey: string

beforeAll(async () => {
  market = await startMarket()
  buyer = await market.person()
  operatorKey = await market.managementKey('operator')
})
afterAll(() => market.stop())

describe('operators at the tRPC door', () => {
  it('record a deposit, refund and adjust it, and read what was booked', async () => {
    const door = market.trpc(operatorKey)
    const { wallet } = buyer
    const deposit = await door.deposit.recordFiat.mutate({ wallet, amountUsd: '10', eventId: 'evt_1' })
    expect(deposit).toMatchObject({ key: 'deposit:fiat:evt_1', isRepeat: false })
    await door.refund.fiat.mutate({ wallet, amountUsd: 4, ticket: 'T-1' })
    const adjusted = { wallet, direction: 'debit', amountUsd: 1, ticket: 'T-2', reason: 'a mistake' } as const
    await door.ledger.adjust.mutate(adjusted)
    await door.ledger.reverse.mutate({ key: 'adjust:T-2', reason: 'it was none' })
    expect(await door.ledger.read.query({ key: 'refund:fiat:T-1' })).toMatchObject({ kind: 'refund' })
    expect(await market.trpc(buyer.buyerKey).credit.balance.query()).toMatchObject({ creditBalanceUsdc: '6000000' })
    expect(await trpcCodeOf(door.refund.fiat.mutate({ wallet, amountUsd: 7, ticket: 'T-3' }))).toBe(
      'insufficient_balance',
    )
  })

  it('read and run the checks, and see nothing that waits', async () => {
    const door = market.trpc(operatorKey)
    expect((await door.invariants.run.mutate()).breaches).toEqual([])
    expect((await door.invariants.read.query()).runs).toHaveLength(1)
    expect(await door.poison.list.query({})).toEqual([])
    expect(await door.conflict.list.query({})).toEqual([])
    expect(await door.shortfall.read.query()).toEqual({ owedMicro: '0', lines: [] })
  })

  it('are the only ones who may', async () => {
    const org = await market.managementKey('org')
    const calls = (key: string | undefined) => {
      const door = market.trpc(key)
      const hash = { payloadHash: '0'.repeat(64), reason: 'x' }
      return [
        door.deposit.recordFiat.mutate({ wallet: buyer.wallet, amountUsd: 1, eventId: 'evt_2' }),
        door.refund.fiat.mutate({ wallet: buyer.wallet, amountUsd: 1, ticket: 'T-9' }),
        door.ledger.reverse.mutate({ key: 'deposit:fiat:evt_1', reason: 'x' }),
        door.poison.list.query({}),
        door.poison.discard.mutate(hash),
        door.conflict.list.query({}),
        door.shortfall.read.query(),
        door.invariants.read.query(),
        door.payoutHold.clear.mutate({ id: '0'.repeat(26), reason: 'x' }),
      ].map(trpcCodeOf)
    }
    expect(new Set(await Promise.all(calls(undefined)))).toEqual(new Set(['authentication_required']))
    expect(new Set(await Promise.all(calls(buyer.buyerKey)))).toEqual(new Set(['wrong_key_type']))
    expect(new Set(await Promise.all(calls(org)))).toEqual(new Set(['forbidden']))
  })
})
