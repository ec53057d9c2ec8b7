import type { Hex } from 'viem'
import { createWalletClient, http, parseAbi } from 'viem'
import { z } from 'zod'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { openAllowance } from '#control-plane/services/allowances/own-allowance.ts'
import { signAllowance } from '#control-plane/services/allowances/sign-allowance.ts'
import { reconcileNow } from '#control-plane/services/deposits/reconcile.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { createUser } from '#control-plane/services/users/users.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { CrashPoint } from '#shared/crash-point.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World, WorldChain } from '#test/faults/harness/world.ts'
import { PLAIN } from '#test/faults/harness/world.ts'
import { typedOf } from '#test/support/books/deposits.ts'
import type { ChainWallet } from '#test/support/chain/chain.ts'
import { CHAIN } from '#test/support/chain/chain.ts'
import type { FaultSpan, RpcFault } from '#test/support/chain/rpc-relay.ts'
import { until } from '#test/support/run/until.ts'
import { endOf } from './deaths.ts'

const OPERATOR = machineOperator('fault run')
const TOKEN = parseAbi(['function transfer(address, uint256)'])
const START_MICRO = 5_000_000n
export const SENT_MICRO = 1_000n
const STEP_MS = 30_000

/** The named places in the code of a draw from a wallet, of a deposit and of a payout. */
const DEATHS: readonly CrashPoint[] = [
  'draw_planned',
  'draw_approved',
  'before_sign',
  'after_sign',
  'after_broadcast',
  'deposit_read',
  'draw_in_tx',
  'deposit_in_tx',
  'deposit_booked',
  'payout_planned',
  'payout_signed',
  'payout_mined',
  'payout_in_tx',
  'payout_recorded',
]

/** A crash point of each kind, in the shared world of the short run. */
const QUICK_DEATHS: readonly CrashPoint[] = ['draw_approved', 'deposit_booked', 'payout_signed']

/** The worker's settings: every amount is drawn and paid at once. */
export const OFTEN = {
  ALLOWANCE_BATCH_MICRO: '1',
  ALLOWANCE_READ_SECONDS: '1',
  PAYOUT_EVERY_SECONDS: '1',
  PAYOUT_THRESHOLD_MICRO: '1',
}

/** A buyer whose wallet has no ETH and pays for its key, and a wallet of the same market that sends tokens. */
export type Payer = { readonly wallet: ChainWallet; readonly key: string; readonly actor: BuyerActor }

async function newPayer({ market, secrets }: World, wallet: ChainWallet): Promise<Payer> {
  const given = { wallet: wallet.address.toLowerCase(), keys: ['buyer'] }
  const { buyerKey } = await invoke(market.plane, OPERATOR, createUser, given)
  const key = buyerKey?.reveal() ?? ''
  secrets.all.set(`the key of ${wallet.address}`, key)
  const actor = await authenticate(market.plane, key)
  if (actor.kind !== 'buyer') throw new Error('a buyer has no key')
  return { wallet, key, actor }
}

const Permit = z.object({ value: z.string(), deadline: z.string() })

/** Lets a buyer's wallet pay, by a permit, and waits for the credit. */
async function allow({ market, sql }: World, { wallet, actor }: Payer): Promise<void> {
  const { typedData } = await invoke(market.plane, actor, openAllowance, { amountUsd: '100' })
  const typed = typedOf(typedData)
  const { value, deadline } = Permit.parse(typed.message)
  const signature = await wallet.account.signTypedData(typed)
  await invoke(market.plane, actor, signAllowance, { value, deadline: Number(deadline), signature })
  await until('credit is advanced', STEP_MS, async () => {
    const { rowCount } = await sql.query(
      `select from allowance_line l join account a on a.id = l.advance where l.account = $1 and a.balance < 0`,
      [actor.account],
    )
    return rowCount === 1
  })
}

