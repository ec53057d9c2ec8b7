import type { Trx } from '#control-plane/db/database.ts'
import type { LedgerFooting } from '#control-plane/db/money-epoch.ts'
import { readFooting } from '#control-plane/db/money-epoch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Leave, Way } from '#control-plane/ports/facilitator/leave.ts'
import { AppError } from '#shared/errors.ts'
import { noticeStepBack } from './ledger-restores.ts'

export type LeaveCtx = Pick<Ctx, 'ledger' | 'gate' | 'log'>

const RETRY_SECONDS = 5

/**
 * Asks for permission to send money. Undefined while the ledger may lack departures. An unnoticed restore of the ledger
 * is recorded here. Throws while the gate is away, because only the gate can show a restore.
 */
export async function askForLeave(ctx: LeaveCtx): Promise<Leave | undefined> {
  // The gate is read first: every beat is in the ledger before it is in the gate.
  return grant(ctx, 'out', await ctx.gate.ledgerBeat())
}

/**
 * Asks for permission to settle authorizations that wallets signed. Undefined for a restored ledger without a record of
 * the restore. With a record, the permission is given at once: a signature is used once, its amount is fixed, and it
 * may expire while the nodes register their captures. While the gate is away, the ledger's own record decides.
 */
export async function askToTake(ctx: LeaveCtx): Promise<Leave | undefined> {
  return grant(ctx, 'in', await ctx.gate.ledgerBeat().catch(() => undefined))
}

async function grant(ctx: LeaveCtx, way: Way, beat: number | undefined): Promise<Leave | undefined> {
  const footing = await ctx.ledger.readFooting(beat)
  const leave = { way, beat, restoredAt: footing.restoredAt }
  if (holds(leave, footing)) return leave
  if (footing.standing === 'behind') await noticeStepBack(ctx, beat)
  return undefined
}

/**
 * True while a permission is valid: the ledger is in the required state, and no step back was recorded since it was
 * given.
 */
export function holds({ way, restoredAt }: Leave, footing: LedgerFooting): boolean {
  const { standing } = footing
  return (standing === 'sound' || (way === 'in' && standing !== 'behind')) && footing.restoredAt === restoredAt
}

/** Throws `service_unavailable` when the permission came from another ledger, or the ledger went back since. */
export async function requireLeave(trx: Trx, leave: Leave): Promise<void> {
  if (holds(leave, await readFooting(trx, leave.beat))) return
  throw new AppError('service_unavailable', {
    message: 'The ledger was restored from a backup. Nothing is signed until it agrees with the chain.',
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/**
 * True while the nodes have not registered again the captures that the ledger lost: arrivals and departures are then
 * not known.
 */
export async function isIncomplete(ctx: Pick<LeaveCtx, 'ledger'>, beat: number | undefined): Promise<boolean> {
  const standing = await ctx.ledger.readStanding(beat)
  return standing === 'behind' || standing === 'joining'
}
