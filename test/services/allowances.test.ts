import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listDraws } from '#control-plane/db/allowance-draws.ts'
import { listDeposits } from '#control-plane/db/deposits.ts'
import { withAllowances } from '#control-plane/services/allowances/allowance-ctx.ts'
import { listOwing } from '#control-plane/services/allowances/operator-allowances.ts'
import { sendDraws } from '#control-plane/services/allowances/send-draws.ts'
import { tendLines } from '#control-plane/services/allowances/tend-lines.ts'
import { purseOf, requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { recordFiatDeposit, refundFiat } from '#control-plane/services/ledger/ledger-operations.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { microUsd } from '#shared/money.ts'
import { allowing } from '#test/support/books/allowances.ts'
import type { Depositor, DepositWorld } from '#test/support/books/deposits.ts'
import { startDeposits } from '#test/support/books/deposits.ts'
import { reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import type { PayoutWorld } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'

const FIVE = 5_000_000n
const TWENTY = 20_000_000n
const LINE = 1_000_000
let chain: OwnChain
let world: PayoutWorld
let wallets: ReturnType<typeof allowing>
let stop: DepositWorld['stop']

beforeAll(async () => {
  ;({ chain, world, stop } = await startDeposits())
  wallets = allowing(world)
})
afterAll(() => stop())

const turn = (ctx = wallets.ctx) => wallets.turn(ctx)
const turns = (count: number, ctx = wallets.ctx) => wallets.turns(count, ctx)
const spend = (buyer: Depositor, charge: number) => wallets.spend(buyer, charge)
const line = (buyer: Depositor) => wallets.line(buyer)
const free = (buyer: Depositor) => wallets.free(buyer)
/** Runs the worker until the buyer has this number of draws in their final state, and their line was reviewed. */
const untilPaid = async (buyer: Depositor, count = 1, ctx = wallets.ctx) => {
  const isPaid = async () => (await draws(buyer)).filter(({ state }) => state === 'settled').length === count
  await wallets.untilTurned('the wallet has paid', isPaid, ctx)
  await turn(ctx)
}
const draws = ({ user }: Depositor) => listDraws(world.db, user.buyerAccount, 20)
const has = ({ purse }: Depositor) => chain.usdcBalance(purse.address)
const lines = (ctx = wallets.ctx) => {
  const found = withAllowances(ctx)
  if (found === undefined) throw new Error('no allowances')
  return found
}
const elsewhere = async () => (await chain.newWallet()).address
/** Makes the next turn read the chain for a line. */
const forget = ({ user }: Depositor) =>
  sql`update allowance_line set read_at = null where account = ${user.buyerAccount}`.execute(world.db)

describe('a wallet without ETH that signs a permit', () => {
  it('gets credit, spends it, and repays the spent amount by one transfer', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    expect(await line(buyer)).toMatchObject({ state: 'open', balance: FIVE, allowance: TWENTY, advanced: 1_000_000n })
    expect([await free(buyer), await has(buyer)]).toEqual([LINE, FIVE])
    await spend(buyer, 400_000)
    await turns(2)
    expect(await draws(buyer)).toEqual([])
    await spend(buyer, 200_000)
    await untilPaid(buyer)
    expect(await draws(buyer)).toMatchObject([{ state: 'settled', amount: 600_000n, reason: null }])
    expect([await has(buyer), await free(buyer)]).toEqual([FIVE - 600_000n, LINE])
    const [draw] = await draws(buyer)
    const found = await listDeposits(world.db, buyer.user.buyerAccount, { before: undefined, limit: 5 })
    expect(found).toMatchObject([
      { id: draw?.deposit, method: 'allowance', state: 'credited', amount: 600_000n, transaction: draw?.transaction },
    ])
    expect(await line(buyer)).toMatchObject({ balance: FIVE - 600_000n, allowance: TWENTY - 600_000n, owedSince: null })
    // A small debt is drawn once it is old.
    await spend(buyer, 7)
    await turn()
    await untilPaid(buyer, 2, wallets.later(6 * MINUTE))
    expect(await has(buyer)).toBe(FIVE - 600_007n)
  })

  it('is drawn and transferred once, with any number of workers and a death at any step', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 700_000)
    const others = [wallets.ctx, wallets.ctxOf(world.process()), wallets.ctxOf(world.process())]
    // Planned, without a signature.
    await Promise.all(others.map((ctx) => tendLines(lines(ctx))))
    expect(await draws(buyer)).toMatchObject([{ state: 'planned', amount: 700_000n }])
    await chain.mining('off')
    await Promise.all(others.map((ctx) => sendDraws(lines(ctx))))
    await Promise.all(others.map((ctx) => sendDraws(lines(ctx))))
    const [draw] = await draws(buyer)
    const signed = await world.ctx.treasury?.store.list(`draw ${draw?.id}`)
    expect([draw?.state, signed?.length]).toEqual(['approved', 1])
    // Signed, without a transaction on the chain.
    await chain.drop(`0x${signed?.[0]?.hash.slice(2)}`)
    await Promise.all(others.map((ctx) => turn(ctx)))
    await chain.mining('automatic')
    await Promise.all(others.map((ctx) => turn(ctx)))
    await untilPaid(buyer)
    expect(await draws(buyer)).toMatchObject([{ id: draw?.id, state: 'settled' }])
    expect([await has(buyer), await free(buyer)]).toEqual([FIVE - 700_000n, LINE])
  })

  it('pays once when the chain asks for ten times the fee while a draw waits', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 700_000)
    await chain.mining('off')
    await turns(2)
    await callChain(chain.rpcUrl, [['anvil_setNextBlockBaseFeePerGas', ['0x4a817c800']]])
    await chain.mining('automatic')
    // Nothing else is mined, so the price stays. A fee is raised after half a minute, to what the chain asks for then.
    await sql`update chain_transaction set signed_at = now() - interval '1 minute' where mined_at is null`.execute(
      world.db,
    )
    await untilPaid(buyer, 1, wallets.ctxOf(world.process()))
    expect([await has(buyer), (await draws(buyer)).length]).toEqual([FIVE - 700_000n, 1])
    // Empty blocks bring the price down again.
    await chain.mine(40)
  })

  it('is signed by its owner alone, once, and by a wallet that has the least amount', async () => {
    const buyer = await wallets.buyers.depositor(FIVE, 0n)
    const other = await wallets.buyers.depositor(FIVE, 0n)
    await expect(wallets.open(buyer, 999_999n)).rejects.toMatchObject({ code: 'invalid_request' })
    const view = await wallets.open(buyer, TWENTY)
    expect(view).toMatchObject({ status: 'open', spender: world.treasury.toLowerCase(), advancedUsdc: '0' })
    await expect(wallets.sign(buyer, view, other.purse)).rejects.toMatchObject({ code: 'invalid_signature' })
    expect((await wallets.sign(buyer, view)).permit).toMatchObject({ status: 'signed', valueUsdc: TWENTY.toString() })
    expect((await wallets.sign(buyer, view)).permit).toMatchObject({ status: 'signed' })
    const again = await wallets.open(buyer, 2_000_000n)
    await expect(wallets.sign(buyer, again)).rejects.toMatchObject({ code: 'conflict' })
    await wallets.untilTurned('credit is advanced', async () => (await line(buyer)).advanced > 0n)
    expect(await line(buyer)).toMatchObject({ allowance: TWENTY, advanced: 1_000_000n })
    const poor = await wallets.buyers.depositor(999_999n, 0n)
    const asked = await wallets.open(poor, TWENTY)
    await expect(wallets.sign(poor, asked)).rejects.toMatchObject({ code: 'insufficient_balance' })
  })
})

