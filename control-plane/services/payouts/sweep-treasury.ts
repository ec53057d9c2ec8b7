import { transact } from '#control-plane/db/database.ts'
import {
  findOpenSweep,
  insertTransfer,
  lockTreasury,
  nextTransferNumber,
  sumOpenTransfers,
} from '#control-plane/db/treasury-transfers.ts'
import { nonceOfTransfer } from '#control-plane/ports/treasury/authorization.ts'
import { askForLeave } from '#control-plane/services/gate/may-leave.ts'
import { findPayoutStop } from './payout-stops.ts'
import { readGround } from './sign-transfers.ts'
import type { TreasuryCtx } from './treasury-ctx.ts'

/** A smaller sweep is not worth its gas, in micro-USD. */
const LEAST_SWEEP = 1_000_000n

/**
 * Plans a transfer of the treasury's surplus above its ceiling to the cold address: one at a time, and never money that
 * payouts under way need. Returns the number of planned sweeps.
 */
export async function planSweep(ctx: TreasuryCtx): Promise<number> {
  const { coldAddress, ceilingMicro } = ctx.treasury
  if (coldAddress === null || (await findPayoutStop(ctx)) !== undefined) return 0
  if ((await askForLeave(ctx)) === undefined) return 0
  const ground = await readGround(ctx)
  return transact(ctx.db, async (trx) => {
    await lockTreasury(trx)
    if ((await findOpenSweep(trx)) !== undefined) return 0
    const { waiting, signed } = await sumOpenTransfers(trx, ground.block)
    const amount = ground.balance - waiting - signed - ceilingMicro
    if (amount < LEAST_SWEEP) return 0
    const id = ctx.ids.make('swp')
    const number = await nextTransferNumber(trx, null, coldAddress)
    await insertTransfer(trx, {
      id,
      purpose: 'sweep',
      seller: null,
      inFlight: null,
      recipient: coldAddress,
      amount,
      mode: 'batched',
      state: 'scheduled',
      reason: null,
      number,
      nonce: nonceOfTransfer({ seller: null, recipient: coldAddress, number }),
    })
    ctx.log.info(
      { id, amount: amount.toString() },
      'the treasury is above its ceiling: the rest goes to the cold address',
    )
    return 1
  })
}
