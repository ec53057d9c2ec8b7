import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { stepTransfer } from '#control-plane/services/payouts/end-transfer.ts'
import { confirmTransfers, followTransfers } from '#control-plane/services/payouts/follow-transfers.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { sendBatches } from '#control-plane/services/payouts/send-transfers.ts'
import { readGround, signBatch } from '#control-plane/services/payouts/sign-transfers.ts'
import { REASONS } from '#control-plane/services/payouts/transfer-states.ts'
import type { TreasuryCtx } from '#control-plane/services/payouts/treasury-ctx.ts'
import { withTreasury } from '#control-plane/services/payouts/treasury-ctx.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { ids } from '#test/support/books/gate.ts'
import type { PayoutWorld, TestSeller } from '#test/support/books/payouts.ts'
import { startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { RpcFault, RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { until } from '#test/support/run/until.ts'

let chain: OwnChain
let relay: RpcRelay
let world: PayoutWorld
const OWED = 2_345_678

beforeAll(async () => {
  chain = await startChain()
  relay = await rpcRelay(chain.rpcUrl)
  world = await startPayouts(chain, { rpcUrl: relay.url, CHAIN_CONFIRMATIONS: '4', PAYOUT_EVERY_SECONDS: '86400' })
  await drainBalances(world.ctx, { isForced: true })
})
afterEach(() => relay.pass())
afterAll(async () => {
  expect(await world.breaches()).toEqual([])
  await world.stop()
  await relay.close()
  await chain.stop()
})

const received = ({ purse }: TestSeller) => chain.usdcBalance(purse.address)

function treasuryOf(ctx = world.ctx): TreasuryCtx {
  const found = withTreasury(ctx)
  if (found === undefined) throw new Error('there is no treasury')
  return found
}

/**
 * Runs turns of workers until every payout is paid, and checks that each seller's balance on the chain equals the
 * booked payouts.
 */
async function endsPaid(sellers: readonly TestSeller[], ctx = world.ctx): Promise<void> {
  await world.settle(ctx, () => chain.mine(4))
  for (const seller of sellers) {
    expect(await received(seller)).toBe(BigInt(OWED))
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: OWED })
    expect(await world.payouts(seller)).toHaveLength(1)
  }
}

const two = async () => [await world.seller(OWED), await world.seller(OWED)]
const plan = () => drainBalances(world.ctx, { isForced: true })
/** A permission to sign from a ledger that was never restored. */
const ANY_LEAVE = { way: 'out', beat: undefined, restoredAt: null } as const
const sign = async (by = treasuryOf()) => signBatch(by, { ground: await readGround(by), leave: ANY_LEAVE }, ids.ulid())

describe('a worker that dies', () => {
  const STAGES: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['planned', async () => undefined],
    ['signed', () => sign()],
    [
      'broadcast',
      async () => {
        await sign()
        await sendBatches(treasuryOf(), ANY_LEAVE)
      },
    ],
    [
      'mined',
      async () => {
        await sign()
        await sendBatches(treasuryOf(), ANY_LEAVE)
        await followTransfers(treasuryOf())
      },
    ],
    [
      'deep in the chain and not recorded',
      async () => {
        await sign()
        await sendBatches(treasuryOf(), ANY_LEAVE)
        await chain.mine(6)
      },
    ],
  ]
  it.each(STAGES)('when payouts are %s leaves them to the next worker, which pays each once', async (_stage, go) => {
    const sellers = await two()
    await plan()
    await go()
    await endsPaid(sellers, world.process())
  })
})

describe('two workers', () => {
  it('at once pay each seller once', async () => {
    const sellers = [...(await two()), ...(await two()), ...(await two())]
    const [other, third] = [world.process(), world.process()]
    const all = [world.ctx, other, third]
    await Promise.all(all.map((ctx) => drainBalances(ctx, { isForced: true })))
    for (let turn = 0; turn < 3; turn++) await Promise.all(all.map(moveTransfers))
    await endsPaid(sellers)
  })
})

