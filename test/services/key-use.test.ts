import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { seedKeyUse } from '#control-plane/services/keys/key-use.ts'
import { DAY, systemClock } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, ids, log, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import { until } from '#test/support/run/until.ts'

const CAP = 5_000
const NO_TERMS = {
  scope: null,
  min_discount_pct: null,
  allows_untrusted: null,
  cap_monthly_micro: null,
  rate_per_minute: null,
  models_allowed: null,
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
}
let world: GateWorld
let node: Node
let seller: AccountId

beforeAll(async () => {
  world = await startGateWorld()
  node = await world.node('n1')
  await untilOpen(node)
  seller = await newAccount(world.db, 'seller_available')
})
afterAll(() => world.stop())

const used = (keyId: KeyId) => world.redis.hget(moneyKeys.keyUse('m00', keyId), 'du')
const ctx = () => ({ ...world, clock: systemClock, ids, log })
const post = (...events: string[]) => postBatch(ctx(), { events, source: 'test' })
/** Books without an acknowledgement to the gate, like a worker that dies in between. */
const postSilently = (...events: string[]) =>
  postBatch({ ...ctx(), gate: { ...world.gate, ack: async () => new Set() } }, { events, source: 'test' })

/** A call of the key that is captured and not posted. `daily` is the cap in the data plane's copy of the key. */
async function call(account: AccountId, keyId: KeyId, amount: number, daily?: number): Promise<string> {
  const input = { want: amount + 500, keyId, ...(daily === undefined ? {} : { daily }) }
  const hold = await node.funds.reserve(reserveRequest(account, input))
  const event = JSON.stringify({ ...JSON.parse(eventText(hold, amount, 'n1')), sellerAccount: seller })
  node.journal.capture(hold, event)
  await node.funds.capture(hold, microUsd(amount), event)
  return event
}

/** Stores a buyer's key, with or without a cap. */
async function newKey(account: AccountId, capDailyMicro: number | null): Promise<KeyId> {
  const keyId = ids.make('key')
  const user = ids.make('usr')
  const digits = createHash('sha256').update(keyId).digest('hex')
  const created_at = new Date()
  const seller_account = await newAccount(world.db, 'seller_available')
  await world.db
    .insertInto('app_user')
    .values({ id: user, wallet: `0x${digits.slice(0, 40)}`, buyer_account: account, seller_account, created_at })
    .execute()
  const row = { id: keyId, user_id: user, type: 'buyer' as const, hash: digits, key_prefix: 'x', label: 'test' }
  await world.db
    .insertInto('api_key')
    .values({ ...row, ...NO_TERMS, cap_daily_micro: capDailyMicro === null ? null : BigInt(capDailyMicro), created_at })
    .execute()
  return keyId
}

async function refusalOf(account: AccountId, keyId: KeyId, want: number): Promise<AppError | undefined> {
  return node.funds.reserve(reserveRequest(account, { want, keyId, daily: CAP })).then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error : undefined),
  )
}

async function rebuild(): Promise<void> {
  const before = Number((await world.redis.get(moneyKeys.epoch))?.split(':')[0])
  await world.redis.flushall()
  await until('a newer epoch is open', 12_000, async () => {
    const [epoch, phase] = ((await world.redis.get(moneyKeys.epoch)) ?? '0:').split(':')
    return Number(epoch) > before && phase === 'open'
  })
  await untilOpen(node)
}

describe("the counted use of a key's caps", () => {
  it('counts a call once when the call was posted before a rebuild and brought in after it', async () => {
    const account = await world.account(100_000)
    const keyId = await newKey(account, CAP)
    const silent = await call(account, keyId, 100, CAP)
    const acked = await call(account, keyId, 20, CAP)
    const waiting = await call(account, keyId, 3, CAP)
    await postSilently(silent)
    await post(acked)
    expect(await used(keyId)).toBe('123')

    await rebuild()
    await post(silent, acked)
    expect(await used(keyId)).toBe('123')
    const late = await call(account, keyId, 4, CAP)
    await post(waiting, late)
    await post(waiting, late)
    expect(await used(keyId)).toBe('127')
    const refused = await refusalOf(account, keyId, CAP)
    expect(refused?.detail).toMatchObject({ limit_source: 'key_daily_cap', spent_usdc: '127', limit_usdc: String(CAP) })
  })

  it('contains no call of the day before that runs through a rebuild or is brought late', async () => {
    const account = await world.account(100_000)
    const keyId = await newKey(account, CAP)
    const yesterday = createIds({ now: () => Date.now() - DAY })
    const [running, ended] = await Promise.all(
      [700, 900].map((want) =>
        node.funds.reserve(reserveRequest(account, { want, keyId, daily: CAP, rid: yesterday.requestId() })),
      ),
    )
    if (running === undefined || ended === undefined) throw new Error('both calls have a hold')
    await rebuild()
    expect(await used(keyId)).toBe('0')
    await call(account, keyId, 50, CAP)
    await node.funds.release(ended, 'x', '')
    await node.funds.capture(ended, microUsd(800), eventText(ended, 800, 'n1'))
    await node.funds.capture(running, microUsd(600), eventText(running, 600, 'n1'))
    expect(await used(keyId)).toBe('50')
    expect((await refusalOf(account, keyId, CAP))?.detail).toMatchObject({ spent_usdc: '50' })
  })

  it('begins from the ledger when the key gets its first cap, also during its calls', async () => {
    const account = await world.account(100_000)
    const keyId = await newKey(account, null)
    const before = await call(account, keyId, 1_000)
    const silent = await call(account, keyId, 200)
    await post(before)
    await postSilently(silent)
    await rebuild()
    const posted = await call(account, keyId, 30)
    await post(posted)
    const running = call(account, keyId, 4)

    await seedKeyUse({ ...ctx(), db: world.db }, { keyId, account })
    await seedKeyUse({ ...ctx(), db: world.db }, { keyId, account })
    await post(before, silent, await running)
    expect(await used(keyId)).toBe('1234')
    await post(await call(account, keyId, 5, CAP))
    expect(await used(keyId)).toBe('1239')
    expect((await refusalOf(account, keyId, CAP))?.detail).toMatchObject({ spent_usdc: '1239' })
  })

  it('is exact when postings and the seeding overlap', async () => {
    const account = await world.account(1_000_000)
    const keyId = await newKey(account, null)
    const events = await Promise.all(Array.from({ length: 60 }, () => call(account, keyId, 7)))
    const postings = events.map(async (event, index) => {
      await until('its turn', 1_000, () => index >= 0)
      await post(event)
    })
    await Promise.all([...postings, seedKeyUse({ ...ctx(), db: world.db }, { keyId, account })])
    expect(await used(keyId)).toBe('420')
  })
})
