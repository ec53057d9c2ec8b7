import { z } from 'zod'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { StepBack } from '#test/faults/harness/step-back.ts'
import { promoteReplica, restoreFolder, restoreToInstant } from '#test/faults/harness/step-back.ts'
import type { PaidCall, WalletLoad } from '#test/faults/harness/wallets.ts'
import { compareWallets, startWalletLoad } from '#test/faults/harness/wallets.ts'
import type { World, WorldChain } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'
import { untilNoticed } from './ledger-past.ts'
import { requireNoFailedJobs } from './posting.ts'
import type { Payer } from './treasury.ts'
import { call, judge, newPair, OFTEN, SENT_MICRO, send, untilQuiet } from './treasury.ts'

const WALLETS = 2
/** Least number of ends of each kind that a ledger loses, and of calls that each load makes between two steps. */
const LOST = 1
const SERVED = 3
const GOES_ON_MS = 60_000
/** The validity of a signature. A hold lasts longer. */
const VALID_SECONDS = 60
const LIFTED_MS = 60_000
/** Money beyond the debts, so that no payout waits for a draw. */
const RESERVE_TRANSFERS = 50

/** Work of all kinds that moves money on the chain, until it is stopped. */
type ChainWork = { readonly sent: () => bigint; stop(): Promise<void> }

/** The buyer whose wallet pays for calls by draws, and the buyer who deposits. */
function startChainWork(world: World, at: WorldChain, payer: Payer, sender: Payer): ChainWork {
  let isOver = false
  let sent = 0n
  const repeat = async (step: () => Promise<unknown>) => {
    while (!isOver) {
      await step().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, PACE_MS))
    }
  }
  const working = [
    repeat(() => call(world, payer)),
    repeat(async () => {
      await send(at, sender.wallet)
      sent += SENT_MICRO
    }),
  ]
  return {
    sent: () => sent,
    async stop() {
      isOver = true
      await Promise.all(working)
    },
  }
}

const PACE_MS = 1_000

/** Restores the ledger under payouts, draws, deposits and payments by wallet, which are in all their states. */
async function loseMoves(stage: Stage, stepBack: StepBack): Promise<void> {
  const { world } = stage
  const { chain: at } = world
  if (at === undefined) throw new Error('the world has no chain')
  const { payer, sender } = await newPair(world, at)
  for (let count = 0; count < RESERVE_TRANSFERS; count++) await send(at, sender.wallet)
  const work = startChainWork(world, at, payer, sender)
  const loads: WalletLoad[] = [await startWalletLoad(world, at, WALLETS)]
  let before: Left | undefined
  let lost: Left | undefined
  try {
    await stepBack(world, {
      async keep() {
        await untilDone(stage, loads, NOTHING_LEFT)
        before = await readLeft(world)
      },
      async lose() {
        const since = before ?? NOTHING_LEFT
        // The ledger loses the accounts of these wallets as well.
        loads.push(await startWalletLoad(world, at, WALLETS))
        await untilDone(stage, loads, since)
        lost = await readLeft(world)
      },
    })
    for (const kind of KINDS) stage.figure(`lost ${kind}s`, (lost?.[kind] ?? 0) - (await readLeft(world))[kind])
    await untilNoticed(stage)
    await untilServed(loads)
    const began = performance.now()
    await until('payouts are possible again', LIFTED_MS, async () => {
      await at.chain.mine()
      const { rowCount } = await world.sql.query('select from money_epoch where held_at is not null')
      return rowCount === 0
    })
    stage.figure('held for (ms)', performance.now() - began)
    await untilServed(loads)
  } finally {
    await work.stop()
    await Promise.all(loads.map((load) => load.stop()))
  }
  await untilQuiet(world)
  for (const load of loads) for (const wrong of await compareWallets(world, at, load)) stage.require(false, wrong)
  await requireNoFailedJobs(stage)
  await requireWhole(stage)
  await judge(stage, { payer, sender, sent: work.sent() + BigInt(RESERVE_TRANSFERS) * SENT_MICRO })
  stage.figure('payments', loads.flatMap(({ calls }) => calls).length)
}

const KINDS = ['payout', 'draw', 'deposit', 'payment'] as const
type Left = Readonly<Record<(typeof KINDS)[number], number>>
const NOTHING_LEFT: Left = { payout: 0, draw: 0, deposit: 0, payment: 0 }
const LeftRow = z.strictObject({
  payout: z.coerce.number(),
  draw: z.coerce.number(),
  deposit: z.coerce.number(),
  payment: z.coerce.number(),
})

/** The number of ends in the ledger, of each kind. */
async function readLeft({ sql }: World): Promise<Left> {
  const { rows } = await sql.query(`select
    (select count(*) from treasury_transfer where state = 'paid') as payout,
    (select count(*) from allowance_draw where state = 'settled') as draw,
    (select count(*) from treasury_move where kind = 'deposit') as deposit,
    (select count(*) from chain_payment where booked_at is not null) as payment`)
  return LeftRow.parse(rows[0])
}

/** Waits until enough operations of every kind have ended. The others are under way, in all their states. */
async function untilDone({ world }: Stage, loads: readonly WalletLoad[], since: Left): Promise<void> {
  await until('all kinds of work are done', GOES_ON_MS, async () => {
    const left = await readLeft(world)
    return KINDS.every((kind) => left[kind] >= since[kind] + LOST)
  })
  await untilServed(loads)
}

/** Waits until the buyers of each load are served again. */
async function untilServed(loads: readonly WalletLoad[]): Promise<void> {
  const counts = loads.map(({ calls }) => countServed(calls))
  await until('wallets are served', GOES_ON_MS, () =>
    loads.every(({ calls }, index) => countServed(calls) >= (counts[index] ?? 0) + SERVED),
  )
}

const countServed = (calls: readonly PaidCall[]): number => calls.filter(({ served }) => served.size > 0).length

/**
 * Checks that every departure is in the books and that the platform covered no loss. A seller who was paid twice would
 * have cost it money.
 */
async function requireWhole({ world: { sql }, require }: Stage): Promise<void> {
  const nameless = await sql.query(
    `select tx_hash from treasury_move where direction = 'out' and kind in ('new', 'unknown')`,
  )
  require(nameless.rowCount === 0, `${nameless.rowCount} departures have no row`)
  const covered = await sql.query(`select from ledger_tx where kind = 'payout_cover'`)
  require(covered.rowCount === 0, `the platform covered ${covered.rowCount} payouts`)
}

const world = {
  hasChain: true,
  hasSigner: true,
  environment: { ...OFTEN, PAYOUT_VALID_SECONDS: String(VALID_SECONDS) },
}

export const CHAIN_PAST_ROWS: readonly Row[] = [
  {
    number: 'F48b',
    title: 'the folder of Postgres is put back under payouts, draws, deposits and payments of wallets',
    world,
    run: (stage) => loseMoves(stage, restoreFolder),
  },
  {
    number: 'F49b',
    title: 'Postgres is restored to an instant under payouts, draws, deposits and payments of wallets',
    world: { ...world, keepsArchive: true },
    run: (stage) => loseMoves(stage, restoreToInstant),
  },
  {
    number: 'F50b',
    title: 'a late replica is promoted under payouts, draws, deposits and payments of wallets',
    world: { ...world, keepsArchive: true },
    run: (stage) => loseMoves(stage, promoteReplica),
  },
]