describe('a chain that is reorganised', () => {
  it.each([1, 12])('by %i blocks still pays each seller once', async (blocks) => {
    const deep = world.process({ CHAIN_CONFIRMATIONS: String(blocks + 1) })
    const sellers = await two()
    await plan()
    await chain.mine(blocks)
    await moveTransfers(deep)
    await moveTransfers(deep)
    await chain.mine(blocks - 1)
    await moveTransfers(deep)
    for (const seller of sellers) expect(await world.books(seller)).toMatchObject({ paid: 0 })
    await chain.reorganise(blocks)
    await until('the payouts are on the chain again', 30_000, async () => {
      await moveTransfers(deep)
      return (await Promise.all(sellers.map(received))).every((amount) => amount > 0n)
    })
    await world.settle(deep, () => chain.mine(blocks + 1))
    await endsPaid(sellers, deep)
  })

  it('books no payout before the new block is final', async () => {
    const deep = withTreasury(world.process({ CHAIN_CONFIRMATIONS: '3' }))
    if (deep === undefined) throw new Error('there is no treasury')
    const sellers = await two()
    await plan()
    await chain.mine()
    await until('the payouts are mined', 30_000, async () => {
      await moveTransfers(deep)
      const found = await Promise.all(sellers.map((seller) => world.payouts(seller)))
      return found.every(([payout]) => payout?.state === 'mined')
    })
    await chain.reorganise(1)
    await chain.mine(3)
    await until('the payouts are on the chain again', 30_000, async () => {
      await deep.treasury.sender.sendAgain(async () => ANY_LEAVE)
      return (await Promise.all(sellers.map(received))).every((amount) => amount > 0n)
    })
    expect(await confirmTransfers(deep)).toBe(0)
    await world.settle(deep, () => chain.mine(3))
    await endsPaid(sellers, deep)
  })
})

const SENDING: readonly RpcFault[] = [
  { kind: 'done-refused' },
  { kind: 'done-cut' },
  { kind: 'dropped' },
  { kind: 'twice' },
  { kind: 'down' },
  { kind: 'status', status: 500 },
  { kind: 'hang' },
  { kind: 'done-unheard' },
]

describe('an endpoint with faults', () => {
  it.each(SENDING)('pays each seller once when a batch is sent: $kind', async (fault) => {
    const sellers = await two()
    await plan()
    relay.fault('eth_sendRawTransaction', fault, { times: 1 })
    await moveTransfers(world.ctx)
    relay.pass()
    await endsPaid(sellers)
  })

  it.each<readonly [string, RpcFault]>([
    ['eth_getLogs', { kind: 'answer', result: [] }],
    ['eth_getTransactionReceipt', { kind: 'answer', result: null }],
    ['eth_call', { kind: 'nonsense' }],
    ['eth_chainId', { kind: 'answer', result: '0x1' }],
    ['*', { kind: 'down' }],
    ['*', { kind: 'late', ms: 40 }],
  ])('neither pays twice nor gives paid money back after %s: %o', async (method, fault) => {
    const sellers = await two()
    await plan()
    await sign()
    await sendBatches(treasuryOf(), ANY_LEAVE)
    await chain.mine(6)
    relay.fault(method, fault)
    await moveTransfers(world.ctx)
    for (const seller of sellers) expect(await world.books(seller)).toMatchObject({ available: 0 })
    relay.pass()
    await endsPaid(sellers)
  })

  it('that has forgotten the log of a used authorization does not give its money back, though its time is over', async () => {
    const [seller] = await two()
    if (seller === undefined) throw new Error('there is no seller')
    const answer = await world.request(seller, { selfSubmit: true })
    expect(await world.submit(answer, seller.purse)).toBe('success')
    await callChain(chain.rpcUrl, [['evm_increaseTime', [700]]])
    await chain.mine(6)
    relay.fault('eth_getLogs', { kind: 'answer', result: [] })
    for (let turn = 0; turn < 2; turn++) await moveTransfers(world.ctx)
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: OWED, paid: 0 })
    relay.pass()
    await plan()
    await world.settle(world.ctx, () => chain.mine(4))
    expect(await world.books(seller)).toEqual({ available: 0, inFlight: 0, paid: OWED })
  })

  it('that asks for ten times the fee while a batch waits pays each seller once', async () => {
    const sellers = await two()
    await plan()
    await chain.mining('off')
    await moveTransfers(world.ctx)
    await callChain(chain.rpcUrl, [['anvil_setNextBlockBaseFeePerGas', ['0x4a817c800']]])
    await chain.mining('automatic')
    await endsPaid(sellers)
  })

  it('that names another chain signs and sends nothing', async () => {
    const sellers = await two()
    await plan()
    relay.fault('eth_chainId', { kind: 'answer', result: '0x1' })
    await moveTransfers(world.ctx)
    const [first] = sellers
    if (first === undefined) throw new Error('there is no seller')
    const [payout] = await world.payouts(first)
    expect(payout).toMatchObject({ state: 'scheduled', signature: null })
    relay.pass()
    await endsPaid(sellers)
  })
})