describe('the advanced credit', () => {
  it('is the smaller of balance and allowance, and falls when they fall', async () => {
    const buyer = await wallets.buyers.depositor(FIVE)
    await wallets.allow(buyer, 400_000n)
    await turn()
    // An allowance without a permit opens no line.
    expect(await free(buyer)).toBe(0)
    await wallets.open(buyer)
    await turn()
    expect(await free(buyer)).toBe(400_000)
    await wallets.send(buyer.purse, FIVE - 300_000n, await elsewhere())
    await forget(buyer)
    await turn()
    expect([await free(buyer), (await line(buyer)).advanced]).toEqual([300_000, 300_000n])
  })

  it('is bounded for all accounts together', async () => {
    const { rows } = await sql<{ sum: bigint }>`select (-sum(balance))::bigint as sum from account
      where kind = 'wallet_advance'`.execute(world.db)
    const bound = String((rows[0]?.sum ?? 0n) + 250_000n)
    const ctx = wallets.ctxOf(world.process({ ALLOWANCE_TOTAL_MICRO: bound }))
    const buyer = await wallets.buyers.depositor(FIVE)
    await wallets.allow(buyer, TWENTY)
    await wallets.open(buyer)
    await turn(ctx)
    expect(await free(buyer)).toBe(250_000)
  })

  it('leaves the holds of calls until the calls end', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    const node = await world.gate.node('holder')
    await untilOpen(node)
    const { user } = buyer
    const hold = await node.funds.reserve(reserveRequest(user.buyerAccount, { want: 300_000 }))
    await wallets.close(buyer)
    expect([await free(buyer), (await line(buyer)).advanced]).toEqual([0, 300_000n])
    await expect(node.funds.reserve(reserveRequest(user.buyerAccount, { want: 1 }))).rejects.toMatchObject({
      code: 'insufficient_balance',
    })
    await turns(2)
    expect((await line(buyer)).advanced).toBe(300_000n)
    await node.funds.release({ rid: hold.rid, account: user.buyerAccount, keyId: null }, 'test', '{}')
    await turn()
    expect((await line(buyer)).advanced).toBe(0n)
  })
})

