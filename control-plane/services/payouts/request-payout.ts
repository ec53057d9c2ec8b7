import { z } from 'zod'
import { lockAccounts } from '#control-plane/db/accounts.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { findTransfer, listOpenPayouts } from '#control-plane/db/treasury-transfers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import { askForLeave, requireLeave } from '#control-plane/services/gate/may-leave.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { higherBigint } from '#shared/bigints.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { formatDollars, microUsd, subtractToZero } from '#shared/money.ts'
import { takeStep } from './end-transfer.ts'
import { findPayoutStop } from './payout-stops.ts'
import {
  PAYOUT_STATUSES,
  PayoutAuthorizationSchema,
  PayoutViewSchema,
  viewAuthorization,
  viewPayout,
} from './payout-views.ts'
import { findGroupHold, planSeller } from './plan-payouts.ts'
import { readGroups } from './read-groups.ts'
import type { Ground } from './sign-transfers.ts'
import { readGround, reviewTransfers, signTransfer } from './sign-transfers.ts'
import type { TreasuryCtx } from './treasury-ctx.ts'
import { withTreasury } from './treasury-ctx.ts'

/** Most payouts of one answer. */
const MAX_SHOWN = 100

/** The outcome of a request. Members that name one payout are those of the largest. */
export const PayoutAnswerSchema = z
  .object({
    payoutId: z.string().nullable(),
    status: z.enum(PAYOUT_STATUSES),
    /** The reason why the money is withheld, as a code. */
    reason: z.string().nullable(),
    payouts: z.array(PayoutViewSchema).readonly(),
    authorization: PayoutAuthorizationSchema.optional(),
  })
  .meta({ id: 'PayoutAnswer', description: 'The result of a request for a payout.' })
export type PayoutAnswer = z.infer<typeof PayoutAnswerSchema>

/**
 * Pays out the caller's available balance, or the part of one recipient. The treasury sends it with the next batch;
 * with `selfSubmit` the caller gets a signed authorization, which the recipient submits to the chain. Money in a payout
 * is not available, so a repeat returns the payout under way. Throws `conflict` when no recipient has the least amount
 * of a payout.
 */
export const requestPayout = defineOperation({
  name: 'payout.request',
  summary: 'Request a payout',
  about:
    'Pays out the available balance: with the next batch, or, if you ask, as a signed authorization that the recipient sends to the chain. A withheld balance gets the status held and a reason.',
  example: {},
  access: 'seller',
  input: z.strictObject({ selfSubmit: z.boolean().default(false), recipient: Wallet.optional() }),
  limit: 'write',
  idempotency: 'accepted',
  output: PayoutAnswerSchema,
  run: async (ctx, actor, { selfSubmit, recipient }): Promise<PayoutAnswer> => {
    const seller = actor.account
    const stop = await findPayoutStop(ctx)
    const paying = withTreasury(ctx)
    if (stop !== undefined || paying === undefined) return withheld(stop ?? 'not_set_up')
    if (selfSubmit) return authorize(paying, seller, recipient)
    if ((await askForLeave(ctx)) === undefined) return withheld('ledger_check')
    const planned = await ctx.change(
      (trx) => planSeller(ctx, trx, seller, { ...limitsOf(ctx), recipient }),
      (made) =>
        made.length === 0 ? undefined : { subject: seller, before: null, after: { payouts: made.map(viewPayout) } },
    )
    if (planned.length > 0) return answerOf(planned)
    const open = await listOpenPayouts(ctx.db, seller, recipient, MAX_SHOWN)
    return open.length > 0 ? answerOf(open) : refuse(paying, seller, recipient, limitsOf(ctx))
  },
})

type AskCtx = TreasuryCtx & Pick<RunCtx, 'change'>

const limitsOf = ({ settings }: Pick<RunCtx, 'settings'>) =>
  ({ mode: 'batched', leastMicro: settings.payouts.thresholdMicro }) as const

function answerOf(payouts: readonly TreasuryTransfer[]): PayoutAnswer {
  const views = [...payouts].sort((a, b) => Number(b.amount - a.amount)).map(viewPayout)
  const [first] = views
  if (first === undefined) throw new Error('an answer without a payout')
  return { payoutId: first.payoutId, status: first.status, reason: first.reason, payouts: views }
}

function withheld(reason: string): PayoutAnswer {
  return { payoutId: null, status: 'held', reason, payouts: [] }
}

/** A seller who submits pays for the gas. */
const ANY_AMOUNT = { leastMicro: 1n } as const

