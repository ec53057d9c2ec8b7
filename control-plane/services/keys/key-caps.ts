import { z } from 'zod'
import type { KeyRow } from '#control-plane/db/keys.ts'
import { listLivingKeys } from '#control-plane/db/keys.ts'
import { keyOwnerOf } from '#control-plane/operation/actor.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { KeyCounter } from '#control-plane/ports/key-counters/key-counters.ts'
import { hasRefused } from '#control-plane/ports/key-counters/key-counters.ts'
import { readCredit } from '#control-plane/services/ledger/credit.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, nextUtcDay, nextUtcMonth, utcMonth } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatMicroUsd, parseMicroUsd, subtractToZero } from '#shared/money.ts'
import { hasCap, termsOf } from './key-terms.ts'

/** A cap in the present UTC day or month. Amounts are micro-USD as plain digits, instants Unix milliseconds. */
export const CapViewSchema = z
  .object({
    capUsdc: MicroDigits,
    usedUsdc: MicroDigits.describe('The amount that calls have used and that running calls hold, in micro-USD.'),
    leftUsdc: MicroDigits,
    /** True once the cap has refused a call in this period because too little was left for it. */
    isRefusing: z.boolean(),
    resetsAt: UnixMs,
    /** Null when the cap lasts through the period at the present rate of spending. */
    runsOutAt: UnixMs.nullable().describe('The time at which the cap is used up, at the pace of this period so far.'),
  })
  .meta({ id: 'Cap', description: 'A limit of spending in one period, with the used and the remaining amount.' })
export type CapView = z.infer<typeof CapViewSchema>
/** The caps of one key, and the bound with the least left, of the caps and the balance. Spending ends there first. */
export const KeyCapsSchema = z.object({
  keyId: z.string(),
  label: z.string(),
  daily: CapViewSchema.nullable(),
  monthly: CapViewSchema.nullable(),
  binds: z.enum(['daily', 'monthly', 'balance']),
  rateLimitRpm: z.int().nullable().describe('Calls a minute. Null where the limit of all keys counts.'),
})
export type KeyCaps = z.infer<typeof KeyCapsSchema>
export const CapsSchema = z
  .object({
    creditBalanceUsdc: MicroDigits,
    heldUsdc: MicroDigits,
    /** The keys that may spend at present, newest first. */
    keys: z.array(KeyCapsSchema).readonly(),
  })
  .meta({ id: 'Caps', description: 'The balance of an account, and the limits of spending of its keys.' })
export type Caps = z.infer<typeof CapsSchema>

/** Lists the bounds of the caller's spending: the balance, and the caps of each key. Throws `service_unavailable`. */
export const listCaps = defineOperation({
  name: 'cap.list',
  summary: 'Get the limits on spending',
  about: 'The balance and the caps of every active key, and the limit that you reach first.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: CapsSchema,
  run: async (ctx, actor): Promise<Caps> => {
    const now = ctx.clock.now()
    const [credit, keys] = await Promise.all([
      readCredit(ctx, actor.account),
      listLivingKeys(ctx.db, keyOwnerOf(actor), now),
    ])
    const capped = keys.filter((key) => hasCap(termsOf(key)))
    const counted = capped.map(({ id }) => ({ keyId: id, account: actor.account }))
    const counters = counted.length === 0 ? [] : await ctx.keyCounters.read(counted, now)
    const byKey = new Map(capped.map(({ id }, at) => [id, counters[at]]))
    const balance = parseMicroUsd(credit.creditBalanceUsdc)
    return { ...credit, keys: keys.map((key) => capsOf(key, byKey.get(key.id), { balance, now })) }
  },
})

const NOTHING: KeyCounter = {
  dayMicro: parseMicroUsd('0'),
  monthMicro: parseMicroUsd('0'),
  dayRefusal: null,
  monthRefusal: null,
}

type Now = { readonly balance: MicroUsd; readonly now: number }

function capsOf(key: KeyRow, counter: KeyCounter = NOTHING, { balance, now }: Now): KeyCaps {
  const { capDailyMicro, capMonthlyMicro, ratePerMinute } = termsOf(key)
  const [dayEnds, monthBegan] = [nextUtcDay(now), Date.parse(`${utcMonth(now)}-01T00:00:00Z`)]
  const day = { used: counter.dayMicro, refusal: counter.dayRefusal, began: dayEnds - DAY, resetsAt: dayEnds }
  const month = {
    used: counter.monthMicro,
    refusal: counter.monthRefusal,
    began: monthBegan,
    resetsAt: nextUtcMonth(now),
  }
  const left = [
    { binds: 'balance' as const, left: balance },
    ...(capDailyMicro === null ? [] : [{ binds: 'daily' as const, left: subtractToZero(capDailyMicro, day.used) }]),
    ...(capMonthlyMicro === null
      ? []
      : [{ binds: 'monthly' as const, left: subtractToZero(capMonthlyMicro, month.used) }]),
  ]
  return {
    keyId: key.id,
    label: key.label,
    daily: capDailyMicro === null ? null : viewCap(capDailyMicro, day, now),
    monthly: capMonthlyMicro === null ? null : viewCap(capMonthlyMicro, month, now),
    binds: left.reduce((least, other) => (other.left < least.left ? other : least)).binds,
    rateLimitRpm: ratePerMinute,
  }
}

type Period = {
  readonly used: MicroUsd
  readonly refusal: MicroUsd | null
  readonly began: number
  readonly resetsAt: number
}

function viewCap(cap: MicroUsd, { used, refusal, began, resetsAt }: Period, now: number): CapView {
  const left = subtractToZero(cap, used)
  return {
    capUsdc: formatMicroUsd(cap),
    usedUsdc: formatMicroUsd(used),
    leftUsdc: formatMicroUsd(left),
    isRefusing: hasRefused(cap, refusal),
    resetsAt,
    runsOutAt: runsOutAt({ used, left, elapsedMs: now - began, now, resetsAt }),
  }
}

type Pace = {
  readonly used: bigint
  readonly left: bigint
  readonly elapsedMs: number
  readonly now: number
  readonly resetsAt: number
}

function runsOutAt({ used, left, elapsedMs, now, resetsAt }: Pace): number | null {
  if (used === 0n) return null
  const at = now + Number((left * BigInt(elapsedMs)) / used)
  return at < resetsAt ? at : null
}