describe('a reorganisation of the chain', () => {
  it.each([1, 12])(
    'by %i blocks, which replaces the block of a draw, takes from the wallet once, and the books agree',
    async (blocks) => {
      const deep = wallets.ctxOf(world.process({ CHAIN_CONFIRMATIONS: String(blocks + 2) }))
      const buyer = await wallets.payer(FIVE, TWENTY)
      // The wallet's money remains when the blocks are gone.
      await chain.mine(blocks + 1)
      await spend(buyer, 600_000)
      const hasPaid = async () => (await has(buyer)) === FIVE - 600_000n
      await wallets.untilTurned('the draw is in a block', hasPaid, deep)
      await chain.mine(blocks - 1)
      await chain.reorganise(blocks)
      expect([await has(buyer), await draws(buyer)]).toMatchObject([FIVE, [{ state: 'approved', amount: 600_000n }]])
      await wallets.untilTurned('the draw is in a new block', hasPaid, deep)
      await chain.mine(blocks + 2)
      await untilPaid(buyer, 1, deep)
      const [draw] = await draws(buyer)
      const signed = (await world.ctx.treasury?.store.list(`draw ${draw?.id}`)) ?? []
      expect(new Set(signed.map(({ nonce }) => nonce)).size).toBe(1)
      const came = await listDeposits(world.db, buyer.user.buyerAccount, { before: undefined, limit: 5 })
      expect(came).toMatchObject([{ id: draw?.deposit, amount: 600_000n, transaction: draw?.transaction }])
      expect([await has(buyer), await free(buyer)]).toEqual([FIVE - 600_000n, LINE])
    },
  )
})

