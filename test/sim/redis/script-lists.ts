import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { DAY, utcDay } from '#shared/clock.ts'
import { encodeAck } from '#shared/contract/money-scripts/ack.ts'
import type { ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import { encodeRegister } from '#shared/contract/money-scripts/register.ts'
import { encodeReserve } from '#shared/contract/money-scripts/reserve.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import {
  encodeCapCount,
  encodeCapSettle,
  encodeCapTake,
  encodeMarkUse,
  encodeSeedUse,
} from '#shared/contract/money-scripts/uses.ts'
import { ACCOUNT_FIELDS, moneyScripts, readHold } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId, RequestId } from '#shared/ids.ts'
import { parseRequestId, ulidFloor } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { Keyspace } from './memory-keyspace.ts'
import { createMemoryRedis } from './memory-redis.ts'
import type { ScriptName, ScriptSemantics } from './memory-scripts.ts'

/** A run of a script, or an event in the life of the server. */
type Step =
  | { readonly script: ScriptName; readonly epoch: number; readonly batch: ScriptBatch }
  | { readonly fill: number }

const BUCKET = 'm00'
const ACCOUNTS: readonly AccountId[] = ['acc_a', 'acc_b']
const KEYS: readonly KeyId[] = ['key_a', 'key_b']
const OFFERS = ['ofr_a', 'ofr_b']
const BUDGETS = ['bdg_a', 'bdg_b']
const TODAY = Date.parse(utcDay(Date.now()))
/** Call ids of now, of the day and the month before, and of clocks that are wrong by years. */
const RIDS: readonly RequestId[] = [TODAY, TODAY - 1, TODAY - 31 * DAY, 0, Date.parse('2099-01-01')].map(ridOf)
const DAYS = ['2020-01-01', utcDay(TODAY), '2099-01-01']

function ridOf(at: number): RequestId {
  const rid = parseRequestId(ulidFloor(at))
  if (rid === undefined) throw new Error('not a request id')
  return rid
}

const amount = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0, 99_999_999_999_999)).map(microUsd)
const cap = fc.option(fc.integer({ min: 0, max: 120 }).map(microUsd), { nil: null })
const epoch = fc.constantFrom(1, 1, 1, 2)
/** The budgets of a call, by id. Absent in most calls, as in the product. */
const budgets = fc.oneof(
  fc.constant({}),
  fc.subarray(BUDGETS, { minLength: 1 }).map((ids) => ({ budgets: ids })),
)
const keyId = fc.option(fc.constantFrom(...KEYS), { nil: null })
const subject = fc.record({
  rid: fc.constantFrom(...RIDS),
  account: fc.constantFrom(...ACCOUNTS),
  keyId,
  node: fc.constant('n1'),
})
/** Lifetimes in milliseconds: the first is over at once, the second never ends during a list. */
const ttlMs = fc.constantFrom(0, 600_000)

const reserve = fc
  .record({
    subject,
    wantMicro: amount,
    least: amount,
    ttlMs,
    dailyCapMicro: cap,
    monthlyCapMicro: cap,
    limits: fc.array(cap, { maxLength: 2 }),
  })
  .map(({ subject, least, limits, ...rest }) => {
    const of = limits.flatMap((limitMicro, at) => (limitMicro === null ? [] : [{ id: BUDGETS[at] ?? '', limitMicro }]))
    return { ...subject, ...rest, minMicro: least, ...(of.length > 0 && { budgets: of }) }
  })
const settle: fc.Arbitrary<SettleOperation> = fc.oneof(
  fc
    .record({ subject, budgets, usedMicro: amount, capturedAt: fc.constantFrom(null, 1_700_000_000_000) })
    .map(({ subject, budgets, ...rest }) => ({
      kind: 'capture' as const,
      ...subject,
      ...rest,
      ...budgets,
      event: `{"e":${rest.usedMicro}}`,
    })),
  subject.map((of) => ({ kind: 'release' as const, ...of, reason: 'why', event: null })),
  subject.map((of) => ({ kind: 'expire' as const, ...of })),
)
const register = fc
  .record({ subject, budgets, grantedMicro: amount, ttlMs })
  .map(({ subject, budgets, ...rest }) => ({ ...subject, ...rest, ...budgets }))
const ack = fc
  .record({
    account: fc.constantFrom(...ACCOUNTS),
    balanceMicro: amount,
    version: fc.integer({ min: 0, max: 6 }).map(BigInt),
    rid: fc.option(fc.constantFrom(...RIDS), { nil: null }),
    postedAt: fc.constantFrom(null, 1_700_000_000_001, 9_700_000_000_001),
    keyId: fc.constantFrom(null, ...KEYS),
    budgets,
  })
  .map(({ budgets, ...rest }) => ({ ...rest, ...budgets }))
