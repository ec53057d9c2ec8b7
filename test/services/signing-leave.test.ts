import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withAllowances } from '#control-plane/services/allowances/allowance-ctx.ts'
import { sendDraws } from '#control-plane/services/allowances/send-draws.ts'
import { sendPermits } from '#control-plane/services/allowances/send-permits.ts'
import { tendLines } from '#control-plane/services/allowances/tend-lines.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { askForLeave, askToTake } from '#control-plane/services/gate/may-leave.ts'
import { settlePayment } from '#control-plane/services/payments/settle-payment.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { liftWhenWhole } from '#control-plane/services/treasury/lift-hold.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { SettleAskSchema } from '#shared/contract/chain-payments.ts'
import { allowing } from '#test/support/books/allowances.ts'
import type { DepositWorld } from '#test/support/books/deposits.ts'
import { startDeposits } from '#test/support/books/deposits.ts'
import type { TreasuryWorldCtx } from '#test/support/books/payouts.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 30_000
const PRICE = 20_000n

// The clock of a chain cannot be set back, so each test has a chain of its own.
let stage: DepositWorld
beforeEach(async () => {
  stage = await startDeposits({ ALLOWANCE_LINE_MICRO: '10000000' })
})
afterEach(() => stage.stop())

const record = () => stage.world.gate.ledger.readEpoch()
const markRestored = () => stage.world.gate.ledger.markRestored(Date.now())
/** The references of the stored transactions. */
const signed = async () =>
  (await sql<{ ref: string }>`select ref from chain_transaction order by signed_at`.execute(stage.world.db)).rows.map(
    ({ ref }) => ref,
  )
const untilLifted = async () => {
  await callChain(stage.chain.rpcUrl, [
    ['evm_increaseTime', [700]],
    ['evm_mine', []],
  ])
  await until('payouts are possible', WAIT_MS, async () => {
    await takeDeposits(stage.world.ctx)
    await liftWhenWhole(stage.world.ctx)
    return (await record()).heldAt === undefined
  })
}

/** The context of a worker that learns of a restore just before it signs: it has permission, and nothing is stored. */
function marked<Context extends TreasuryWorldCtx>(ctx: Context, mark: () => Promise<unknown> = markRestored): Context {
  const { treasury } = ctx
  if (treasury === null) throw new Error('no treasury')
  const { sender } = treasury
  const send: typeof sender.send = async (...asked) => {
    await mark()
    return sender.send(...asked)
  }
  return { ...ctx, treasury: { ...treasury, sender: { ...sender, send } } }
}

/** The context of a worker for which the restore is over and its hold is lifted before the signature. */
const markedAndLifted = async () => {
  await markRestored()
  await untilLifted()
}

const linesOf = (ctx: Parameters<typeof withAllowances>[0] & TreasuryWorldCtx) => {
  const found = withAllowances(allowing(stage.world).ctxOf(ctx))
  if (found === undefined) throw new Error('no allowances')
  return found
}

/** A purpose of signatures, with the work before the signature and the money that moves by it. */
type Work = {
  readonly ref: string
  /** Prepares all steps before the signature. Returns the work, and the moved sum. */
  begin(): Promise<{ run(ctx: TreasuryWorldCtx): Promise<unknown>; moved(): Promise<bigint> }>
  readonly amount: bigint
}

const WORK = {
  draw: {
    ref: 'draw ',
    amount: 3_000_000n,
    async begin() {
      const lines = allowing(stage.world)
      const buyer = await lines.payer(20_000_000n, 20_000_000n)
      await lines.spend(buyer, 3_000_000)
      await tendLines(linesOf(stage.world.ctx))
      return {
        run: (ctx) => sendDraws(linesOf(ctx)),
        moved: async () => 20_000_000n - (await stage.chain.usdcBalance(buyer.purse.address)),
      }
    },
  },
  permit: {
    ref: 'permit ',
    amount: 0n,
    async begin() {
      const lines = allowing(stage.world)
      const buyer = await lines.buyers.depositor(20_000_000n, 0n)
      await lines.sign(buyer, await lines.open(buyer, 20_000_000n))
      return { run: (ctx) => sendPermits(linesOf(ctx)), moved: async () => 0n }
    },
  },
  deposit: {
    ref: 'deposit ',
    amount: 5_000_000n,
    async begin() {
      const buyer = await stage.buyers.depositor(5_000_000n, 0n)
      const way = await stage.buyers.open(buyer, 5_000_000n)
      await stage.buyers.hand(buyer, way.deposit?.id ?? '', await stage.buyers.signatureOf(way, buyer.purse))
      return {
        run: (ctx) => takeDeposits(ctx),
        moved: async () => 5_000_000n - (await stage.chain.usdcBalance(buyer.purse.address)),
      }
    },
  },
  payout: {
    ref: 'transfers ',
    amount: 5_000_000n,
    async begin() {
      const seller = await stage.world.seller(5_000_000)
      await drainBalances(stage.world.ctx, { isForced: true })
      return { run: (ctx) => moveTransfers(ctx), moved: () => stage.chain.usdcBalance(seller.purse.address) }
    },
  },
} satisfies Readonly<Record<string, Work>>

