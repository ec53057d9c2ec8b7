import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CreditHold } from '#data-plane/payment.ts'
import { encodeReserve } from '#shared/contract/money-scripts/reserve.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { moneyScripts } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, figures, ids, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
let node: Node
const BUCKET = 'm00'

beforeAll(async () => {
  world = await startGateWorld()
  node = await world.node('n1')
  await untilOpen(node)
})
afterAll(() => world.stop())

const capture = (hold: CreditHold, used: number) =>
  node.funds.capture(hold, microUsd(used), eventText(hold, used, 'n1'))
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error : undefined),
  )
const epochNow = async () => Number((await world.redis.get(moneyKeys.epoch))?.split(':')[0])

describe('a hold', () => {
  it('seeds the account at the first call, grants, is captured, and is posted', async () => {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 300 }))
    expect(hold.grantedMicro).toBe(300n)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 300, u: 0, free: 700 })
    expect(await node.funds.find(account, hold.rid)).toMatchObject({
      state: 'open',
      amount: 300n,
      node: node.journal.member,
    })

    const event = eventText(hold, 120, 'n1')
    expect(await node.funds.capture(hold, microUsd(120), event)).toBe('accepted')
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 120, free: 880 })
    expect(await node.funds.find(account, hold.rid)).toMatchObject({
      state: 'captured',
      used: 120n,
      event,
      postedAt: null,
    })

    const posted = { account, balanceMicro: microUsd(880), version: 2n, rid: hold.rid, postedAt: 1_700_000_000_000 }
    await world.gate.ack([posted, posted])
    expect(await figures(world.gate, account)).toEqual({ p: 880, h: 0, u: 0, free: 880 })
    expect(await node.funds.find(account, hold.rid)).toMatchObject({
      state: 'posted',
      event,
      postedAt: 1_700_000_000_000,
    })
    expect(await world.redis.pttl(moneyKeys.hold(BUCKET, hold.rid))).toBeGreaterThan(0)
  })

  it('grants the amount that the balance covers, down to the requested least amount', async () => {
    const account = await world.account(500)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 800, min: 200 }))
    expect(hold.grantedMicro).toBe(500n)
    const error = await refusal(node.funds.reserve(reserveRequest(account, { want: 10, min: 1 })))
    expect(error?.code).toBe('insufficient_balance')
    expect(error?.detail).toMatchObject({ limit_source: 'balance', available_usdc: '0', required_usdc: '1' })
  })

  it('is released once, however often the release is sent', async () => {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400 }))
    await node.funds.release(hold, 'upstream_error', '{"outcome":"failed"}')
    await node.funds.release(hold, 'upstream_error', '{"outcome":"failed"}')
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 0, free: 1_000 })
    expect(await node.funds.find(account, hold.rid)).toMatchObject({ state: 'released', event: '{"outcome":"failed"}' })
  })

  it('is refused while too many ends wait for Redis, which gets all of them afterwards', async () => {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400 }))
    const many = Array.from({ length: 50_000 }, () => node.funds.release({ ...hold, rid: ids.requestId() }, '', ''))
    expect([node.funds.isOpen(), node.funds.isGateOpen()]).toEqual([false, true])
    expect((await refusal(node.funds.reserve(reserveRequest(account))))?.code).toBe('service_unavailable')
    await Promise.all(many)
    expect(await node.funds.drain(20_000)).toBe(true)
    expect(node.funds.isOpen()).toBe(true)
    await node.funds.release(hold, '', '')
  })

  it('is charged once, with the first amount', async () => {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400 }))
    expect(await capture(hold, 100)).toBe('accepted')
    expect(await capture(hold, 100)).toBe('accepted')
    expect(await capture(hold, 200)).toBe('contradicted')
    await node.funds.release(hold, 'late', '')
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 100, free: 900 })
  })

  it('is booked late after it was released, expired or lost', async () => {
    const account = await world.account(1_000)
    const released = await node.funds.reserve(reserveRequest(account))
    await node.funds.release(released, 'x', '')
    await capture(released, 30)
    const expired = await node.funds.reserve(reserveRequest(account, { ttlMs: 0 }))
    await until('the hold is past its deadline', 1_000, async () => (await world.gate.expireHolds(10)) === 1)
    expect(await node.funds.find(account, expired.rid)).toMatchObject({ state: 'expired' })
    await capture(expired, 40)
    await capture({ rid: ids.requestId(), account, keyId: null, grantedMicro: microUsd(50) }, 50)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 120, free: 880 })
    expect((await world.gate.unposted(0, 100)).length).toBeGreaterThanOrEqual(3)
  })

  it('of zero, as for a free call, is released, captured and posted like any other', async () => {
    const account = await world.account(1_000)
    const request = { want: 0, min: 0 }
    const released = await node.funds.reserve(reserveRequest(account, request))
    await node.funds.release(released, 'free', '{"status":"free"}')
    expect(await node.funds.find(account, released.rid)).toMatchObject({ state: 'released' })
    const captured = await node.funds.reserve(reserveRequest(account, request))
    expect(await capture(captured, 0)).toBe('accepted')
    await world.gate.ack([{ account, balanceMicro: microUsd(1_000), version: 1n, rid: captured.rid, postedAt: 1 }])
    expect(await node.funds.find(account, captured.rid)).toMatchObject({ state: 'posted', used: 0n })
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 0, free: 1_000 })
  })

  it('is not found by another account', async () => {
    const account = await world.account(1_000)
    const other = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account))
    expect(await node.funds.find(other, hold.rid)).toBeUndefined()
  })

  it('is not made twice under one request id: the second request sees the first hold [F17]', async () => {
    const account = await world.account(1_000)
    const request = reserveRequest(account, { want: 100 })
    await node.funds.reserve(request)
    expect((await refusal(node.funds.reserve(request)))?.code).toBe('internal_error')
    expect(await figures(world.gate, account)).toMatchObject({ h: 100 })
  })

  it('waits for an unknown account, and is then refused with a time to come back', async () => {
    const error = await refusal(node.funds.reserve(reserveRequest(ids.make('acc'))))
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 })
  })
})