const seedUse = fc.record({
  counter: fc.constantFrom(
    ...KEYS.map((key) => moneyKeys.keyUse(BUCKET, key)),
    ...OFFERS.map(moneyKeys.offerCap),
    ...BUDGETS.map(moneyKeys.budget),
  ),
  postedBefore: fc.constantFrom(1_700_000_000_000, 1_700_000_000_002),
  day: fc.constantFrom(...DAYS),
  dayMicro: amount,
  month: fc.constantFrom(...DAYS).map((day) => day.slice(0, 7)),
  monthMicro: amount,
})
const attempt = fc.constantFrom('r.0', 'r.1', 'r.2')
/** A take ends in the millisecond after its deadline, so a take that ends at once needs a deadline in the past. */
const takeTtlMs = fc.constantFrom(-1, 600_000)
const take = fc.record({
  offer: fc.constantFrom(...OFFERS),
  attempt,
  amountMicro: amount,
  ttlMs: takeTtlMs,
  capMicro: cap,
  takenAt: fc.constantFrom(TODAY - 1, TODAY, Date.parse('2099-01-01')),
})
const settleTake = fc.record({ offer: fc.constantFrom(...OFFERS), attempt, usedMicro: amount })

const capUse = fc.record({
  rid: fc.constant('r'),
  offer: fc.constantFrom(...OFFERS),
  attempt,
  chargeMicro: amount,
  takenAt: fc.constantFrom(...DAYS).map((day) => Date.parse(day)),
})

const MARKED = [...KEYS.map((key) => moneyKeys.keyUse(BUCKET, key)), ...BUDGETS.map(moneyKeys.budget)]

/** A batch of one to three operations of a kind. */
function step<Operation>(
  script: ScriptName,
  operation: fc.Arbitrary<Operation>,
  encode: (operations: readonly Operation[], epoch: number) => ScriptBatch,
): fc.Arbitrary<Step> {
  return fc
    .record({ operations: fc.array(operation, { minLength: 1, maxLength: 3 }), epoch })
    .map(({ operations, epoch }) => ({ script, epoch, batch: encode(operations, epoch) }))
}

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: step('reserve', reserve, (all, of) => encodeReserve({ bucket: BUCKET, epoch: of }, all)), weight: 6 },
  { arbitrary: step('settle', settle, (all, of) => encodeSettle({ bucket: BUCKET, epoch: of }, all)), weight: 7 },
  { arbitrary: step('register', register, (all, of) => encodeRegister({ bucket: BUCKET, epoch: of }, all)), weight: 2 },
  { arbitrary: step('ack', ack, (all, of) => encodeAck({ bucket: BUCKET, epoch: of }, all)), weight: 5 },
  {
    arbitrary: fc.record({ seed: seedUse, epoch }).map(({ seed, epoch }) => one('seedUse', epoch, encodeSeedUse(seed))),
    weight: 1,
  },
  {
    arbitrary: fc
      .record({ key: fc.constantFrom(...MARKED), epoch })
      .map(({ key, epoch }) => one('seedUse', epoch, encodeMarkUse(key, 1_700_000_000_000))),
    weight: 1,
  },
  {
    arbitrary: fc.record({ take, epoch }).map(({ take, epoch }) => one('capTake', epoch, encodeCapTake(take))),
    weight: 2,
  },
  {
    arbitrary: fc
      .record({ of: settleTake, epoch })
      .map(({ of, epoch }) => one('capSettle', epoch, encodeCapSettle(of.offer, of.attempt, of.usedMicro))),
    weight: 2,
  },
  {
    arbitrary: fc
      .record({ of: capUse, isLate: fc.boolean(), epoch })
      .map(({ of, isLate, epoch }) => one('capCount', epoch, encodeCapCount(of, isLate))),
    weight: 2,
  },
  { arbitrary: epoch.map((fill): Step => ({ fill })), weight: 1 },
)

function one(script: ScriptName, of: number, batch: ScriptBatch): Step {
  return { script, epoch: of, batch }
}

/** Lists of steps that begin on a gate with two seeded accounts. */
export const stepLists: fc.Arbitrary<readonly Step[]> = fc
  .array(anyStep, { minLength: 1, maxLength: 30 })
  .map((steps) => [
    { fill: 1 },
    one(
      'ack',
      1,
      encodeAck(
        { bucket: BUCKET, epoch: 1 },
        ACCOUNTS.map((account) => seeded(account)),
      ),
    ),
    ...steps,
  ])

function seeded(account: AccountId) {
  return { account, balanceMicro: microUsd(200), version: 1n, rid: null, postedAt: null }
}

/** The whole stored state of the scripts, without times. Two servers in the same state give the same text. */
type Picture = Readonly<Record<string, unknown>>

