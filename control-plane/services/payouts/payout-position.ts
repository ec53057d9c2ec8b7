import { z } from 'zod'
import { readAtOnce } from '#control-plane/db/database.ts'
import { readDrainedAt } from '#control-plane/db/payout-desk.ts'
import type { RecipientSums } from '#control-plane/db/treasury-transfers.ts'
import { findTransfer, listPayouts, sumPayouts } from '#control-plane/db/treasury-transfers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { cursorOf, NextToken, PageToken, signedPageOf } from '#control-plane/services/page.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import type { PayableGroup } from './payable-groups.ts'
import { findPayoutHold, PayoutHoldViewSchema } from './payout-hold.ts'
import { findPayoutStop, PAYOUT_STOPS } from './payout-stops.ts'
import type { PayoutView } from './payout-views.ts'
import { PayoutAuthorizationSchema, PayoutViewSchema, viewAuthorization, viewPayout } from './payout-views.ts'
import { findGroupHold } from './plan-payouts.ts'
import { readGroups } from './read-groups.ts'
import { withTreasury } from './treasury-ctx.ts'

/** The money of a seller for one recipient. */
export const PayoutRecipientSchema = z.object({
  recipient: z.string().nullable().describe('Null for offers of a workspace that name no payout address.'),
  earnedUsdc: MicroDigits.describe('All earnings of the offers with this address, in micro-USD.'),
  availableUsdc: MicroDigits,
  payableUsdc: MicroDigits.describe(
    'The available part that can be paid now, in micro-USD: without earnings in their hold period, and nothing for a new address.',
  ),
  inFlightUsdc: MicroDigits,
  paidUsdc: MicroDigits,
  holdReason: z.string().nullable().describe('The reason why the available part is withheld, as a code.'),
  coolsUntil: UnixMs.nullable().describe('The time until which a new address is not paid, in Unix milliseconds.'),
})
export type PayoutRecipient = z.infer<typeof PayoutRecipientSchema>

/** A seller's payout position. Amounts are micro-USD as plain digits. */
export const PayoutPositionSchema = z
  .object({
    /** The part of the account outside of payouts. */
    availableUsdc: MicroDigits,
    /** The amount in open payouts. */
    inFlightUsdc: MicroDigits,
    paidUsdc: MicroDigits,
    /** A payout run and a request pay out at least this. An authorization that the seller submits has no threshold. */
    thresholdUsdc: MicroDigits,
    nextPayoutAt: UnixMs.nullable().describe(
      'When the market next pays every balance above the threshold, in Unix milliseconds. Null while payouts are stopped.',
    ),
    payoutEveryMs: Count.describe('Milliseconds from one automatic payout to the next.'),
    holdMs: Count.describe('Milliseconds for which the earnings of a call wait before they are paid out.'),
    recipients: z.array(PayoutRecipientSchema).readonly(),
    /** Payouts, newest first. */
    payouts: z.array(PayoutViewSchema).readonly(),
    nextToken: NextToken,
    cursorOf: cursorOf<PayoutView>(),
    payoutHold: PayoutHoldViewSchema.optional(),
    payoutStop: z.enum(PAYOUT_STOPS).nullable().describe('The reason why payouts are stopped. Null when they run.'),
  })
  .meta({ id: 'PayoutPosition', description: 'The money of a seller: payable now, on its way, and paid.' })
export type PayoutPosition = z.infer<typeof PayoutPositionSchema>