/** Makes a call that the buyer's key pays for. Returns whether it was served. */
export async function call(world: World, { key }: Payer): Promise<boolean> {
  const answer = await fetch(`${world.origin(0)}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: PLAIN, max_tokens: 20, messages: [{ role: 'user', content: 'Say hello.' }] }),
  })
  await answer.arrayBuffer()
  return answer.status === 200
}

export async function send({ chain, environment }: WorldChain, { account }: ChainWallet): Promise<void> {
  const client = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
  const { TREASURY_ADDRESS: treasury = '' } = environment
  const to: Hex = `0x${treasury.slice(2)}`
  const args = [to, SENT_MICRO] as const
  const hash = await client.writeContract({ address: CONTRACTS.LocalUsdc, abi: TOKEN, functionName: 'transfer', args })
  await chain.publicClient.waitForTransactionReceipt({ hash })
}

/**
 * Waits until no money is in transit: no debt, no draw, no payout, no transfer without a check. In a world that other
 * rows share, sellers have earnings without real money: their payouts wait for a refill.
 */
export function untilQuiet({ sql }: World, isShared = false): Promise<void> {
  return until('the treasury is quiet', STEP_MS, async () => {
    const { rows } = await sql.query(
      `select
      (select count(*) from allowance_draw where state in ('planned', 'approved'))
      + (select count(*) from allowance_line l join account own on own.id = l.account join account lent on lent.id = l.advance
          where own.balance < -lent.balance)
      + (select count(*) from treasury_move where kind = 'new')
      + (select count(*) from treasury_transfer where state in ('scheduled', 'signed', 'mined')
        and not ($1 and state = 'scheduled' and coalesce(reason, '') = 'treasury_low')) as open`,
      [isShared],
    )
    return z.object({ open: z.coerce.number() }).parse(rows[0]).open === 0
  })
}

/** A buyer whose wallet pays, and one who sends tokens. */
export async function newPair(
  world: World,
  { chain }: WorldChain,
): Promise<{ readonly payer: Payer; readonly sender: Payer }> {
  const payer = await newPayer(world, await chain.newWallet({ usdc: START_MICRO }))
  const sender = await newPayer(world, await chain.newWallet({ usdc: START_MICRO, eth: 10n ** 18n }))
  await allow(world, payer)
  return { payer, sender }
}

async function dieOnTheWay(stage: Stage): Promise<void> {
  const { world } = stage
  const { chain: at, sql } = world
  const [worker] = world.workers
  if (at === undefined || worker === undefined) throw new Error('the world has no chain or no worker')
  const { payer, sender } = await newPair(world, at)
  let sent = 0n
  const deaths = stage.isQuick ? QUICK_DEATHS : DEATHS
  for (const point of deaths) {
    await worker.kill()
    await sql.query('delete from worker_lease')
    await worker.start({ environment: { ...OFTEN, CRASH_AT: `${point}#1` }, mustEnd: true, isHasty: true })
    await until('a call is served', STEP_MS, () => call(world, payer))
    await send(at, sender.wallet)
    sent += SENT_MICRO
    const code = await endOf(worker)
    stage.require(wasKilled(code), `${point}: ended with ${code}`)
    if (code === -1) await worker.kill()
    // Other workers would wait for the leases of the dead worker, which expire by themselves.
    await sql.query('delete from worker_lease')
    await worker.start({ environment: OFTEN })
    await untilQuiet(world, stage.isQuick)
  }
  stage.figure('deaths', deaths.length)
  await judge(stage, { payer, sender, sent })
  // Other rows have the usual settings.
  await worker.kill()
  await sql.query('delete from worker_lease')
  await worker.start()
}

type RpcTrouble = { readonly method: string; readonly fault: RpcFault; readonly span?: FaultSpan }

/** Faults of the chain's endpoint while draws, deposits and payouts are under way. */
const TROUBLES: readonly RpcTrouble[] = [
  { method: '*', fault: { kind: 'down' } },
  { method: '*', fault: { kind: 'late', ms: 1_000 } },
  { method: '*', fault: { kind: 'status', status: 500 } },
  { method: 'eth_sendRawTransaction', fault: { kind: 'done-cut' }, span: { times: 2 } },
  { method: 'eth_sendRawTransaction', fault: { kind: 'done-refused' }, span: { times: 2 } },
  { method: 'eth_sendRawTransaction', fault: { kind: 'dropped' }, span: { times: 2 } },
  { method: 'eth_getTransactionReceipt', fault: { kind: 'answer', result: null }, span: { times: 5 } },
  { method: 'eth_call', fault: { kind: 'nonsense' } },
  // An endpoint that keeps leaving out transfers stops payouts, as it should.
  { method: 'eth_getLogs', fault: { kind: 'answer', result: [] }, span: { times: 3 } },
  { method: 'eth_getLogs', fault: { kind: 'refuse' } },
]
/** Calls that meet a fault before it ends. */
const MET = 2