/**
 * Runs a list on a real server and in memory. Throws when their answers or states differ. The real server is emptied
 * first.
 */
export async function compareList(redis: Redis, semantics: ScriptSemantics, steps: readonly Step[]): Promise<void> {
  await redis.flushdb()
  const memory = createMemoryRedis(() => Date.now(), semantics)
  for (const of of [1, 2]) {
    for (const { text } of Object.values(moneyScripts(of))) {
      await redis.script('LOAD', text)
      memory.call({ watched: undefined }, { name: 'script', args: ['LOAD', text] })
    }
  }
  for (const [index, step] of steps.entries()) {
    const real = await runReal(redis, step)
    const inMemory = runInMemory(memory, step)
    const told = (answers: unknown) => JSON.stringify(answers).replace(/:\d{13}"/g, ':now"')
    if (told(real) !== told(inMemory)) {
      throw new Error(`step ${index} ${describe(step)}: Redis answers ${told(real)}, memory ${told(inMemory)}`)
    }
    const [pictured, imagined] = [JSON.stringify(await pictureReal(redis)), JSON.stringify(pictureMemory(memory.data))]
    if (pictured !== imagined) throw new Error(`after step ${index} ${describe(step)}:\n${pictured}\n${imagined}`)
  }
}

function describe(step: Step): string {
  return 'fill' in step ? `fill ${step.fill}` : `${step.script} ${step.epoch} ${JSON.stringify(step.batch.args)}`
}

async function runReal(redis: Redis, step: Step): Promise<unknown> {
  if ('fill' in step) return redis.set(moneyKeys.filled(BUCKET), step.fill)
  const { keys, args } = step.batch
  return redis.evalsha(moneyScripts(step.epoch)[step.script].sha, keys.length, ...keys, ...args)
}

function runInMemory(memory: ReturnType<typeof createMemoryRedis>, step: Step): unknown {
  const session = { watched: undefined }
  if ('fill' in step) return memory.call(session, { name: 'set', args: [moneyKeys.filled(BUCKET), step.fill] })
  const { keys, args } = step.batch
  const sha = moneyScripts(step.epoch)[step.script].sha
  return memory.call(session, { name: 'evalsha', args: [sha, keys.length, ...keys, ...args] })
}

const ACCOUNT_KEYS = ACCOUNTS.map((account) => moneyKeys.account(BUCKET, account))
const HOLD_KEYS = RIDS.map((rid) => moneyKeys.hold(BUCKET, rid))
const COUNTER_KEYS = [...MARKED, ...OFFERS.map(moneyKeys.offerCap)]
const SET_KEYS = [1, 2].flatMap((of) => [moneyKeys.expiring(BUCKET, of), moneyKeys.unposted(BUCKET, of)])

async function pictureReal(redis: Redis): Promise<Picture> {
  const [accounts, holds, counters, sets] = await Promise.all([
    Promise.all(ACCOUNT_KEYS.map((key) => redis.hmget(key, ...ACCOUNT_FIELDS))),
    Promise.all(HOLD_KEYS.map((key) => redis.hgetall(key))),
    Promise.all(COUNTER_KEYS.map((key) => redis.hgetall(key))),
    Promise.all(SET_KEYS.map((key) => redis.zrange(key, 0, -1))),
  ])
  return picture({ accounts, holds, counters, sets })
}

function pictureMemory(data: Keyspace): Picture {
  return picture({
    accounts: ACCOUNT_KEYS.map((key) => ACCOUNT_FIELDS.map((name) => data.field(key, name) ?? null)),
    holds: HOLD_KEYS.map((key) => Object.fromEntries(data.fields(key))),
    counters: COUNTER_KEYS.map((key) => Object.fromEntries(data.fields(key))),
    sets: SET_KEYS.map((key) => [...data.scores(key).keys()]),
  })
}

type Raw = {
  readonly accounts: readonly (readonly (string | null)[])[]
  readonly holds: readonly Readonly<Record<string, string>>[]
  readonly counters: readonly Readonly<Record<string, string>>[]
  readonly sets: readonly (readonly string[])[]
}

function picture({ accounts, holds, counters, sets }: Raw): Picture {
  const plain = (value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)
  return {
    accounts,
    holds: holds.map((hash) => {
      const hold = readHold(hash)
      const shown = hold && { ...hold, openedAt: 0, expiresAt: 0, counted: hash['bg'] }
      return JSON.stringify(shown, (_, value) => plain(value))
    }),
    counters: counters.map((hash) =>
      Object.entries(hash)
        .map(([name, text]) => `${name}=${text.replace(/\b\d{13}\b/g, 'now')}`)
        .sort()
        .join(' '),
    ),
    sets: sets.map((members) => [...members].sort((left, right) => (left < right ? -1 : 1))),
  }
}