describe('a wallet that does not pay', () => {
  it('closes its line at once with the reason, and pays as soon as it can', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 600_000)
    await drain(buyer, FIVE - 100_000n)
    await turn()
    expect(await line(buyer)).toMatchObject({ state: 'stopped', reason: 'insufficient_balance', failures: 1 })
    expect([await free(buyer), (await line(buyer)).advanced]).toEqual([0, 600_000n])
    const owing = await listOwing.run(
      wallets.runCtx(),
      { kind: 'operator', keyId: null, source: 'test' },
      { limit: 10 },
    )
    expect(owing).toMatchObject([
      { account: buyer.user.buyerAccount, status: 'stopped', reason: 'insufficient_balance', owedMicro: '600000' },
    ])
    // The wallet's balance is drawn first, and the rest after the pause.
    await untilPaid(buyer)
    expect([await has(buyer), (await line(buyer)).advanced - BigInt(await posted(buyer))]).toEqual([0n, 500_000n])
    await fund(buyer, 2_000_000n)
    await turns(2)
    expect(await has(buyer)).toBe(2_000_000n)
    await untilPaid(buyer, 2, wallets.later(3 * HOUR))
    expect([await has(buyer), await free(buyer)]).toEqual([1_500_000n, LINE])
    expect(await line(buyer)).toMatchObject({ state: 'open', reason: null, failures: 0, retryAt: null })
  })

  it('because its allowance is gone shows that reason in its line and in its refusals', async () => {
    const buyer = await wallets.buyers.depositor(FIVE)
    await wallets.allow(buyer, TWENTY)
    await wallets.open(buyer)
    await turn()
    await spend(buyer, 600_000)
    await wallets.allow(buyer, 0n)
    await turn()
    expect(await line(buyer)).toMatchObject({ state: 'stopped', reason: 'insufficient_allowance', advanced: 600_000n })
    const node = await world.gate.node('refuser')
    await untilOpen(node)
    const refused = node.funds.reserve(reserveRequest(buyer.user.buyerAccount, { want: 9 }))
    await expect(refused).rejects.toMatchObject({
      code: 'insufficient_allowance',
      detail: { limit_source: 'allowance', available_usdc: '0' },
    })
    // A deposit pays the debt first, and nothing is taken twice.
    await wallets.buyers.transfer(buyer.purse, 700_000n)
    await wallets.untilTurned('the deposit has paid', async () => (await line(buyer)).advanced === 0n)
    expect([await free(buyer), (await line(buyer)).advanced]).toEqual([100_000, 0n])
    await wallets.allow(buyer, TWENTY)
    await forget(buyer)
    await turn()
    expect([await has(buyer), await free(buyer)]).toEqual([FIVE - 700_000n, LINE + 100_000])
  })

  it('that is emptied between the review and the signature ends the draw without a transfer', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 600_000)
    await tendLines(lines())
    await drain(buyer, FIVE)
    await sendDraws(lines())
    const [draw] = await draws(buyer)
    expect(draw).toMatchObject({ state: 'failed', reason: 'insufficient_balance' })
    expect(await world.ctx.treasury?.store.list(`draw ${draw?.id}`)).toEqual([])
    await turn()
    expect([await free(buyer), (await line(buyer)).state]).toEqual([0, 'stopped'])
  })

  it('because the token refuses the transfer is tried again, by another draw', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 600_000)
    await chain.blacklist(buyer.purse.address)
    await wallets.untilTurned('the draw has failed', async () => (await draws(buyer))[0]?.state === 'failed')
    expect(await draws(buyer)).toMatchObject([{ state: 'failed', reason: 'token_refused' }])
    expect(await line(buyer)).toMatchObject({ state: 'stopped', reason: 'token_refused' })
    await chain.blacklist(buyer.purse.address, false)
    await untilPaid(buyer, 1, wallets.later(3 * HOUR))
    expect(await draws(buyer)).toMatchObject([{ state: 'settled', amount: 600_000n }, { state: 'failed' }])
    expect([await has(buyer), await free(buyer)]).toEqual([FIVE - 600_000n, LINE])
  })
})

describe('the review of a draw', () => {
  it('takes nothing that the ledger does not show as a debt', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    const { chainId, asset, treasury } = purseOf(requireMoves(world.ctx))
    await sql`insert into allowance_draw (id, account, wallet, amount, chain_id, asset, treasury)
      values ('drw_forged', ${buyer.user.buyerAccount}, ${buyer.purse.address.toLowerCase()}, 1, ${chainId}, ${asset},
        ${treasury})`.execute(world.db)
    await turns(3)
    expect(await draws(buyer)).toMatchObject([{ id: 'drw_forged', state: 'failed', reason: 'not_owed' }])
    expect(await has(buyer)).toBe(FIVE)
  })

  it('waits while the books and the chain differ', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 600_000)
    await sql`insert into payout_hold (id, reason) values ('test-hold', 'test')`.execute(world.db)
    await turns(3)
    expect(await has(buyer)).toBe(FIVE)
    await sql`update payout_hold set cleared_at = now(), cleared_by = 'test', clear_reason = 'test'
      where id = 'test-hold'`.execute(world.db)
    await untilPaid(buyer)
    expect(await has(buyer)).toBe(FIVE - 600_000n)
  })

  it('is skipped after a change of the treasury: its line is stopped', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 100_000)
    const next = await chain.newWallet({ eth: 10n ** 18n })
    const ctx = wallets.ctxOf(world.process({ TREASURY_ADDRESS: next.address, TREASURY_PRIVATE_KEY: next.privateKey }))
    await forget(buyer)
    await tendLines(lines(ctx))
    expect(await line(buyer)).toMatchObject({ state: 'stopped', reason: 'treasury_changed', advanced: 100_000n })
    await untilPaid(buyer, 1, wallets.later(3 * HOUR))
    expect([await has(buyer), (await line(buyer)).state]).toEqual([FIVE - 100_000n, 'open'])
  })
})

