import type { BuyerActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { createBuyerKey, listBuyerKeys } from '#control-plane/services/keys/keys.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { AppError } from '#shared/errors.ts'
import { inPast } from './in-past.ts'

const MAX_KEYS = 100
const CALLS_A_MINUTE = 120
/** Dollars that a key may spend for each past call: more than its calls cost, so that no call breaks a cap. */
const DAILY_A_CALL = 0.006
const MONTHLY_A_CALL = 0.05
const MIN_DAILY_USD = 10
const MIN_MONTHLY_USD = 50

type SampleKey = {
  readonly id: string
  readonly caps: { readonly capDailyUsd?: number; readonly capMonthlyUsd: number }
}

/**
 * Gives the sample buyer two keys, older than the past calls. `buyerKey` is the buyer's first key. The secrets of both
 * are forgotten. A key that exists, also a revoked one, is not created again. Returns the new keys with their caps,
 * which {@link capSampleKeys} sets.
 */
export async function makeSampleKeys(ctx: Ctx, buyerKey: string, calls: number): Promise<SampleKey[]> {
  const actor = await buyerOf(ctx, buyerKey)
  const { keys } = await invoke(ctx, actor, listBuyerKeys, { maxItems: MAX_KEYS })
  const known = new Set(keys.map(({ label }) => label))
  const capDailyUsd = Math.max(MIN_DAILY_USD, Math.ceil(calls * DAILY_A_CALL))
  const capMonthlyUsd = Math.max(MIN_MONTHLY_USD, Math.ceil(calls * MONTHLY_A_CALL))
  const made: SampleKey[] = []
  for (const { caps, ...input } of [
    { label: 'research-agent', rateLimitRpm: CALLS_A_MINUTE, caps: { capMonthlyUsd } },
    { label: 'production-chatbot', caps: { capDailyUsd, capMonthlyUsd } },
  ]) {
    if (known.has(input.label)) continue
    const { id } = await invoke(inPast(ctx), actor, createBuyerKey, input)
    made.push({ id, caps })
  }
  return made
}

/** Sets the caps of new keys. A cap counts what its key has spent before, so the past calls come first. */
export async function capSampleKeys(ctx: Ctx, buyerKey: string, made: readonly SampleKey[]): Promise<void> {
  const actor = await buyerOf(ctx, buyerKey)
  for (const { id, caps } of made) await invoke(ctx, actor, updateBuyerKey, { id, ...caps })
}

async function buyerOf(ctx: Ctx, buyerKey: string): Promise<BuyerActor> {
  const actor = await authenticate(ctx, buyerKey)
  if (actor.kind !== 'buyer') throw new AppError('internal_error', { message: 'the sample buyer has no key' })
  return actor
}