describe('acknowledgements', () => {
  it('never let an older balance replace a newer one', async () => {
    const account = await world.account(1_000)
    await world.gate.seed([{ account, balanceMicro: microUsd(700), version: 5n }])
    await world.gate.seed([{ account, balanceMicro: microUsd(1_000), version: 1n }])
    expect(await figures(world.gate, account)).toMatchObject({ p: 700 })
  })

  it('ignore a call that is not captured', async () => {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 100 }))
    await world.gate.ack([{ account, balanceMicro: microUsd(990), version: 2n, rid: hold.rid }])
    expect(await figures(world.gate, account)).toEqual({ p: 990, h: 100, u: 0, free: 890 })
  })
})

describe('caps of a key', () => {
  it('apply by day and by month, count held amounts, and count used amounts in the end', async () => {
    const account = await world.account(10_000)
    const keyId = ids.make('key')
    const caps = { keyId, daily: 500, monthly: 800 }
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400, ...caps }))
    const partly = await node.funds.reserve(reserveRequest(account, { want: 300, min: 50, ...caps }))
    expect(partly.grantedMicro).toBe(100n)
    const error = await refusal(node.funds.reserve(reserveRequest(account, { want: 10, ...caps })))
    expect(error?.code).toBe('key_cap_reached')
    const whose = { limit_scope: 'key', key_id: keyId }
    expect(error?.detail).toMatchObject({
      limit_source: 'key_daily_cap',
      limit_usdc: '500',
      spent_usdc: '500',
      ...whose,
    })
    expect(Number(error?.detail['resets_at']) % 86_400).toBe(0)
    expect(Number(error?.detail['resets_at']) * 1_000).toBeGreaterThan(Date.now())

    await capture(hold, 150)
    await node.funds.release(partly, 'x', '')
    const rest = await node.funds.reserve(reserveRequest(account, { want: 1_000, min: 1, ...caps, daily: 10_000 }))
    expect(rest.grantedMicro).toBe(650n)
    const monthly = await refusal(node.funds.reserve(reserveRequest(account, { ...caps, daily: 10_000 })))
    expect(monthly?.detail).toMatchObject({ limit_source: 'key_monthly_cap', limit_usdc: '800', spent_usdc: '800' })
  })

  it('belong to the day of the reserve: a call that ends after midnight leaves the new day alone', async () => {
    const account = await world.account(10_000)
    const keyId = ids.make('key')
    const hold = await node.funds.reserve(reserveRequest(account, { want: 400, keyId, daily: 1_000 }))
    const counter = moneyKeys.keyUse(BUCKET, keyId)
    await world.redis.hset(counter, { d: '2099-01-01', du: '7', m: '2099-01', mu: '7' })
    await capture(hold, 100)
    expect(await world.redis.hmget(counter, 'du', 'mu')).toEqual(['7', '7'])
  })
})

