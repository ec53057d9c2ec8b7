import type { Trx } from '#control-plane/db/database.ts'
import { readStanding } from '#control-plane/db/money-epoch.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import { noticeStepBack } from './ledger-restores.ts'

/**
 * Leave for money to go: the beat of the gate before which the ledger was found sound. A signer compares the ledger
 * with it once more, in the transaction that stores the signature.
 */
export type Leave = { readonly beat: number | undefined }

export type LeaveCtx = Pick<Ctx, 'ledger' | 'gate' | 'log'>

const RETRY_SECONDS = 5

/**
 * Asks for leave. Undefined while the ledger lacks what left, as far as anybody knows; a step back that nobody has noticed
 * is recorded here. Throws while the gate is away, because then nobody can say.
 */
export async function askForLeave(ctx: LeaveCtx): Promise<Leave | undefined> {
  // The gate is asked first: every beat is in the ledger before it is in the gate.
  const beat = await ctx.gate.ledgerBeat()
  const standing = await ctx.ledger.readStanding(beat)
  if (standing === 'sound') return { beat }
  if (standing === 'behind') await noticeStepBack(ctx, beat)
  return undefined
}

/** Throws `service_unavailable` when the ledger is not the one that gave leave, or has been held since. */
export async function requireLeave(trx: Trx, { beat }: Leave): Promise<void> {
  if ((await readStanding(trx, beat)) === 'sound') return
  throw new AppError('service_unavailable', {
    message: 'The books went back in time. Nothing leaves until they agree with the chain.',
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/** True while the nodes have not registered again what the ledger lost: nobody can say what came or left. */
export async function isIncomplete(ctx: Pick<LeaveCtx, 'ledger'>, beat: number | undefined): Promise<boolean> {
  const standing = await ctx.ledger.readStanding(beat)
  return standing === 'behind' || standing === 'joining'
}