describe('an owner who ends their line', () => {
  it('returns unspent credit, pays the debt, and revokes the allowance without ETH', async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    await spend(buyer, 3)
    const closed = await wallets.close(buyer)
    expect(closed).toMatchObject({ status: 'closed', balanceUsdc: null, advancedUsdc: '3', owedUsdc: '3' })
    await wallets.sign(buyer, closed)
    await wallets.untilTurned('the permit is used', async () => (await wallets.permitOf(buyer))?.state === 'used')
    expect([await has(buyer), await free(buyer)]).toEqual([FIVE - 3n, 0])
    expect((await wallets.close(buyer)).typedData).toBeNull()
    const view = await wallets.open(buyer)
    expect(view.status).toBe('open')
  })
})

describe('a refund', () => {
  it("returns unspent deposits of the account, and none of the market's advance", async () => {
    const buyer = await wallets.payer(FIVE, TWENTY)
    const account = buyer.user.buyerAccount
    const operator = { kind: 'operator', keyId: null, source: 'test' } as const
    const party = { wallet: undefined, account }
    const pay = (amount: bigint, eventId: string) =>
      recordFiatDeposit.run(wallets.runCtx(), operator, { ...party, amountUsd: microUsd(amount), eventId })
    const refund = (amount: bigint, ticket: string) =>
      refundFiat.run(wallets.runCtx(), operator, {
        ...party,
        amountUsd: microUsd(amount),
        ticket,
        kind: 'refund',
        note: 'test',
      })
    await pay(2_000_000n, 'evt-own')
    await spend(buyer, 1_500_000)
    // Half a dollar is the account's own, and a dollar is advanced.
    expect(await free(buyer)).toBe(1_500_000)
    await expect(refund(1_000_000n, 'too-much')).rejects.toMatchObject({
      code: 'conflict',
      detail: { available: '500000' },
    })
    await refund(300_000n, 'in-part')
    // The hold of a call comes out of the account's own credit first, as the charge will.
    const node = await world.gate.node('refunder')
    await untilOpen(node)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 150_000 }))
    await expect(refund(200_000n, 'held')).rejects.toMatchObject({ detail: { available: '50000' } })
    await node.funds.release({ rid: hold.rid, account, keyId: null }, 'test', '{}')
    await refund(200_000n, 'the-rest')
    await expect(refund(1n, 'lent')).rejects.toMatchObject({ code: 'conflict', detail: { available: '0' } })
    expect([await free(buyer), (await line(buyer)).advanced]).toEqual([LINE, 1_000_000n])
    await turns(2)
    expect([await draws(buyer), await has(buyer)]).toEqual([[], FIVE])
  })
})

const posted = (buyer: Depositor) => wallets.buyers.credit(buyer)
/** Moves money away from a wallet. Another account pays the gas. */
async function drain({ purse }: Depositor, usdc: bigint): Promise<void> {
  await callChain(chain.rpcUrl, [['anvil_setBalance', [purse.address, '0xde0b6b3a7640000']]])
  await wallets.send(purse, usdc, await elsewhere())
}
async function fund({ purse }: Depositor, usdc: bigint): Promise<void> {
  const donor = await wallets.buyers.depositor(usdc)
  await wallets.send(donor.purse, usdc, purse.address)
  await callChain(chain.rpcUrl, [['evm_mine', []]])
}
