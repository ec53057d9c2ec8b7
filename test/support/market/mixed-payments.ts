import { evm, Mppx } from 'mppx/client'
import pg from 'pg'
import { z } from 'zod'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { inHeader, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'
import type { Network } from './network.ts'

/** Money of a wallet at the beginning, in micro-USD. */
const START_MICRO = 20_000_000n
const WALLETS = 12
const AT_ONCE = 8
/** Milliseconds within which payments are booked. */
const REST_MS = 60_000
const MAX_PAGES = 20
const CHAT = '/v1/chat/completions'
/** The kinds of calls, in turn. Most succeed. */
const KINDS = ['good', 'large', 'good', 'gone', 'good', 'repeated', 'forged', 'good', 'large', 'used'] as const
const RAILS = ['x402-upto', 'x402-exact', 'mpp'] as const
type Rail = (typeof RAILS)[number]
type Kind = (typeof KINDS)[number]

type Stage = { readonly chain: TestChain; readonly network: Network }
type Call = Stage & {
  readonly wallet: ChainWallet
  readonly rail: Rail
  readonly kind: Kind
  readonly isStreamed: boolean
  readonly number: number
}

/** Counts of the calls of all wallets. */
export type Agreement = {
  /** Number of answers by status. */
  readonly answers: Readonly<Record<number, number>>
  /** Number of payments by state. */
  readonly payments: Readonly<Record<string, number>>
  /** Micro-USD that left the wallets, that were charged, and that remain as their credit. */
  readonly movedMicro: bigint
  readonly chargedMicro: bigint
  readonly creditMicro: bigint
  /** A sentence about every figure that differs from another that should be equal. */
  readonly differences: readonly string[]
}

/**
 * Makes calls for which many wallets pay in all three ways, whole and streamed. Some buyers disconnect, and some
 * payments are repeated, reused or forged. Then compares chain, ledger and look-ups, to the micro-USD.
 */
export async function payMixed(stage: Stage, count: number): Promise<Agreement> {
  const wallets: ChainWallet[] = []
  for (let made = 0; made < WALLETS; made++) {
    const wallet = await stage.chain.newWallet({ usdc: START_MICRO, eth: 10n ** 16n })
    // Half of the wallets need no permit.
    if (made % 2 === 0) await stage.chain.approvePermit2(wallet)
    wallets.push(wallet)
  }
  const answers: Record<number, number> = {}
  let next = 0
  const work = async () => {
    for (let number = next++; number < count; number = next++) {
      const call = callOf(stage, wallets, number)
      for (const status of await make(call)) answers[status] = (answers[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const db = new pg.Client(stage.network.sandbox.database_url)
  await db.connect()
  try {
    return { answers, ...(await compare(stage, db, wallets)) }
  } finally {
    await db.end()
  }
}

function callOf(stage: Stage, wallets: readonly ChainWallet[], number: number): Call {
  const wallet = wallets[number % wallets.length]
  if (wallet === undefined) throw new Error('there is no wallet')
  const rail = RAILS[Math.floor(number / 2) % RAILS.length] ?? 'mpp'
  const kind = KINDS[Math.floor(number / 3) % KINDS.length] ?? 'good'
  return { ...stage, wallet, rail, kind, isStreamed: number % 2 === 1, number }
}

function bodyOf({ kind, isStreamed, number }: Call): string {
  const [model, limit] = kind === 'large' ? ['claude-opus-4.1', 300] : ['gpt-5-mini', 60]
  const messages = [{ role: 'user', content: `Say hello to number ${number}.` }]
  return JSON.stringify({ model, max_tokens: limit, stream: isStreamed, messages })
}

function send({ network }: Stage, body: string, headers: Record<string, string>, signal?: AbortSignal) {
  const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
  return fetch(network.sandbox.base_url + CHAT, { ...asked, ...(signal && { signal }) })
}

/** Headers that pay for a body, made by the stock client of the way. */
async function payFor(call: Call, body: string): Promise<Record<string, string>> {
  const { chain, wallet, rail } = call
  const demand = await send(call, body, {})
  if (rail === 'mpp') {
    const methods = [evm.charge({ account: wallet.account, currencies: [evm.assets.base.USDC] })]
    return { authorization: await Mppx.create({ methods, polyfill: false }).createCredential(demand) }
  }
  const scheme = rail === 'x402-upto' ? 'upto' : 'exact'
  return inHeader(await signPayment(stockClient(chain, wallet, scheme), await demand.json()))
}

/** Makes one call, and returns the statuses of its answers. */
async function make(call: Call): Promise<readonly number[]> {
  const body = bodyOf(call)
  const headers = await payFor(call, body)
  switch (call.kind) {
    case 'good':
    case 'large':
      return [await statusOf(send(call, body, headers))]
    case 'forged':
      return [await statusOf(send(call, body, forged(headers)))]
    case 'gone':
      return [await leave(call, body, headers)]
    case 'repeated':
      return Promise.all([statusOf(send(call, body, headers)), statusOf(send(call, body, headers))])
    case 'used': {
      const first = await statusOf(send(call, body, headers))
      return [first, await statusOf(send(call, bodyOf({ ...call, number: call.number + 1_000_000 }), headers))]
    }
  }
}

/** The status of an answer that is read to its end. */
async function statusOf(asked: Promise<Response>): Promise<number> {
  const answer = await asked
  await answer.text()
  return answer.status
}

/** A payment with one byte of its proof changed. */
function forged(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const text = Buffer.from(value.replace(/^Payment /, ''), 'base64url').toString()
      const other = text.replace(/("signature":"0x[0-9a-f]{60})(..)/, (_all, head: string, byte: string) => {
        return head + (byte === '00' ? '01' : '00')
      })
      const encoded = Buffer.from(other).toString(name === 'authorization' ? 'base64url' : 'base64')
      return [name, name === 'authorization' ? `Payment ${encoded}` : encoded]
    }),
  )
}

/** Disconnects as soon as the answer begins, or before. Returns 0. */
async function leave(call: Call, body: string, headers: Record<string, string>): Promise<number> {
  const away = new AbortController()
  const asked = send(call, body, headers, away.signal)
  if (call.isStreamed) {
    const answer = await asked
    await answer.body?.getReader().read()
    away.abort()
    return 0
  }
  setImmediate(() => away.abort())
  await asked.catch(() => undefined)
  return 0
}

const Row = z.object({
  rid: z.string(),
  state: z.string(),
  came: z.coerce.bigint().nullable(),
  charge: z.coerce.bigint().nullable(),
  account: z.string(),
})
const Balance = z.object({ balance: z.coerce.bigint() })
const Key = z.object({ key: z.string() })
/** In micro-USD. */
const Me = z.object({ credit_balance_usdc: z.coerce.bigint() })
const Calls = z.object({
  requests: z.array(z.object({ request_id: z.string(), buyer_cost_micro: z.coerce.bigint() })),
  next_token: z.string().nullable(),
})

async function compare(stage: Stage, db: pg.Client, wallets: readonly ChainWallet[]) {
  const payers = wallets.map(({ address }) => address.toLowerCase())
  await until('all payments are at rest', REST_MS, async () => {
    const { rows } = await db.query(
      `select 1 from chain_payment where payer = any($1) and (state in ('claimed', 'due', 'mined')
        or (state <> 'released' and booked_at is null)) limit 1`,
      [payers],
    )
    return rows.length === 0
  })
  const payments: Record<string, number> = {}
  const differences: string[] = []
  let [movedMicro, chargedMicro, creditMicro] = [0n, 0n, 0n]
  for (const wallet of wallets) {
    const payer = wallet.address.toLowerCase()
    const found = await db.query('select rid, state, came, charge, account from chain_payment where payer = $1', [
      payer,
    ])
    const rows = found.rows.map((row) => Row.parse(row))
    for (const { state } of rows) payments[state] = (payments[state] ?? 0) + 1
    const sum = (name: 'came' | 'charge') =>
      rows.reduce((total, row) => total + (row.state === 'confirmed' ? (row[name] ?? 0n) : 0n), 0n)
    const moved = START_MICRO - (await stage.chain.usdcBalance(wallet.address))
    const held = await db.query('select balance from account where id = $1', [rows[0]?.account ?? ''])
    const credit = held.rows.length === 0 ? 0n : Balance.parse(held.rows[0]).balance
    const compareTo = (what: string, left: bigint, right: bigint) => {
      if (left !== right) differences.push(`${payer}: ${what}: ${left} and ${right}`)
    }
    compareTo('moved on the chain and taken by payments', moved, sum('came'))
    compareTo('credit and the amount taken above the charges', credit, sum('came') - sum('charge'))
    await compareViews(stage, wallet, { rows, credit, compareTo })
    movedMicro += moved
    chargedMicro += sum('charge')
    creditMicro += credit
  }
  differences.push(...(await breaches(stage)))
  return { payments, movedMicro, chargedMicro, creditMicro, differences }
}

type Books = {
  readonly rows: readonly z.output<typeof Row>[]
  readonly credit: bigint
  compareTo(what: string, left: bigint, right: bigint): void
}

/** Compares the views of a wallet that signs in: its credit, and the cost of each of its calls. */
async function compareViews(stage: Stage, wallet: ChainWallet, { rows, credit, compareTo }: Books): Promise<void> {
  const { api_base_url: url } = stage.network.sandbox
  const challenge = await fetch(`${url}/v1/buyer/auth/challenge?address=${wallet.address}`)
  const { message } = z.object({ message: z.string() }).parse(await challenge.json())
  const signature = await wallet.account.signMessage({ message })
  const signed = await fetch(`${url}/v1/buyer/auth/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ message, signature }),
  })
  const headers = { authorization: `Bearer ${Key.parse(await signed.json()).key}` }
  const me = Me.parse(await (await fetch(`${url}/v1/buyer/me`, { headers })).json())
  compareTo('the credit that the wallet sees and the credit in the ledger', me.credit_balance_usdc, credit)
  const shown = await listCalls(url, headers)
  for (const { rid, charge, state } of rows) {
    if (state !== 'confirmed' || charge === null) continue
    compareTo(`the cost of ${rid} in its look-up and in its payment`, shown.get(rid) ?? -1n, charge)
  }
}

/** The cost of each call in a key's view, by request id. */
async function listCalls(url: string, headers: Record<string, string>): Promise<Map<string, bigint>> {
  const costs = new Map<string, bigint>()
  for (let query = 'max_items=100', pages = 0; pages < MAX_PAGES; pages++) {
    const answer = await fetch(`${url}/v1/requests?${query}`, { headers })
    const { requests, next_token: next } = Calls.parse(await answer.json())
    for (const call of requests) costs.set(call.request_id, call.buyer_cost_micro)
    if (next === null) break
    query = `max_items=100&next_token=${encodeURIComponent(next)}`
  }
  return costs
}

async function breaches({ network }: Stage): Promise<readonly string[]> {
  const { database_url: databaseUrl, redis_url: redisUrl } = network.sandbox
  const options = { isQuiesced: false, quiescenceMs: 1_000, maxLooks: 5 }
  const { findings } = await checkMoney({ databaseUrl, redisUrl, journalDir: undefined }, options)
  return findings.filter(({ state }) => state === 'breach').map(({ id, detail }) => `${id}: ${detail}`)
}