describe('nonces and gas', () => {
  it("are filled where the treasury's nonces have a gap, and every seller is paid", async () => {
    const sellers = await two()
    await plan()
    await sql`update chain_sender set next_nonce = next_nonce + 2 where address = ${world.treasury.toLowerCase()}`.execute(
      world.db,
    )
    await endsPaid(sellers)
  })

  it('work beside a transaction that another program sent with the same key, and every seller is paid', async () => {
    const sellers = await two()
    await plan()
    await sql`update chain_sender set next_nonce = next_nonce - 1 where address = ${world.treasury.toLowerCase()}`.execute(
      world.db,
    )
    await endsPaid(sellers)
  })
})

describe('the booking of a payout', () => {
  it('keeps the block of its first signature, by which its use is found, when it is signed again', async () => {
    const sellers = await two()
    await plan()
    await sign()
    const signedAt = async () => (await Promise.all(sellers.map((seller) => world.payouts(seller)))).flat()
    const before = await signedAt()
    for (const { id } of before) {
      expect(await stepTransfer(world.ctx, id, 'lapse', { batch: null, reason: REASONS.late })).toBe(true)
    }
    await chain.mine(3)
    await sign()
    const after = await signedAt()
    expect(after.map(({ state, signedAtBlock }) => ({ state, signedAtBlock }))).toEqual(
      before.map(({ signedAtBlock }) => ({ state: 'signed', signedAtBlock })),
    )
    await endsPaid(sellers)
  })

  it('ends once, for any number of requests at once', async () => {
    const sellers = await two()
    await plan()
    await sign()
    await sendBatches(treasuryOf(), ANY_LEAVE)
    await followTransfers(treasuryOf())
    await chain.mine(6)
    const all = [world.ctx, world.process(), world.process()].map((ctx) => confirmTransfers(treasuryOf(ctx)))
    const counts = await Promise.all(all)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2)
    await endsPaid(sellers)
  })

  it('stays as it is, and so does its end', async () => {
    const [seller] = await two()
    if (seller === undefined) throw new Error('there is no seller')
    await plan()
    await world.settle(world.ctx, () => chain.mine(4))
    const [payout] = await world.payouts(seller)
    const refused = async (set: string) =>
      sql`update treasury_transfer set ${sql.raw(set)} where id = ${payout?.id}`.execute(world.db).then(
        () => 'taken',
        (error: unknown) => (error instanceof Error ? error.message : ''),
      )
    for (const set of ["state = 'returned'", 'amount = 1', "recipient = '0x' || repeat('1', 40)", "reason = 'other'"]) {
      expect(await refused(set)).not.toBe('taken')
    }
  })
})
