import { sql } from 'kysely'
import { listOpenDraws } from '#control-plane/db/allowance-draws.ts'
import { findLine } from '#control-plane/db/allowances.ts'
import { bookCalls } from '#control-plane/services/booking/ingest.ts'
import { RAIL_POSTINGS } from '#control-plane/services/booking/rail-postings.ts'
import type { ReadEvent } from '#control-plane/services/booking/read-event.ts'
import { isPoison, readEvent } from '#control-plane/services/booking/read-event.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { confirmBuyers } from '#control-plane/services/ledger/ledger.ts'
import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { findPayoutStop } from '#control-plane/services/payouts/payout-stops.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { liftWhenWhole } from '#control-plane/services/treasury/lift-hold.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { Random } from '#test/sim/time/random.ts'
import { createRandom } from '#test/sim/time/random.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { until } from '#test/support/run/until.ts'
import { allowing } from './allowances.ts'
import type { Depositor } from './deposits.ts'
import { balanceOf } from './ledger.ts'
import type { PayoutWorld, TestSeller } from './payouts.ts'
import { startPayouts } from './payouts.ts'
import { eventText } from './usage-events.ts'

/**
 * Sales, payouts, deposits and draws on a real database and a chain while the ledger is restored from backups. A seed
 * decides the operations. The promises: no seller is paid twice, each departure has a row, each deposit is credited
 * once, each sale in the journals is booked once, and payouts are possible again in the end.
 */

const WAIT_MS = 60_000
/** Longer than the validity of a payout's signature, in seconds. */
const OUTLAST_SECONDS = 700
const LINE_MICRO = 10_000_000
const PREPAID_MICRO = 20_000_000n
const WALLET_MICRO = 50_000_000n

type Lines = ReturnType<typeof allowing>
type Buyer = Depositor & { readonly opened: bigint; readonly isLine: boolean; spent: bigint }
type Sale = { readonly read: ReadEvent; readonly amount: bigint }

type Play = {
  readonly random: Random
  readonly chain: OwnChain
  readonly world: PayoutWorld
  readonly lines: Lines
  readonly sellers: readonly TestSeller[]
  readonly buyers: readonly Buyer[]
  /** The sales in the journals, by seller. */
  readonly journal: Map<TestSeller, Sale[]>
  restore: (() => Promise<void>) | undefined
  /** Credit that lost ledgers had advanced to buyers and that stays lost, in micro-USD. */
  lostAdvances: bigint
  /** The operations in the order in which they ran. */
  readonly done: string[]
}

type Operation = (play: Play) => Promise<unknown>

/** Plays the operations of a seed. Returns the broken promises, after the operations that led to them. */
export async function playRestores(seed: number, operations: number, server?: string): Promise<string[]> {
  const chain = await startChain()
  const world = await startPayouts(chain, { ALLOWANCE_LINE_MICRO: String(LINE_MICRO) }, server)
  try {
    const play = await prepare(createRandom(seed), chain, world)
    for (let number = 0; number < operations; number++) await drawn(play)
    await heal(play)
    const broken = await findBroken(play)
    return broken.length === 0 ? [] : [...broken, play.done.join(' ')]
  } finally {
    await world.stop()
    await chain.stop()
  }
}

async function prepare(random: Random, chain: OwnChain, world: PayoutWorld): Promise<Play> {
  const lines = allowing(world)
  await takeDeposits(world.ctx)
  const sellers = [await world.seller(0), await world.seller(0)]
  const prepaid = await lines.buyers.depositor(WALLET_MICRO)
  const line = await lines.payer(WALLET_MICRO, WALLET_MICRO)
  const buyers = [
    { ...prepaid, opened: WALLET_MICRO, isLine: false, spent: 0n },
    { ...line, opened: WALLET_MICRO, isLine: true, spent: 0n },
  ]
  const journal = new Map(sellers.map((seller) => [seller, []]))
  await lines.buyers.transfer(prepaid.purse, PREPAID_MICRO)
  await chain.mine()
  await takeDeposits(world.ctx)
  return { random, chain, world, lines, sellers, buyers, journal, restore: undefined, lostAdvances: 0n, done: [] }
}

const record = ({ world }: Play) => world.gate.ledger.readEpoch()

