import type { Hex } from 'viem'
import { createWalletClient, http, parseAbi } from 'viem'
import { findNewestPermit } from '#control-plane/db/allowance-draws.ts'
import type { AllowanceLine } from '#control-plane/db/allowances.ts'
import { findLine } from '#control-plane/db/allowances.ts'
import { transact } from '#control-plane/db/database.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { openAudit } from '#control-plane/operation/audit.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { createRedisDebitGate } from '#control-plane/ports/gate/redis-debit-gate.ts'
import type { AllowanceCtx } from '#control-plane/services/allowances/allowance-ctx.ts'
import type { AllowanceView } from '#control-plane/services/allowances/allowance-views.ts'
import { closeAllowance, openAllowance } from '#control-plane/services/allowances/own-allowance.ts'
import { signAllowance } from '#control-plane/services/allowances/sign-allowance.ts'
import { tendAllowances } from '#control-plane/services/allowances/tend-allowances.ts'
import { bookCalls } from '#control-plane/services/booking/ingest.ts'
import { RAIL_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import { isPoison, readEvent } from '#control-plane/services/booking/read-event.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { askForLeave } from '#control-plane/services/gate/may-leave.ts'
import { confirmBuyers } from '#control-plane/services/ledger/ledger.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { systemClock } from '#shared/clock.ts'
import { microUsd } from '#shared/money.ts'
import type { ChainWallet } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'
import type { Depositor } from './deposits.ts'
import { depositing, typedOf } from './deposits.ts'
import type { PayoutWorld, TreasuryWorldCtx } from './payouts.ts'
import { eventText } from './usage-events.ts'

const ENDED_MS = 20_000

const TOKEN = parseAbi(['function approve(address, uint256)', 'function transfer(address, uint256)'])

export type LineWorldCtx = TreasuryWorldCtx & AllowanceCtx

/** The actions of buyers whose wallets pay. */
export function allowing(world: PayoutWorld) {
  const { chain, db, gate } = world
  const buyers = depositing(world)
  const debits = createRedisDebitGate({ redis: gate.redis, buckets: 1 })
  const ctxOf = (ctx: TreasuryWorldCtx): LineWorldCtx => ({ ...ctx, debits })
  const own = ctxOf(world.ctx)
  const { note } = openAudit(own, machineOperator('test'), 'test')
  const runCtx = () => ({ ...own, note, change: ((run) => transact(db, run)) as RunCtx['change'] }) as unknown as RunCtx
  const actorOf = ({ user, purse }: Depositor) => ({
    kind: 'buyer' as const,
    keyId: null,
    user: user.id,
    account: user.buyerAccount,
    wallet: purse.address.toLowerCase(),
  })
  const call = async ({ account }: ChainWallet, functionName: 'approve' | 'transfer', args: readonly [Hex, bigint]) => {
    const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
    const hash = await wallet.writeContract({ address: CONTRACTS.LocalUsdc, abi: TOKEN, functionName, args })
    await chain.publicClient.waitForTransactionReceipt({ hash })
  }
  const turn = async (ctx = own) => {
    const tended = await tendAllowances(ctx)
    await ctx.treasury?.sender.sendAgain(() => askForLeave(ctx))
    await takeDeposits(ctx)
    return tended
  }
  const open = (buyer: Depositor, amount?: bigint) =>
    openAllowance.run(runCtx(), actorOf(buyer), { amountUsd: amount === undefined ? undefined : microUsd(amount) })
  const sign = async (buyer: Depositor, view: AllowanceView, by = buyer.purse) => {
    const typed = typedOf(view.typedData)
    const { value, deadline } = typed.message as { value: string; deadline: string }
    const signature = await by.account.signTypedData(typed)
    return signAllowance.run(runCtx(), actorOf(buyer), { value: BigInt(value), deadline: Number(deadline), signature })
  }
  const permitOf = ({ user }: Depositor) => findNewestPermit(db, user.buyerAccount)
  /** Runs turns of the worker until the condition holds. */
  const untilTurned = (what: string, isSo: () => Promise<boolean>, ctx = own) =>
    until(what, ENDED_MS, async () => {
      await turn(ctx)
      return isSo()
    })
  return {
    buyers,
    ctx: own,
    ctxOf,
    turn,
    open,
    sign,
    actorOf,
    runCtx,
    permitOf,
    untilTurned,
    /** The same context at another time. */
    later: (ms: number, ctx = own): LineWorldCtx => ({
      ...ctx,
      clock: { ...systemClock, now: () => systemClock.now() + ms },
    }),
    async turns(count: number, ctx = own) {
      for (let at = 0; at < count; at++) await turn(ctx)
    },
    /** A buyer whose wallet has money and no ETH, and who pays by a permit for this amount. */
    async payer(usdc: bigint, allowed: bigint): Promise<Depositor> {
      const buyer = await buyers.depositor(usdc, 0n)
      await sign(buyer, await open(buyer, allowed))
      await untilTurned('the permit is used', async () => (await permitOf(buyer))?.state === 'used')
      await turn()
      return buyer
    },
    close: (buyer: Depositor) => closeAllowance.run(runCtx(), actorOf(buyer), {}),
    allow: (buyer: Depositor, amount: bigint) => call(buyer.purse, 'approve', [world.treasury, amount]),
    send: (purse: ChainWallet, amount: bigint, to: Hex) => call(purse, 'transfer', [to, amount]),
    /** Books a call of the buyer, as its capture would. */
    async spend({ user }: Depositor, charge: number): Promise<void> {
      const seller = await world.seller(0)
      const input = { account: user.buyerAccount, sellerAccount: seller.account, charge, hold: charge, feeBps: 0 }
      const read = readEvent(eventText(input, { offer: `ofr_${seller.id.slice(4)}` }), 'test', RAIL_POSTINGS)
      if (isPoison(read)) throw new Error(`no event: ${read.detail}`)
      const { balances } = await gate.ledger.transact((trx) => bookCalls(trx, [read], 'test'))
      await confirmBuyers(gate, balances)
    },
    async line({ user }: Depositor): Promise<AllowanceLine> {
      const found = await findLine(db, user.buyerAccount)
      if (found === undefined) throw new Error('the account has no line')
      return found
    },
    /** The amount that the gate lets the account spend, in micro-USD. */
    async free({ user }: Depositor): Promise<number> {
      const found = await gate.gate.spendable(user.buyerAccount)
      return found === undefined ? 0 : Number(found.postedMicro - found.heldMicro - found.unpostedMicro)
    },
  }
}