describe('a restore that is recorded between the permission and the signature', () => {
  it.each(Object.entries<Work>(WORK))('stops the transaction of a %s', async (_name, { ref, begin, amount }) => {
    const { run, moved } = await begin()
    const isIts = (one: string) => one.startsWith(ref)
    const before = (await signed()).filter(isIts)
    await run(marked(stage.world.ctx))
    expect((await signed()).filter(isIts)).toEqual(before)
    expect(await moved()).toBe(0n)
    await untilLifted()
    if (ref === 'draw ') await tendLines(linesOf(stage.world.ctx))
    await until('the work is done once', WAIT_MS, async () => {
      await run(stage.world.ctx)
      return (await signed()).filter(isIts).length === before.length + 1 && (await moved()) === amount
    })
    await takeDeposits(stage.world.ctx)
    if (ref === 'transfers ') await stage.world.settle()
  })

  it('stops a draw though its hold is lifted by then', async () => {
    const { run, moved } = await WORK.draw.begin()
    await run(marked(stage.world.ctx, markedAndLifted))
    expect(await moved()).toBe(0n)
    expect((await signed()).filter((one) => one.startsWith('draw '))).toEqual([])
  })

  it('stops the settlement of a payment, which is made with the next permission', async () => {
    const paying = await stage.buyers.paying()
    const wallet = await stage.chain.newWallet({ usdc: 1_000_000n })
    const rid = await paying.claimed(await paying.sign(wallet, 'upto', PRICE))
    const { payments } = paying.ctx
    const { facilitator } = payments
    const settle: typeof facilitator.settle = async (...asked) => {
      await markRestored()
      return facilitator.settle(...asked)
    }
    const ask = SettleAskSchema.parse({
      rid,
      event: await paying.eventOf(rid, 7_000n),
      chargeMicro: '7000',
      waitMs: 0,
    })
    const late = { ...paying.ctx, payments: { ...payments, facilitator: { ...facilitator, settle } } }
    await settlePayment(late, ask)
    await payments.memory.underWay.get(rid)
    expect(await signed()).toEqual([])
    expect(await paying.row(rid)).toMatchObject({ state: 'due', transaction: null })
    // Money that wallets signed for is taken while the hold of departures lasts.
    await until('the payment is settled', WAIT_MS, async () => (await paying.settle(rid, 7_000n)).state === 'settled')
    expect(await stage.chain.usdcBalance(wallet.address)).toBe(993_000n)
    await untilLifted()
    await paying.booked(rid)
    await takeDeposits(stage.world.ctx)
  })

  it.each([
    ['raised', 'transfers '],
    ['filled', 'gap '],
  ])('stops the transaction by which a nonce is %s', async (_how, ref) => {
    const { ctx, db } = stage.world
    const { treasury } = ctx
    if (treasury === null) throw new Error('no treasury')
    const { run } = await WORK.payout.begin()
    await stage.chain.mining('off')
    await until('the transaction is sent', WAIT_MS, async () => {
      await run(ctx)
      return (await signed()).some((one) => one.startsWith('transfers '))
    })
    if (ref === 'gap ') {
      await callChain(stage.chain.rpcUrl, [['anvil_dropAllTransactions', []]])
      await sql`update chain_transaction set dead_at = now() where mined_at is null`.execute(db)
    } else {
      await sql`update chain_transaction set signed_at = now() - interval '40 seconds' where mined_at is null`.execute(
        db,
      )
    }
    const before = await signed()
    await until('the worker asks for permission', WAIT_MS, async () => {
      let isAsked = false
      await treasury.sender
        .sendAgain(async () => {
          isAsked = true
          const leave = await askForLeave(ctx)
          await markRestored()
          return leave
        })
        .catch(() => undefined)
      return isAsked
    })
    expect(await signed()).toEqual(before)
    // Without permission nothing is signed either.
    expect(await askForLeave(ctx)).toBeUndefined()
    await treasury.sender.sendAgain(() => askForLeave(ctx))
    expect(await signed()).toEqual(before)
    await stage.chain.mining('automatic')
    await untilLifted()
    await stage.world.settle()
    await takeDeposits(ctx)
  })

  it('does not delay payments that wallets signed, which may expire before the nodes have reported', async () => {
    await stage.world.gate.stopRebuilder()
    await markRestored()
    expect(await askToTake(stage.world.ctx)).toMatchObject({ way: 'in' })
    expect(await askForLeave(stage.world.ctx)).toBeUndefined()
    stage.world.gate.startRebuilder()
    await until('the journals are read', WAIT_MS, async () => (await record()).joinedAt !== undefined)
    expect(await askToTake(stage.world.ctx)).toMatchObject({ way: 'in' })
    expect(await askForLeave(stage.world.ctx)).toBeUndefined()
    await untilLifted()
  })
})