/** Tells why there is nothing to pay out: the money is withheld, or a certain amount is missing. */
async function refuse(
  ctx: AskCtx,
  seller: AccountId,
  recipient: string | undefined,
  order: { readonly leastMicro: bigint },
): Promise<PayoutAnswer> {
  const { groups } = await readGroups(ctx, ctx.db, seller)
  const ownGroups = groups.filter((group) => recipient === undefined || group.recipient === recipient)
  for (const group of ownGroups) {
    const hold = group.available > 0n ? await findGroupHold(ctx, ctx.db, seller, group) : undefined
    if (hold !== undefined) return withheld(hold)
  }
  const payable = ownGroups.reduce((sum, group) => sum + group.payable, 0n)
  // Each recipient is paid by itself, so the one with the most is the next to be paid.
  const most = microUsd(ownGroups.reduce((best, group) => higherBigint(best, group.payable), 0n))
  const least = microUsd(order.leastMicro)
  const missing = subtractToZero(least, most)
  const waits = microUsd(ownGroups.reduce((sum, group) => sum + group.available, 0n) - payable)
  throw new AppError('conflict', {
    message: [
      `A payout to an address is $${formatDollars(least)} or more. At most $${formatDollars(most)} is ready for one address,`,
      `so $${formatDollars(missing)} is missing.`,
      ...(waits === 0n ? [] : [`$${formatDollars(waits)} is still in its waiting time.`]),
    ].join(' '),
    detail: {
      available: payable.toString(),
      threshold: ctx.settings.payouts.thresholdMicro.toString(),
      missing: missing.toString(),
    },
  })
}

/** Signs the caller's money at one recipient for the recipient to submit to the chain. */
async function authorize(ctx: AskCtx, seller: AccountId, recipient: string | undefined): Promise<PayoutAnswer> {
  const ground = await readGround(ctx).catch((cause: unknown) => {
    throw new AppError('service_unavailable', { message: 'The chain is out of reach.', cause, retryAfterSeconds: 5 })
  })
  const to = recipient ?? (await onlyRecipient(ctx, seller))
  const leave = await askForLeave(ctx)
  if (leave === undefined) return withheld('ledger_check')
  const outcome = await ctx.change(
    (trx) => authorizeOnce(ctx, trx, { seller, to, ground, leave }),
    (made) =>
      made?.isNew === true ? { subject: seller, before: null, after: { payout: viewPayout(made.payout) } } : undefined,
  )
  if (outcome === undefined) return refuse(ctx, seller, to, ANY_AMOUNT)
  const authorization = viewAuthorization(ctx.treasury, outcome.payout)
  return {
    ...answerOf([outcome.payout]),
    ...(authorization !== undefined && outcome.payout.state === 'signed' && { authorization }),
  }
}

/** The only recipient with money. Throws `invalid_request` when the caller has to name one. */
async function onlyRecipient(ctx: AskCtx, seller: AccountId): Promise<string | undefined> {
  const { groups } = await readGroups(ctx, ctx.db, seller)
  const open = await listOpenPayouts(ctx.db, seller, undefined, MAX_SHOWN)
  const signed = open.filter(({ mode }) => mode === 'self_submit').map((payout) => payout.recipient)
  const payable = groups.flatMap((group) => (group.payable > 0n && group.recipient !== null ? [group.recipient] : []))
  const all = new Set([...payable, ...signed])
  if (all.size <= 1) return [...all][0]
  throw new AppError('invalid_request', {
    message: 'There is money for several recipients. Set recipient to the wallet that submits the payout.',
    param: 'recipient',
  })
}

type PayoutDemand = {
  readonly seller: AccountId
  readonly to: string | undefined
  readonly ground: Ground
  readonly leave: Leave
}

/**
 * The recipient's authorization under way, or a new one. There is never more than one: a second request waits for the
 * first, and no other is made until an authorization has expired.
 */
async function authorizeOnce(
  ctx: AskCtx,
  trx: Trx,
  { seller, to, ground, leave }: PayoutDemand,
): Promise<{ readonly payout: TreasuryTransfer; readonly isNew: boolean } | undefined> {
  await requireLeave(trx, leave)
  await lockAccounts(trx, [seller])
  const isOwn = ({ mode }: TreasuryTransfer) => mode === 'self_submit'
  const listOpenPayout = to === undefined ? undefined : (await listOpenPayouts(trx, seller, to, MAX_SHOWN)).find(isOwn)
  if (listOpenPayout !== undefined && listOpenPayout.state !== 'scheduled')
    return { payout: listOpenPayout, isNew: false }
  const order = { mode: 'self_submit', recipient: to, ...ANY_AMOUNT } as const
  const payout = listOpenPayout ?? (to === undefined ? undefined : (await planSeller(ctx, trx, seller, order))[0])
  if (payout === undefined) return undefined
  if (payout.state === 'scheduled') await signOne(ctx, trx, payout, ground)
  return { payout: (await findTransfer(trx, payout.id)) ?? payout, isNew: true }
}

/** Reviews and signs one payout. When it cannot be signed now, the transaction is rolled back with the reason. */
async function signOne(ctx: AskCtx, trx: Trx, payout: TreasuryTransfer, ground: Ground): Promise<void> {
  const verdict = (await reviewTransfers(ctx, trx, [payout], ground)).get(payout.id)
  if (verdict === 'sign') {
    await signTransfer(ctx, trx, payout, { ground, batch: null })
  } else if (verdict?.event === 'hold') {
    await takeStep(ctx, trx, payout, { event: 'hold', changes: { reason: verdict.reason } })
  } else {
    const reason = verdict?.reason ?? 'unknown'
    throw new AppError('service_unavailable', {
      message: `The payout cannot be signed right now: ${reason}.`,
      detail: { reason },
      retryAfterSeconds: 60,
    })
  }
}
