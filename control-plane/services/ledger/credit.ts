import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { add, formatMicroUsd, subtractToZero, ZERO } from '#shared/money.ts'
import { findBalance } from './ledger.ts'

/** A buyer's money in micro-USD as plain digits: the whole spendable credit, and the part that running calls hold. */
export const CreditBalanceSchema = z
  .object({
    creditBalanceUsdc: MicroDigits.describe('The amount that can be spent now, in micro-USD as decimal digits.'),
    heldUsdc: MicroDigits.describe('The amount that is set aside for running calls.'),
  })
  .meta({
    id: 'Credit',
    description: 'The balance of an account: the spendable amount, and the amount held for running calls.',
  })
export type CreditBalance = z.infer<typeof CreditBalanceSchema>

/**
 * Spendable credit is posted − held − unposted in the gate. While the gate is away or does not know the account, the
 * ledger's balance is shown, which does not include calls in flight.
 */
export async function readCredit(
  ctx: Pick<Ctx, 'ledger' | 'gate' | 'log'>,
  account: AccountId,
): Promise<CreditBalance> {
  const inGate = await ctx.gate.spendable(account).catch((error: unknown) => {
    ctx.log.debug({ err: error }, 'a balance is answered from the ledger')
    return undefined
  })
  if (inGate === undefined) return written(await findBalance(ctx.ledger, account), ZERO)
  const taken = add(inGate.heldMicro, inGate.unpostedMicro)
  return written(subtractToZero(inGate.postedMicro, taken), inGate.heldMicro)
}

function written(spendable: MicroUsd, held: MicroUsd): CreditBalance {
  return { creditBalanceUsdc: formatMicroUsd(spendable), heldUsdc: formatMicroUsd(held) }
}
