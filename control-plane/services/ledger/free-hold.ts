import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'

/**
 * Frees the hold of a debit that was posted or refused. The gate gets the newest balance first. Otherwise the same
 * money could be spent until the ack of the posting.
 */
export async function freeHold(
  ctx: Pick<Ctx, 'ledger' | 'gate' | 'debits'>,
  hold: { readonly id: string; readonly account: AccountId },
): Promise<void> {
  await seedAccount(ctx, hold.account)
  await ctx.debits.free(hold)
}

/** Tells the gate the newest balance of an account. */
export async function seedAccount({ ledger, gate }: Pick<Ctx, 'ledger' | 'gate'>, account: AccountId): Promise<void> {
  const balances = await ledger.findBalances([account])
  await gate.seed(balances.map(({ balance, version }) => ({ account, balanceMicro: microUsd(balance), version })))
}