async function troubleOnTheWay(stage: Stage): Promise<void> {
  const { world } = stage
  const { chain: at } = world
  if (at === undefined) throw new Error('the world has no chain')
  const { payer, sender } = await newPair(world, at)
  let sent = 0n
  for (const { method, fault, span } of TROUBLES) {
    const calls = () => at.rpc.calls(method === '*' ? undefined : method)
    const before = calls()
    at.rpc.fault(method, fault, span)
    await until('a call is served', STEP_MS, () => call(world, payer))
    await send(at, sender.wallet)
    sent += SENT_MICRO
    await until(`${method} was asked`, STEP_MS, async () => calls() >= before + MET)
    at.rpc.pass()
    await untilQuiet(world)
  }
  stage.figure('faults', TROUBLES.length)
  await judge(stage, { payer, sender, sent })
}

/**
 * Checks that the wallets have the booked amounts, the reconciliation finds no difference, and no payout was stopped.
 */
export async function judge(stage: Stage, ended: Ended): Promise<void> {
  const { sql, market } = stage.world
  await compare(stage, ended)
  const { mismatches, failure } = await invoke(market.plane, OPERATOR, reconcileNow, {})
  stage.require(mismatches.length === 0 && failure === null, `${failure ?? ''} ${mismatches.join(', ')}`)
  const { rowCount } = await sql.query('select from payout_hold where cleared_at is null')
  stage.require(rowCount === 0, 'payouts were stopped')
}

type Ended = { readonly payer: Payer; readonly sender: Payer; readonly sent: bigint }

/** Compares wallets on the chain with the books. */
async function compare({ world, require }: Stage, { payer, sender, sent }: Ended): Promise<void> {
  const { sql, chain: at } = world
  const sum = async (query: string, of: string): Promise<bigint> => {
    const { rows } = await sql.query(query, [of])
    return BigInt(z.object({ sum: z.string().nullable() }).parse(rows[0]).sum ?? '0')
  }
  const left = async ({ wallet }: Payer) => (await at?.chain.usdcBalance(wallet.address)) ?? 0n
  const charged = await sum('select sum(charge)::text as sum from settlement where account = $1', payer.actor.account)
  const paid = START_MICRO - (await left(payer))
  require(charged > 0n && paid === charged, `the wallet paid ${paid} for calls of ${charged}`)
  const credited = await sum('select balance::text as sum from account where id = $1', sender.actor.account)
  require(credited === sent, `${sent} was sent, and ${credited} credited`)
  require((await left(sender)) === START_MICRO - sent, 'the sender lost more than it sent')
  // A payout of the last bookings may be under way, so the two are compared until they agree.
  let wrong = 'no seller was paid'
  const agree = async () => {
    const { rows } = await sql.query(`select recipient, sum(amount)::text as paid from treasury_transfer
      where purpose = 'payout' and state = 'paid' group by recipient`)
    const payouts = z.array(z.object({ recipient: z.string(), paid: z.string() })).parse(rows)
    for (const { recipient, paid: booked } of payouts) {
      const got = await at?.chain.usdcBalance(`0x${recipient.slice(2)}`)
      wrong = `${recipient} was paid ${booked} and has ${got}`
      if (got !== BigInt(booked)) return false
    }
    return payouts.length > 0
  }
  await until('sellers have the booked amounts', STEP_MS, agree).catch((error: unknown) =>
    require(false, `${wrong}: ${error}`),
  )
}

export const TREASURY_ROWS: readonly Row[] = [
  {
    number: 'F36',
    title: 'deaths at every place on the way of draws from wallets, deposits and payouts',
    isQuick: true,
    world: { hasChain: true, hasSigner: true, environment: OFTEN },
    run: dieOnTheWay,
  },
  {
    number: 'F36b',
    title: 'an endpoint of the chain that fails on the way of draws from wallets, deposits and payouts',
    world: { hasChain: true, hasSigner: true, environment: OFTEN },
    run: troubleOnTheWay,
  },
]
