import { sql } from 'kysely'
import type { Hex } from 'viem'
import { createWalletClient, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import type { WebhookEvent } from '#control-plane/db/tables/webhooks.ts'
import { changeCursor, listStrayTokens, lockCursor } from '#control-plane/db/treasury-moves.ts'
import { listDeliveries } from '#control-plane/db/webhook-deliveries.ts'
import { insertWebhook } from '#control-plane/db/webhooks.ts'
import { fundTreasury } from '#control-plane/services/deposits/fund-treasury.ts'
import { assignMove } from '#control-plane/services/deposits/operator-moves.ts'
import { readMoves } from '#control-plane/services/deposits/read-moves.ts'
import { takeMoves } from '#control-plane/services/deposits/take-moves.ts'
import { watchMoves } from '#control-plane/services/deposits/watch-moves.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { Depositor, DepositWorld } from '#test/support/books/deposits.ts'
import { OPERATOR, startDeposits } from '#test/support/books/deposits.ts'
import { ids } from '#test/support/books/gate.ts'
import type { PayoutWorld } from '#test/support/books/payouts.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'

const FIVE = 5_000_000n
let chain: OwnChain
let world: PayoutWorld
let buyers: DepositWorld['buyers']
let stop: DepositWorld['stop']

beforeAll(async () => {
  ;({ chain, world, buyers, stop } = await startDeposits())
})
afterAll(() => stop())

const turn = (ctx = world.ctx) => buyers.turn(ctx)

describe('a transfer from a wallet that has signed in', () => {
  it('is credited exactly and once, with any number of workers', async () => {
    const buyer = await buyers.depositor(FIVE)
    const hash = await buyers.transfer(buyer.purse, 1_234_567n)
    await buyers.transfer(buyer.purse, 1n)
    const others = [world.ctx, world.process(), world.process()]
    await Promise.all(others.map((ctx) => turn(ctx)))
    await Promise.all(others.map((ctx) => turn(ctx)))
    expect(await buyers.credit(buyer)).toBe(1_234_568)
    const listed = await buyers.deposits(buyer)
    expect(listed.toSorted((one, other) => Number(one.amount - other.amount))).toMatchObject([
      { method: 'transfer', state: 'credited', amount: 1n },
      { method: 'transfer', state: 'credited', amount: 1_234_567n, transaction: hash },
    ])
  })

  it('is credited once when a worker died after reading, or while booking', async () => {
    const buyer = await buyers.depositor(FIVE)
    await buyers.transfer(buyer.purse, 700_000n)
    expect(await readMoves(buyers.reading())).toBe(1)
    expect(await buyers.credit(buyer)).toBe(0)
    const [one, two, three] = await Promise.all([
      takeMoves(buyers.reading()),
      takeMoves(buyers.reading()),
      turn(world.process()),
    ])
    expect(one + two + three.credited).toBe(1)
    await turn()
    expect(await buyers.credit(buyer)).toBe(700_000)
  })
})

describe('a transfer from the cold address', () => {
  it('is the treasury’s own money, although its wallet has signed in', async () => {
    const cold = await buyers.depositor(FIVE)
    const swept = world.process({ TREASURY_COLD_ADDRESS: cold.purse.address, TREASURY_CEILING_MICRO: '1' })
    const hash = await buyers.transfer(cold.purse, 1_000_000n)
    await turn(swept)
    expect(await buyers.moveOf(hash)).toMatchObject({ kind: 'sweep', ref: null })
    expect(await buyers.credit(cold)).toBe(0)
  })
})

describe('a transfer from an unknown wallet', () => {
  it('is unclaimed until the wallet signs in, and then belongs to its account', async () => {
    const stranger = await chain.newWallet({ usdc: FIVE, eth: 10n ** 18n })
    const hash = await buyers.transfer(stranger, 2_000_000n)
    await turn()
    expect(await buyers.moveOf(hash)).toMatchObject({ kind: 'unknown', reason: 'unknown_sender', amount: 2_000_000n })
    const buyer = { purse: stranger, user: await buyers.signIn(stranger) }
    await watchMoves(world.ctx)
    await turn()
    expect(await buyers.credit(buyer)).toBe(2_000_000)
    await watchMoves(world.ctx)
    expect(await buyers.moveOf(hash)).toMatchObject({ kind: 'deposit' })
  })

  it('is assigned to an account by an operator, once', async () => {
    const stranger = await chain.newWallet({ usdc: FIVE, eth: 10n ** 18n })
    const buyer = await buyers.depositor(0n)
    const transaction = await buyers.transfer(stranger, 3_000_000n)
    await turn()
    const given = {
      wallet: buyer.purse.address.toLowerCase(),
      account: undefined,
      transaction,
      place: 0,
      reason: 'asked',
    }
    const done = await Promise.allSettled([1, 2].map(() => assignMove.run(buyers.runCtx(), OPERATOR, given)))
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await expect(assignMove.run(buyers.runCtx(), OPERATOR, given)).rejects.toMatchObject({ code: 'conflict' })
    expect(await buyers.credit(buyer)).toBe(3_000_000)
  })

  it('is the operator’s capital where an operator says so, and no deposit afterwards', async () => {
    const stranger = await chain.newWallet({ usdc: FIVE, eth: 10n ** 18n })
    const fund = (transaction: string) =>
      fundTreasury.run(buyers.runCtx(), OPERATOR, { transaction, reason: 'capital' })
    const before = await buyers.transfer(stranger, 1_000_000n)
    expect(await fund(before)).toMatchObject({ amountMicro: '1000000', isRepeat: false })
    await turn()
    expect(await buyers.moveOf(before)).toMatchObject({ kind: 'capital' })
    const after = await buyers.transfer(stranger, 1_000_000n)
    await turn()
    expect(await fund(after)).toMatchObject({ isRepeat: false })
    expect(await fund(after)).toMatchObject({ isRepeat: true })
    expect(await buyers.moveOf(after)).toMatchObject({ kind: 'capital' })
    const buyer = await buyers.depositor(FIVE)
    const deposited = await buyers.transfer(buyer.purse, 1_000_000n)
    await turn()
    await expect(fund(deposited)).rejects.toMatchObject({ code: 'conflict', detail: { kind: 'deposit' } })
    expect(await buyers.credit(buyer)).toBe(1_000_000)
  })
})

let tokens = 0
/** Makes another token, of which a wallet has some. */
async function otherToken({ account, address }: ChainWallet): Promise<Hex> {
  const token: Hex = `0x${(0xfa4e1 + tokens++).toString(16).padStart(40, '0')}`
  const code = await chain.publicClient.getCode({ address: CONTRACTS.LocalUsdc })
  await callChain(chain.rpcUrl, [['anvil_setCode', [token, code]]])
  const minter = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
  const mint = [{ type: 'function', name: 'mint', inputs: [{ type: 'address' }, { type: 'uint256' }] }]
  const hash = await minter.writeContract({ address: token, abi: mint, functionName: 'mint', args: [address, FIVE] })
  await chain.publicClient.waitForTransactionReceipt({ hash })
  return token
}

describe('other tokens', () => {
  it('are counted and not credited', async () => {
    const buyer = await buyers.depositor(FIVE)
    const token = await otherToken(buyer.purse)
    await buyers.transfer(buyer.purse, FIVE, token)
    await turn()
    await turn()
    const strays = (await listStrayTokens(world.db, buyers.purse(), 10)).filter((stray) => stray.token === token)
    expect(strays).toMatchObject([{ transfers: 1n, amount: '5000000' }])
    expect(await buyers.credit(buyer)).toBe(0)
  })
})

describe('a webhook', () => {
  /** Announces the deposits of a buyer. Returns the events written so far, in the order of their blocks. */
  const listen = async ({ user }: Depositor) => {
    const id = ids.make('whk')
    const settings = {
      url: 'https://hooks.example.com/',
      label: null,
      lowBalanceMicro: null,
      isEnabled: true,
      format: 'standard' as const,
    }
    const events: WebhookEvent[] = ['deposit.credited', 'deposit.waiting']
    await transact(world.db, (trx) =>
      insertWebhook(trx, { id, account: user.buyerAccount, ...settings, events, secret: '{}', at: 0 }),
    )
    return async () => {
      const found = await listDeliveries(world.db, id, { before: undefined, limit: 50 })
      const told = found.map(({ event, body }) => ({ event, ...JSON.parse(body).data }))
      return told.sort((one, other) => one.block - other.block)
    }
  }

  it('is notified of a deposit once, with its transaction, with any number of workers', async () => {
    const buyer = await buyers.depositor(FIVE)
    const told = await listen(buyer)
    const transaction = await buyers.transfer(buyer.purse, 1_500_000n)
    const way = await buyers.open(buyer, 2_000_000n)
    await buyers.hand(buyer, way.deposit?.id ?? '', await buyers.signatureOf(way, buyer.purse))
    const others = [world.ctx, world.process(), world.process()]
    for (let time = 0; time < 3; time++) await Promise.all(others.map((ctx) => turn(ctx)))
    const sender = buyer.purse.address.toLowerCase()
    const of = { event: 'deposit.credited', sender, block: expect.any(Number) }
    const [first] = (await buyers.deposits(buyer)).filter(({ method }) => method === 'transfer')
    expect(await told()).toEqual([
      { ...of, deposit_id: first?.id, method: 'transfer', amount_usdc: '1500000', tx_hash: transaction },
      {
        ...of,
        deposit_id: way.deposit?.id,
        method: 'authorization',
        amount_usdc: '2000000',
        tx_hash: expect.stringMatching(/^0x/),
      },
    ])
  })

  it('is notified of money that waits for an operator, with the known account', async () => {
    const sum = 100_000_000_000_000n
    const [buyer, stranger] = [await buyers.depositor(sum), await chain.newWallet({ usdc: FIVE, eth: 10n ** 18n })]
    const told = await listen(buyer)
    const tooMuch = await buyers.transfer(buyer.purse, sum)
    await turn()
    expect([await buyers.credit(buyer), (await buyers.moveOf(tooMuch))?.reason]).toEqual([0, 'balance_limit'])
    // An authorization of this account's deposit, used with the money of an unknown wallet.
    const way = await buyers.open(buyer, 2_000_000n)
    const typed = { ...JSON.parse(way.typedData ?? '') }
    typed.message.from = stranger.address
    const forged = { ...way, typedData: JSON.stringify(typed) }
    await buyers.submit(stranger, forged, await buyers.signatureOf(forged, stranger))
    await buyers.turns(2)
    expect(await told()).toMatchObject([
      { event: 'deposit.waiting', reason: 'balance_limit', tx_hash: tooMuch, amount_usdc: sum.toString() },
      { event: 'deposit.waiting', reason: 'unknown_sender', sender: stranger.address.toLowerCase() },
    ])
  })

  it('is notified of each transfer of another token once, and of ten a day at most', async () => {
    const buyer = await buyers.depositor(0n)
    const told = await listen(buyer)
    const token = await otherToken(buyer.purse)
    const transaction = await buyers.transfer(buyer.purse, 7n, token)
    await turn()
    const first = {
      event: 'deposit.waiting',
      reason: 'wrong_token',
      sender: buyer.purse.address.toLowerCase(),
      amount_usdc: null,
      token,
      token_amount: '7',
      tx_hash: transaction,
      block: expect.any(Number),
    }
    expect(await told()).toEqual([first])
    for (let time = 0; time < 12; time++) await buyers.transfer(buyer.purse, 1n, token)
    await turn()
    // The same blocks once more.
    await transact(world.db, async (trx) => {
      const cursor = await lockCursor(trx, buyers.purse())
      await changeCursor(trx, buyers.purse(), {
        nextBlock: cursor?.firstBlock ?? 0n,
        provenBlock: (cursor?.firstBlock ?? 1n) - 1n,
      })
    })
    await turn()
    expect(await told()).toHaveLength(10)
  })
})

describe('a deposit by signature', () => {
  it('credits an account from a wallet without ETH, to the micro-USD, and once', async () => {
    const buyer = await buyers.depositor(FIVE, 0n)
    const way = await buyers.open(buyer, 4_000_000n)
    const id = way.deposit?.id ?? ''
    const signature = await buyers.signatureOf(way, buyer.purse)
    const handed = await Promise.all([1, 2, 3].map(() => buyers.hand(buyer, id, signature)))
    expect(handed.map(({ status }) => status)).toEqual(['signed', 'signed', 'signed'])
    await Promise.all([turn(), turn(world.process())])
    await buyers.turns(3)
    expect(await buyers.credit(buyer)).toBe(4_000_000)
    expect(await chain.usdcBalance(buyer.purse.address)).toBe(1_000_000n)
    expect(await buyers.deposits(buyer)).toMatchObject([{ id, state: 'credited', amount: 4_000_000n }])
    expect(await buyers.hand(buyer, id, signature)).toMatchObject({ status: 'credited' })
  })

  it('belongs to the account that opened it, for any signer and sender', async () => {
    const [buyer, other] = [await buyers.depositor(0n), await buyers.depositor(FIVE)]
    const way = await buyers.open(buyer, 2_000_000n, other.purse.address.toLowerCase())
    const signature = await buyers.signatureOf(way, other.purse)
    await buyers.submit(other.purse, way, signature)
    await turn()
    expect([await buyers.credit(buyer), await buyers.credit(other)]).toEqual([2_000_000, 0])
    // The deposit was not submitted, and is credited nevertheless.
    expect(await buyers.deposits(buyer)).toMatchObject([{ state: 'credited' }])
  })

  it("is not named by its nonce alone: a deposit of another wallet with that nonce is the other wallet's", async () => {
    const [buyer, thief] = [await buyers.depositor(FIVE), await buyers.depositor(FIVE)]
    const way = await buyers.open(buyer, 2_000_000n)
    const typed = { ...JSON.parse(way.typedData ?? '') }
    typed.message.from = thief.purse.address
    const forged = { ...way, typedData: JSON.stringify(typed) }
    await buyers.submit(thief.purse, forged, await buyers.signatureOf(forged, thief.purse))
    await turn()
    expect([await buyers.credit(buyer), await buyers.credit(thief)]).toEqual([0, 2_000_000])
    expect(await buyers.deposits(buyer)).toMatchObject([{ state: 'opened' }])
  })

  it('is refused for a stranger’s signature, another account’s deposit, and a wallet without the money', async () => {
    const [buyer, other] = [await buyers.depositor(FIVE, 0n), await buyers.depositor(FIVE, 0n)]
    const way = await buyers.open(buyer, 2_000_000n)
    const id = way.deposit?.id ?? ''
    const [own, strange] = await Promise.all([buyer, other].map(({ purse }) => buyers.signatureOf(way, purse)))
    await expect(buyers.hand(buyer, id, strange ?? '')).rejects.toMatchObject({ code: 'invalid_signature' })
    await expect(buyers.hand(other, id, own ?? '')).rejects.toMatchObject({ code: 'not_found' })
    const poor = await buyers.depositor(1_999_999n, 0n)
    const given = await buyers.open(poor, 2_000_000n)
    const signed = await buyers.signatureOf(given, poor.purse)
    await expect(buyers.hand(poor, given.deposit?.id ?? '', signed)).rejects.toMatchObject({
      code: 'insufficient_balance',
      detail: { balance_usdc: '1999999', amount_usdc: '2000000' },
    })
    await expect(buyers.open(buyer, 999_999n)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('that the token refuses reports it, and an unused one expires', async () => {
    const [blocked, idle] = [await buyers.depositor(FIVE, 0n), await buyers.depositor(FIVE, 0n)]
    const way = await buyers.open(blocked, 2_000_000n)
    await buyers.hand(blocked, way.deposit?.id ?? '', await buyers.signatureOf(way, blocked.purse))
    await chain.blacklist(blocked.purse.address)
    await buyers.turns(2)
    expect(await buyers.deposits(blocked)).toMatchObject([{ state: 'refused', reason: 'token_refused' }])
    await buyers.open(idle, 2_000_000n)
    await sql`alter table deposit disable trigger deposit_keeps`.execute(world.db)
    await sql`update deposit set valid_until = now() - interval '1 minute' where account = ${idle.user.buyerAccount}`.execute(
      world.db,
    )
    await sql`alter table deposit enable trigger deposit_keeps`.execute(world.db)
    await chain.mine()
    await turn()
    expect(await buyers.deposits(idle)).toMatchObject([{ state: 'expired', reason: 'not_used' }])
  })
})

describe('money of calls that wallets pay', () => {
  it.each(['exact', 'upto'] as const)('by %s is booked with its call, and is not a deposit', async (scheme) => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const rid = await calls.claimed(await calls.sign(buyer.purse, scheme, 20_000n))
    const { transaction } = await calls.settle(rid, 7_321n)
    await buyers.turns(2)
    expect(await buyers.moveOf(transaction ?? '')).toMatchObject({ kind: 'payment' })
    await calls.booked(rid)
    expect(await buyers.credit(buyer)).toBe(scheme === 'exact' ? 20_000 - 7_321 : 0)
  })

  it('cannot be claimed for a call after it arrived as a deposit', async () => {
    const calls = await buyers.paying()
    const buyer = await buyers.depositor(FIVE)
    const signed = await calls.sign(buyer.purse, 'exact', 20_000n)
    const { authorization, signature } = Object(signed.payload.payload)
    const typed = { domain: { verifyingContract: CONTRACTS.LocalUsdc }, message: authorization }
    await buyers.submit(buyer.purse, { typedData: JSON.stringify(typed) }, signature)
    await turn()
    expect(await buyers.credit(buyer)).toBe(20_000)
    // The facilitator verified the payment before it arrived.
    const verify = () => Promise.resolve({ isValid: true, payer: buyer.purse.address } as const)
    const facilitator = { ...calls.ctx.payments.facilitator, verify }
    const late = { ...calls.ctx, payments: { ...calls.ctx.payments, facilitator } }
    expect(await calls.claim(signed, {}, late)).toMatchObject({
      state: 'refused',
      reason: 'invalid_exact_evm_nonce_already_used',
    })
  })
})
