import type { AllowancePermit } from '#control-plane/db/allowance-draws.ts'
import { endPermit, listSignedPermits } from '#control-plane/db/allowance-draws.ts'
import { findLine } from '#control-plane/db/allowances.ts'
import { transact } from '#control-plane/db/database.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import { permitCallOf } from '#control-plane/ports/treasury/permit.ts'
import { askForLeave } from '#control-plane/services/gate/may-leave.ts'
import { headOfKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { AllowanceLineCtx } from './allowance-ctx.ts'
import { permitOf } from './allowance-permit.ts'
import { owedOf } from './weigh-line.ts'

/** Most permits of one turn. */
const MAX_A_TURN = 50

/** A permit is submitted in the last ten minutes of its validity, whatever the account owes. */
const HURRY_MS = 10 * MINUTE

const permitRef = (id: string) => `permit ${id}`

/**
 * Submits permits to the chain at the treasury's expense, and ends those that are used or expired. Returns the number
 * of transactions. No permit is submitted while the ledger is on hold after a restore.
 */
export async function sendPermits(ctx: AllowanceLineCtx): Promise<number> {
  const permits = await listSignedPermits(ctx.db, MAX_A_TURN)
  if (permits.length === 0) return 0
  await headOfKnownChain(ctx, ctx.treasury.chain, ctx.purse)
  const leave = await askForLeave(ctx)
  let sentCount = 0
  for (const permit of permits) {
    try {
      if (await bringOn(ctx, permit, leave)) sentCount += 1
    } catch (error) {
      ctx.log.warn({ err: error, id: permit.id }, 'a permit will be sent again')
    }
  }
  return sentCount
}

async function bringOn(ctx: AllowanceLineCtx, permit: AllowancePermit, leave: Leave | undefined): Promise<boolean> {
  const { store, chain, asset, sender } = ctx.treasury
  const { id, wallet, nonce, deadline, signature } = permit
  const end = (state: 'used' | 'refused') => transact(ctx.db, (trx) => endPermit(trx, id, state))
  // The chain has used this permit, or a later one. The line reads its allowance from the chain in any case.
  if ((await chain.permitNonceOf(asset, wallet)) > nonce) {
    await end('used')
    return false
  }
  const signedTransactions = await store.list(permitRef(id))
  if (signedTransactions.some(({ isReverted }) => isReverted !== true)) return false
  if (signedTransactions.length > 0 || deadline.getTime() <= ctx.clock.now() + SECOND) {
    await end('refused')
    return false
  }
  if (leave === undefined || (await isEarly(ctx, permit))) return false
  const call = permitCallOf(permitOf({ ...ctx.treasury, treasury: ctx.treasury.address }, permit), signature)
  await sender.send(permitRef(id), { address: `0x${asset.slice(2)}`, ...call }, leave)
  return true
}

/** A permit below the debt would keep the market from drawing the debt, so the draw goes first while there is time. */
async function isEarly(
  { db, clock }: AllowanceLineCtx,
  { account, value, deadline }: AllowancePermit,
): Promise<boolean> {
  if (deadline.getTime() - clock.now() < HURRY_MS) return false
  const line = await findLine(db, account)
  return line !== undefined && owedOf(line) > value
}