describe('under load', () => {
  it('hundreds of reserves at once never exceed the balance', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 5_000 }),
        fc.array(
          fc.record({ want: fc.integer({ min: 1, max: 200 }), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
          {
            minLength: 200,
            maxLength: 400,
          },
        ),
        async (balance, inputs) => {
          const account = await world.account(balance)
          const answers = await Promise.allSettled(
            inputs.map(({ want, part }) =>
              node.funds.reserve(reserveRequest(account, { want, min: Math.floor(want * part) })),
            ),
          )
          const granted = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
          const held = granted.reduce((total, hold) => total + Number(hold.grantedMicro), 0)
          expect(held).toBeLessThanOrEqual(balance)
          expect(await figures(world.gate, account)).toEqual({ p: balance, h: held, u: 0, free: balance - held })
          await Promise.all(
            granted.map((hold, index) => (index % 2 ? capture(hold, 0) : node.funds.release(hold, 'x', ''))),
          )
          expect(await figures(world.gate, account)).toEqual({ p: balance, h: 0, u: 0, free: balance })
        },
      ),
      { numRuns: 8 },
    )
  })
})

describe('the scripts', () => {
  const settle = async (operations: readonly SettleOperation[], epoch: number) => {
    const { keys, args } = encodeSettle({ bucket: BUCKET, epoch }, operations)
    return world.redis.evalsha(moneyScripts(epoch).settle.sha, keys.length, ...keys, ...args)
  }
  const reserve = async (account: AccountId, wantMicro: bigint, epoch: number) => {
    const request = reserveRequest(account)
    const operation = {
      ...request,
      wantMicro: microUsd(wantMicro),
      minMicro: microUsd(0),
      node: 'n1',
      dailyCapMicro: null,
      monthlyCapMicro: null,
    }
    const { keys, args } = encodeReserve({ bucket: BUCKET, epoch }, [operation])
    return world.redis.evalsha(moneyScripts(epoch).reserve.sha, keys.length, ...keys, ...args)
  }

  it('answer each operation by itself: a bad one changes nothing and leaves the others alone', async () => {
    const epoch = await epochNow()
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 100 }))
    const common = { account, keyId: null, node: 'n1' } as const
    const text = { event: '{}', capturedAt: null }
    const answers = await settle(
      [
        { kind: 'capture', rid: hold.rid, ...common, usedMicro: microUsd(101), ...text },
        { kind: 'expire', rid: hold.rid, ...common },
        { kind: 'capture', rid: hold.rid, ...common, usedMicro: microUsd(99), ...text },
        { kind: 'release', rid: ids.requestId(), ...common, reason: 'x', event: null },
      ],
      epoch,
    )
    expect(answers).toEqual(['E:over the hold', 'W', 'K', 'K'])
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 99, free: 901 })
  })

  it('keep every digit of the largest amounts', async () => {
    const epoch = await epochNow()
    const most = 99_999_999_999_999n
    const account = await world.account(0)
    await world.gate.seed([{ account, balanceMicro: microUsd(most), version: 9n }])
    expect(await reserve(account, most - 1n, epoch)).toEqual([`G:${most - 1n}`])
    expect(await world.redis.hget(moneyKeys.account(BUCKET, account), 'h')).toBe((most - 1n).toString())
    expect(await reserve(account, most, epoch)).toEqual(['G:1'])
  })

  it('refuse a record of a newer epoch and drop one of an older', async () => {
    const epoch = await epochNow()
    const newer = await world.account(1_000)
    await world.redis.hset(moneyKeys.account(BUCKET, newer), { ep: epoch + 1, p: '1000', h: '0', u: '0', seeded: '1' })
    expect(await reserve(newer, 1n, epoch)).toEqual(['S'])
    const older = await world.account(1_000)
    await world.redis.hset(moneyKeys.account(BUCKET, older), {
      ep: epoch - 1,
      p: '1000',
      h: '900',
      u: '5',
      seeded: '1',
    })
    expect(await reserve(older, 1n, epoch)).toEqual(['U'])
    await world.gate.seed([{ account: older, balanceMicro: microUsd(600), version: 1n }])
    expect(await figures(world.gate, older)).toEqual({ p: 600, h: 0, u: 0, free: 600 })
  })

  it('release money when the server is full, and take none', async () => {
    const account = await world.account(1_000)
    const [first, second] = [
      await node.funds.reserve(reserveRequest(account)),
      await node.funds.reserve(reserveRequest(account)),
    ]
    await world.redis.config('SET', 'maxmemory', '1')
    try {
      expect((await refusal(node.funds.reserve(reserveRequest(account))))?.code).toBe('service_unavailable')
      expect(await capture(first, 60)).toBe('accepted')
      await node.funds.release(second, 'x', '')
      await world.gate.ack([{ account, balanceMicro: microUsd(940), version: 2n, rid: first.rid }])
    } finally {
      await world.redis.config('SET', 'maxmemory', '0')
    }
    expect(await figures(world.gate, account)).toEqual({ p: 940, h: 0, u: 0, free: 940 })
  })
})