/** Reads the payout position of the caller, or of a workspace, with a page of its payouts. */
export const getPayoutPosition = defineOperation({
  name: 'payout.position',
  summary: 'Get the balance and the payouts of a seller',
  about: 'The balance of the account, the payouts and their states.',
  example: { maxItems: 10 },
  access: 'seller',
  input: z.strictObject({ workspaceId: WorkspaceField, maxItems: PageSize, nextToken: PageToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: PayoutPositionSchema,
  run: async (ctx, actor, { workspaceId, maxItems, nextToken }): Promise<PayoutPosition> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const scope = { list: 'payouts', tenant: seller }
    const before = nextToken === undefined ? undefined : readCursor(ctx, scope, nextToken)
    const [{ groups: paid, sums, rows }, hold, stop, drainedAt] = await Promise.all([
      readAtOnce(ctx.db, async (trx) => ({
        groups: await readGroups(ctx, trx, seller),
        sums: await sumPayouts(trx, seller),
        rows: await listPayouts(trx, seller, { before, limit: maxItems + 1 }),
      })),
      findPayoutHold(ctx, seller),
      findPayoutStop(ctx),
      readDrainedAt(ctx.db),
    ])
    const { owner, groups } = paid
    const page = signedPageOf(rows, maxItems, viewPayout, ({ payoutId }) => signCursor(ctx, scope, payoutId))
    return {
      availableUsdc: owner.balance.toString(),
      inFlightUsdc: sumOf(sums, 'inFlight').toString(),
      paidUsdc: sumOf(sums, 'paid').toString(),
      thresholdUsdc: ctx.settings.payouts.thresholdMicro.toString(),
      nextPayoutAt: stop === undefined && hold === undefined ? nextDrain(ctx, drainedAt) : null,
      payoutEveryMs: ctx.settings.payouts.everyMs,
      holdMs: ctx.settings.payouts.holdMs,
      recipients: await viewRecipients(ctx, seller, groups, sums),
      payouts: page.items,
      nextToken: page.nextToken,
      cursorOf: page.cursorOf,
      payoutStop: stop ?? null,
      ...(hold === undefined ? {} : { payoutHold: hold }),
    }
  },
})

/** The first payout run, and one that is due, begin at the next turn of the worker. */
function nextDrain({ clock, settings }: Pick<RunCtx, 'clock' | 'settings'>, drainedAt: Date | undefined): number {
  const now = clock.now()
  return drainedAt === undefined ? now : Math.max(now, drainedAt.getTime() + settings.payouts.everyMs)
}

function sumOf(sums: readonly RecipientSums[], which: 'inFlight' | 'paid'): bigint {
  return sums.reduce((total, row) => total + row[which], 0n)
}

/** The recipients with money now, and former ones. */
async function viewRecipients(
  ctx: Pick<RunCtx, 'db' | 'treasury'>,
  seller: AccountId,
  groups: readonly PayableGroup[],
  sums: readonly RecipientSums[],
): Promise<PayoutRecipient[]> {
  const had = new Map(sums.map((row) => [row.recipient, row]))
  const views: PayoutRecipient[] = []
  for (const group of groups) {
    const { recipient, earned, available, payable, coolsUntil } = group
    const sum = recipient === null ? undefined : had.get(recipient)
    if (recipient !== null) had.delete(recipient)
    const holdReason = available === 0n ? null : ((await findGroupHold(ctx, ctx.db, seller, group)) ?? null)
    views.push({
      recipient,
      earnedUsdc: earned.toString(),
      availableUsdc: available.toString(),
      payableUsdc: payable.toString(),
      holdReason,
      coolsUntil,
      inFlightUsdc: (sum?.inFlight ?? 0n).toString(),
      paidUsdc: (sum?.paid ?? 0n).toString(),
    })
  }
  for (const { recipient, inFlight, paid } of had.values()) {
    views.push({
      recipient,
      earnedUsdc: '0',
      availableUsdc: '0',
      payableUsdc: '0',
      holdReason: null,
      coolsUntil: null,
      inFlightUsdc: inFlight.toString(),
      paidUsdc: paid.toString(),
    })
  }
  return views
}

/** The report of one payout: the payout, its transaction, and the authorization as long as it can be submitted. */
export const PayoutReportSchema = PayoutViewSchema.extend({
  authorization: PayoutAuthorizationSchema.optional(),
}).meta({ id: 'PayoutReport', description: 'The transfer of a payout.' })
export type PayoutReport = z.infer<typeof PayoutReportSchema>

/** Reads one payout of the caller, or of a workspace. Throws `not_found`, also for another seller's payout. */
export const getPayout = defineOperation({
  name: 'payout.get',
  summary: 'Get the transaction of a payout',
  about: 'The transfer on the chain that paid a payout.',
  access: 'seller',
  input: z.strictObject({ id: oneLine(100), workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  output: PayoutReportSchema,
  run: async (ctx, actor, { id, workspaceId }): Promise<PayoutReport> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const transfer = isId('pay', id) ? await findTransfer(ctx.db, id) : undefined
    if (transfer === undefined || transfer.seller !== seller) throw new AppError('not_found')
    const paying = withTreasury(ctx)
    const isOpen = transfer.state === 'signed' && paying !== undefined
    const authorization = isOpen ? viewAuthorization(paying.treasury, transfer) : undefined
    return { ...viewPayout(transfer), ...(authorization && { authorization }) }
  },
})