/** Books the sale of a seller, as the capture of its call would. A buyer spends the money of the account. */
async function sell(play: Play): Promise<void> {
  const { random, world, sellers, buyers, journal } = play
  const [seller, buyer] = [random.pick([...nonEmpty(sellers)]), random.pick([...nonEmpty(buyers)])]
  const amount = random.between(1, 3_000_000)
  if ((await countLost(play)) > 0 || (await balanceOf(world.db, buyer.user.buyerAccount)) < amount) return
  const sale = {
    account: buyer.user.buyerAccount,
    sellerAccount: seller.account,
    charge: amount,
    hold: amount,
    feeBps: 0,
  }
  const read = readEvent(eventText(sale, { offer: `ofr_${seller.id.slice(4)}` }), 'test', RAIL_POSTINGS)
  if (isPoison(read)) throw new Error(`no event: ${read.detail}`)
  journal.get(seller)?.push({ read, amount: BigInt(amount) })
  buyer.spent += BigInt(amount)
  await book(world, [read])
}

/** Sales in the journals that the ledger lacks. The gate counts them, so their money cannot be spent meanwhile. */
async function countLost({ world, journal }: Play): Promise<number> {
  const rids = [...journal.values()].flat().map(({ read }) => read.event.rid)
  return rids.length - (await world.gate.ledger.findSettled(rids)).size
}

function nonEmpty<Item>(items: readonly Item[]): readonly [Item, ...Item[]] {
  const [first, ...rest] = items
  if (first === undefined) throw new Error('there is no account')
  return [first, ...rest]
}

async function book({ gate }: PayoutWorld, reads: readonly ReadEvent[]): Promise<void> {
  const { balances } = await gate.ledger.transact((trx) => bookCalls(trx, reads, 'test'))
  await confirmBuyers(gate, balances)
}

/** The nodes post the lost events again, once they know about the restore. */
async function repost(play: Play): Promise<void> {
  const { heldAt, joinedAt } = await record(play)
  if (heldAt === undefined || joinedAt === undefined) return
  for (const sales of play.journal.values())
    await book(
      play.world,
      sales.map(({ read }) => read),
    )
}

/** A turn of the workers. Two processes may run it at the same time. */
async function turn({ random, world, lines }: Play): Promise<void> {
  const one = async () => {
    await moveTransfers(world.ctx)
    await lines.turn()
    await liftWhenWhole(world.ctx)
  }
  await Promise.all(random.chance(0.3) ? [one(), one()] : [one()])
}

async function backUp(play: Play): Promise<void> {
  if (play.restore !== undefined) return
  play.restore = await play.world.gate.backUpLedger()
}

/** Restores the backup. The restore is noticed only when the gate has seen a beat that the backup lacks. */
async function restore(play: Play): Promise<void> {
  const { world, random, restore: run } = play
  if (run === undefined) return
  play.restore = undefined
  const { beat } = await record(play)
  const before = await sumAdvances(play)
  await run()
  play.lostAdvances += before - (await sumAdvances(play))
  if (random.chance(0.2)) return
  await world.gate.redis.set(moneyKeys.beat, beat + 2)
}

/** All credit that was ever advanced to the buyers, according to the books. */
async function sumAdvances({ world, buyers }: Play): Promise<bigint> {
  const accounts = buyers.map(({ user }) => user.buyerAccount)
  const { rows } = await sql<{ sum: string }>`select coalesce(sum(e.amount), 0)::text as sum
    from ledger_entry e join ledger_tx t on t.id = e.tx
    where e.account = any(${accounts}::text[]) and e.amount > 0 and t.kind = 'advance'`.execute(world.db)
  return BigInt(rows[0]?.sum ?? 0)
}

const outlast = ({ chain }: Play) =>
  callChain(chain.rpcUrl, [
    ['evm_increaseTime', [OUTLAST_SECONDS]],
    ['evm_mine', []],
  ])

/** A buyer on credit sends tokens. A buyer whose wallet pays has no gas for that. */
async function deposit({ random, lines, buyers }: Play): Promise<void> {
  const payer = buyers.find(({ isLine }) => !isLine)
  if (payer !== undefined) await lines.buyers.transfer(payer.purse, BigInt(random.between(1, 2_000_000)))
}

