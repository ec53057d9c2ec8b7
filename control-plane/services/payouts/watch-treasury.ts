import { countOpenTransfers } from '#control-plane/db/payout-desk.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import type { PayoutCtx } from './treasury-ctx.ts'
import { withTreasury } from './treasury-ctx.ts'

/** Wei below which the treasury may soon fail to send: some tens of batches at Base's usual prices. */
const LEAST_GAS_MONEY = 100_000_000_000_000n

/** The balances of the treasury. Null while the chain does not answer. */
export type TreasuryMoney = { readonly balanceMicro: bigint | null; readonly gasWei: bigint | null }

export async function readTreasuryMoney({
  chain,
  chainId,
  asset,
  address,
  sender,
}: TreasuryParts): Promise<TreasuryMoney> {
  const isOurs = await chain.checkChain(chainId).then(
    () => true,
    () => false,
  )
  if (!isOurs) return { balanceMicro: null, gasWei: null }
  const [balanceMicro, gasWei] = await Promise.all([
    chain.balanceOf(asset, address).catch(() => null),
    sender.gasMoney().catch(() => null),
  ])
  return { balanceMicro, gasWei }
}

/** Shows the treasury's money and open transfers as metrics, and raises an alarm when it runs low. */
export async function watchTreasury(ctx: PayoutCtx & Pick<Ctx, 'metrics'>): Promise<void> {
  const paying = withTreasury(ctx)
  if (paying === undefined) return
  const { treasury, log } = paying
  const [money, open] = [await readTreasuryMoney(treasury), await countOpenTransfers(ctx.db)]
  ctx.metrics.treasury({ ...money, floorMicro: treasury.floorMicro, open })
  const due = open.reduce((sum, { amount }) => sum + amount, 0n)
  if (money.balanceMicro !== null && (money.balanceMicro < treasury.floorMicro || money.balanceMicro < due)) {
    log.error(
      { balanceMicro: money.balanceMicro.toString(), dueMicro: due.toString(), treasury: treasury.address },
      'the treasury needs a refill',
    )
  }
  if (money.gasWei !== null && money.gasWei < LEAST_GAS_MONEY) {
    log.error({ gasWei: money.gasWei.toString(), treasury: treasury.address }, 'the treasury is out of gas money')
  }
}
