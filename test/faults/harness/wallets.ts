import { setTimeout as pause } from 'node:timers/promises'
import { evm, Mppx } from 'mppx/client'
import { z } from 'zod'
import type { ChainWallet } from '#test/support/chain/chain.ts'
import { inHeader, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'
import type { World, WorldChain } from './world.ts'
import { PLAIN } from './world.ts'

const START_MICRO = 100_000_000n
const WALLETS = 6
const ASK_MS = 20_000
/** Largest number of times that a buyer with a lost answer sends its payment again. */
const MAX_SHOWN = 40
const AGAIN_MS = 250
/**
 * The pause of a buyer between two calls. Signatures of buyers without a pause take the processor time that a start
 * needs.
 */
const REST_BETWEEN_MS = 100
const REST_MS = 60_000
const RAILS = ['upto', 'exact', 'mpp'] as const

/** A payment and the answers that its buyer received, however often it was sent. */
export type PaidCall = {
  readonly wallet: string
  /** The calls whose answers arrived whole. More than one is a second service. */
  readonly served: ReadonlySet<string>
  /** The last status. 0 for none. */
  readonly status: number
}

/** Buyers that pay by wallet until they are stopped. */
export type WalletLoad = {
  readonly wallets: readonly ChainWallet[]
  readonly calls: readonly PaidCall[]
  stop(): Promise<void>
}

/** Starts buyers, one for each wallet. Each pays in all ways in turn, whole and streamed. */
export async function startWalletLoad(world: World, at: WorldChain, count = WALLETS): Promise<WalletLoad> {
  const wallets = await Promise.all(
    Array.from({ length: count }, () => at.chain.newWallet({ usdc: START_MICRO, eth: 10n ** 16n })),
  )
  for (const wallet of wallets.slice(1)) await at.chain.approvePermit2(wallet)
  const calls: PaidCall[] = []
  let isOver = false
  const work = async (wallet: ChainWallet, first: number) => {
    for (let number = first; !isOver; number += count) {
      const call = await buy(world, at, wallet, number)
      if (call !== undefined) calls.push(call)
      await pause(REST_BETWEEN_MS)
    }
  }
  const working = wallets.map(work)
  return {
    wallets,
    calls,
    async stop() {
      isOver = true
      await Promise.all(working)
    },
  }
}

/** Pays for one call and sends the payment again until a final answer. Undefined without a price. */
async function buy(world: World, at: WorldChain, wallet: ChainWallet, number: number): Promise<PaidCall | undefined> {
  const isStreamed = number % 2 === 1
  const messages = [{ role: 'user', content: `Say hello to number ${number}.` }]
  const body = JSON.stringify({ model: PLAIN, max_tokens: 20, stream: isStreamed, messages })
  const rail = RAILS[Math.floor(number / WALLETS) % RAILS.length] ?? 'upto'
  const ask = (index: number, headers: Record<string, string>) =>
    fetch(`${world.origin(index)}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: AbortSignal.timeout(ASK_MS),
    })
  // A challenge of MPP names its host, and a quote its address, so a payment stays at its node.
  const node = number % 3 === 0 ? 1 : 0
  const headers = await payFor(at, wallet, rail, () => ask(node, {})).catch(() => undefined)
  if (headers === undefined) {
    await pause(AGAIN_MS)
    return undefined
  }
  const served = new Set<string>()
  let status = 0
  for (let shown = 0; shown < MAX_SHOWN; shown++) {
    const answer = await read(() => ask(node, headers), isStreamed)
    status = answer.status
    if (answer.isWhole) served.add(answer.id)
    // A refusal of the payment, or an answer, is final. Any other end may be a loss on the way.
    if (answer.isWhole || (status === 402 && !answer.isPending)) break
    await pause(AGAIN_MS)
  }
  return { wallet: wallet.address.toLowerCase(), served, status }
}

async function payFor(
  { chain }: WorldChain,
  wallet: ChainWallet,
  rail: (typeof RAILS)[number],
  ask: () => Promise<Response>,
): Promise<Record<string, string>> {
  const demand = await ask()
  if (demand.status !== 402) throw new Error(`the answer has no price: ${demand.status}`)
  if (rail === 'mpp') {
    const methods = [evm.charge({ account: wallet.account, currencies: [evm.assets.base.USDC] })]
    return { authorization: await Mppx.create({ methods, polyfill: false }).createCredential(demand) }
  }
  return inHeader(await signPayment(stockClient(chain, wallet, rail), await demand.json()))
}

type Answer = { readonly status: number; readonly id: string; readonly isWhole: boolean; readonly isPending: boolean }
const LOST: Answer = { status: 0, id: '', isWhole: false, isPending: true }

async function read(ask: () => Promise<Response>, isStreamed: boolean): Promise<Answer> {
  try {
    const answer = await ask()
    const text = await answer.text()
    const id = answer.headers.get('x-request-id') ?? ''
    const isWhole = answer.status === 200 && (!isStreamed || text.includes('data: [DONE]'))
    const isPending = /"(?:serving|pending)"|payment_in_progress/.test(text)
    return { status: answer.status, id, isWhole, isPending }
  } catch {
    return LOST
  }
}

const Sums = z.object({ taken: z.coerce.bigint(), booked: z.coerce.bigint(), charged: z.coerce.bigint() })
const Balance = z.object({ balance: z.coerce.bigint() })

/**
 * Waits until all debts are settled and booked, and compares chain and ledger for each wallet, to the micro-USD. Money
 * that was taken ahead of an unfinished call is booked once that call can no longer be served.
 */
export async function compareWallets(
  { sql }: World,
  { chain }: WorldChain,
  { wallets, calls }: Pick<WalletLoad, 'wallets' | 'calls'>,
): Promise<readonly string[]> {
  const payers = wallets.map(({ address }) => address.toLowerCase())
  const wrong: string[] = []
  await until('all debts are settled and booked', REST_MS, async () => {
    const open = await sql.query(
      `select 1 from chain_payment where payer = any($1) and (state = 'due'
        or (state in ('mined', 'confirmed', 'written_off') and event is not null and booked_at is null)) limit 1`,
      [payers],
    )
    return open.rows.length === 0
  }).catch((error: unknown) => wrong.push(String(error)))
  for (const payer of payers) {
    const found = await sql.query(
      `select coalesce(sum(due) filter (where state in ('mined', 'confirmed')), 0) as taken,
        coalesce(sum(due) filter (where state = 'confirmed' and booked_at is not null), 0) as booked,
        coalesce(sum(charge) filter (where state = 'confirmed' and booked_at is not null), 0) as charged
        from chain_payment where payer = $1`,
      [payer],
    )
    const { taken, booked, charged } = Sums.parse(found.rows[0])
    const moved = START_MICRO - (await chain.usdcBalance(`0x${payer.slice(2)}`))
    if (moved !== taken) wrong.push(`${payer} lost ${moved} on the chain, and its payments took ${taken}`)
    const held = await sql.query(
      'select balance from account join app_user on buyer_account = account.id where wallet = $1',
      [payer],
    )
    const credit = held.rows.length === 0 ? 0n : Balance.parse(held.rows[0]).balance
    if (credit !== booked - charged) wrong.push(`${payer} has ${credit} of credit, and should have ${booked - charged}`)
  }
  const twice = calls.filter(({ served }) => served.size > 1)
  for (const { wallet, served } of twice)
    wrong.push(`a payment of ${wallet} was served as ${[...served].join(' and ')}`)
  return [...wrong, ...(await findUnpaid(sql, calls))]
}

const Unpaid = z.object({ rid: z.string(), state: z.string().nullable(), reason: z.string().nullable() })

/**
 * Calls whose buyers have the whole answer, and whose charge was never taken. Every wallet of this world has enough
 * money.
 */
async function findUnpaid(sql: World['sql'], calls: WalletLoad['calls']): Promise<readonly string[]> {
  const served = calls.flatMap((call) => [...call.served])
  const { rows } = await sql.query(
    `select call.rid, state, reason from unnest($1::text[]) as call (rid) left join chain_payment using (rid)
      where state is null or state not in ('mined', 'confirmed') or charge is null`,
    [served],
  )
  return z
    .array(Unpaid)
    .parse(rows)
    .map(({ rid, state, reason }) => `${rid} was served and is ${state ?? 'unknown'} (${reason ?? 'no reason'})`)
}