/** The seller withdraws the whole balance by an authorization of the treasury. */
async function takeOut({ random, world, sellers }: Play): Promise<void> {
  const seller = random.pick([...nonEmpty(sellers)])
  const selfSubmit = random.chance(0.5)
  const answer = await world.request(seller, { selfSubmit }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'conflict') return undefined
    throw error
  })
  if (answer === undefined) return
  if (answer.authorization !== undefined && random.chance(0.6)) await world.submit(answer, seller.purse)
}

/** The weight of each operation. */
const OPERATIONS: readonly (readonly [weight: number, name: string, operation: Operation])[] = [
  [24, 'sell', sell],
  [6, 'deposit', deposit],
  [8, 'plan', ({ world }) => drainBalances(world.ctx, { isForced: true })],
  [6, 'request', takeOut],
  [24, 'turn', turn],
  [5, 'read', ({ world }) => takeDeposits(world.ctx)],
  [5, 'sign', ({ world }) => moveTransfers(world.ctx)],
  [6, 'mine', ({ chain, random }) => chain.mine(random.between(1, 3))],
  [5, 'repost', repost],
  [3, 'outlast', outlast],
  [6, 'backup', backUp],
  [6, 'restore', restore],
]
const WEIGHT = OPERATIONS.reduce((sum, [weight]) => sum + weight, 0)

async function drawn(play: Play): Promise<void> {
  let left = play.random.fraction() * WEIGHT
  for (const [weight, name, operation] of OPERATIONS) {
    left -= weight
    if (left >= 0) continue
    play.done.push(name)
    await operation(play)
    return
  }
}

/** Ends the run: the journals are read, signatures expire, and every operation ends. */
async function heal(play: Play): Promise<void> {
  const { world, lines } = play
  const step = async () => {
    await drainBalances(world.ctx, { isForced: true })
    await turn(play)
    await repost(play)
  }
  await step()
  await until('the journals are read', WAIT_MS, async () => {
    await step()
    const { heldAt, joinedAt } = await record(play)
    return heldAt === undefined || joinedAt !== undefined
  })
  for (const sales of play.journal.values())
    await book(
      world,
      sales.map(({ read }) => read),
    )
  await outlast(play)
  await until('payouts are possible', WAIT_MS, async () => {
    await step()
    return (await record(play)).heldAt === undefined && (await findPayoutStop(world.ctx)) === undefined
  })
  await until('no draw is open', WAIT_MS, async () => {
    await step()
    return (await listOpenDraws(world.db, 1)).length === 0
  })
  await outlast(play)
  await drainBalances(world.ctx, { isForced: true })
  await world.settle(world.ctx, () => lines.turn())
}

/** Lists the broken promises. */
async function findBroken({ world, chain, lines, sellers, buyers, journal, lostAdvances }: Play): Promise<string[]> {
  const { db } = world
  const broken: string[] = []
  const expectSame = (what: string, is: bigint, due: bigint) => {
    if (is !== due) broken.push(`${what}: ${is} in place of ${due}`)
  }
  for (const seller of sellers) {
    const earned = (journal.get(seller) ?? []).reduce((sum, { amount }) => sum + amount, 0n)
    const received = await chain.usdcBalance(seller.purse.address)
    const { available, inFlight, paid } = await world.books(seller)
    expectSame('the payouts of a seller, by the books', BigInt(paid), received)
    expectSame('the balance and the payouts of a seller', received + BigInt(available) + BigInt(inFlight), earned)
  }
  const shortfall = BigInt(await balanceOf(db, PLATFORM_ACCOUNTS.shortfall))
  let short = 0n
  for (const buyer of buyers) {
    const brought = buyer.opened - (await chain.usdcBalance(buyer.purse.address))
    const credit = BigInt(await balanceOf(db, buyer.user.buyerAccount))
    const advanced = (await findLine(db, buyer.user.buyerAccount))?.advanced ?? 0n
    short += credit - advanced - (brought - buyer.spent)
  }
  expectSame('the money of buyers beyond their payments', short, -shortfall)
  // Nothing shows a lost advance, so the platform covers the calls that it paid for, and no others.
  if (-shortfall > lostAdvances) broken.push(`the platform covers ${-shortfall}, and ${lostAdvances} was lost`)
  const mismatches = await lines.buyers.mismatches()
  if (!Array.isArray(mismatches) || mismatches.length > 0) broken.push(`mismatches: ${JSON.stringify(mismatches)}`)
  const breaches = (await world.breaches()).filter((line) => !line.startsWith('I24') || lostAdvances === 0n)
  return [...broken, ...breaches]
}
