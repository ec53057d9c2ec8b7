import { createHash } from 'node:crypto'
import pg from 'pg'
import { z } from 'zod'
import { isRecord } from '#shared/json-members.ts'
import type { ChainWallet } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { payDemand, WALLET_WAYS } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'
import type { RoutedMarket } from './routed-market.ts'

/** The ways to pay for one call. */
export const WAYS = ['key', ...WALLET_WAYS] as const
export type Way = (typeof WAYS)[number]

const BOOKED_MS = 30_000
const WALLET_MICRO = 5_000_000n

/** A call. Every buyer sends the same bytes. */
export type BoughtCall = {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** The buyer's view of a call, and the booking of the call, by name. */
export type Facts = ReadonlyMap<string, string>

/** A buyer who pays in one way. */
export type Buyer = {
  readonly way: Way
  /** The buyer's own key. A wallet signs in for a key, which shows its calls. */
  readonly key: string
  buy(call: BoughtCall): Promise<Response>
}

/** A buyer for each way, with money. */
export async function makeBuyers(market: RoutedMarket): Promise<readonly Buyer[]> {
  const chain = await chainOf()
  const { buyerKey } = await market.user(50)
  const send = (call: BoughtCall, headers: Readonly<Record<string, string>>) => post(market, call, headers)
  const wallets = await Promise.all(
    WALLET_WAYS.map(async (way): Promise<Buyer> => {
      const wallet = await chain.newWallet({ usdc: WALLET_MICRO })
      return {
        way,
        key: await signIn(market, wallet),
        async buy(call) {
          const demand = await send(call, {})
          if (demand.status !== 402) return demand
          return send(call, await payDemand(chain, wallet, way, demand))
        },
      }
    }),
  )
  return [{ way: 'key', key: buyerKey, buy: (call) => send(call, bearer(buyerKey)) }, ...wallets]
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

function post({ network }: RoutedMarket, { path, body, headers }: BoughtCall, more: Readonly<Record<string, string>>) {
  return fetch(network.sandbox.api_base_url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, ...more },
    body: JSON.stringify(body),
  })
}

const Challenge = z.object({ message: z.string() })
const Key = z.object({ key: z.string() })

async function signIn({ network }: RoutedMarket, { address, account }: ChainWallet): Promise<string> {
  const url = `${network.sandbox.api_base_url}/v1/buyer/auth`
  const { message } = Challenge.parse(await (await fetch(`${url}/challenge?address=${address}`)).json())
  const made = await fetch(`${url}/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: network.sandbox.api_base_url },
    body: JSON.stringify({ message, signature: await account.signMessage({ message }) }),
  })
  return Key.parse(await made.json()).key
}

/** Headers of the connection, of the time, and of the length of a body that names its payment. */
const CHANGING_HEADERS = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])
const ID = /(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])/g
const INSTANTS = new Set([
  'created',
  'created_at',
  'completed_at',
  'x-mkt-routing-decision-ms',
  'x-mkt-overhead-ms',
  'x-ratelimit-reset',
])
/** Headers whose bytes name one transfer. Only their presence is compared. */
const SETTLEMENTS = new Set(['payment-response', 'x-payment-response', 'payment-receipt'])

/** A value without ids and times. */
function steady(value: unknown, name = ''): unknown {
  if (INSTANTS.has(name)) return '<time>'
  if (typeof value === 'string') return value.replace(ID, '<id>')
  if (Array.isArray(value)) return value.map((item) => steady(item))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, steady(part, key)]))
}

/** Takes the payments out of a body, and returns them. */
function paymentsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(paymentsIn)
  if (!isRecord(value)) return []
  const found = Object.entries(value).flatMap(([name, part]) => (name === 'payment' ? [part] : paymentsIn(part)))
  delete value['payment']
  return found
}

const Payment = z.object({ type: z.string(), status: z.string() })
const Cost = z.object({ usage: z.looseObject({ buyer_cost_micro: z.number() }) })

/** Reads an answer to its end: its status, headers and body, and the cost in it. */
export async function seen(answer: Response): Promise<Map<string, string>> {
  const facts = new Map([['status', String(answer.status)]])
  for (const [name, value] of answer.headers) {
    if (CHANGING_HEADERS.has(name)) continue
    facts.set(`header ${name}`, SETTLEMENTS.has(name) ? 'a settlement' : String(steady(value, name)))
  }
  const bytes = Buffer.from(await answer.arrayBuffer())
  const type = answer.headers.get('content-type') ?? ''
  const isText = type.startsWith('application/json') || type.startsWith('text/event-stream')
  if (!isText) return facts.set('body', createHash('sha256').update(bytes).digest('hex'))
  const text = bytes.toString()
  const frames: unknown[] = type.startsWith('text')
    ? text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    : [JSON.parse(text)]
  const payments = frames.flatMap(paymentsIn).map((payment) => Payment.parse(payment))
  for (const { type: by, status } of payments) facts.set('body usage.payment', `${by}, ${status}`)
  const cost = frames.map(costIn).findLast((found) => found !== undefined)
  if (cost !== undefined) facts.set('cost in the body', cost)
  return facts.set('body', JSON.stringify(frames.map((frame) => steady(frame))))
}

/** The cost in an answer, or in the last event of one. */
function costIn(frame: unknown): string | undefined {
  const within = isRecord(frame) && isRecord(frame['response']) ? frame['response'] : frame
  const read = Cost.safeParse(within)
  return read.success ? String(read.data.usage.buyer_cost_micro) : undefined
}

const LookUp = z.looseObject({
  buyer_cost_micro: z.number(),
  settlement_status: z.string(),
  confirmed_at: z.string().nullable(),
})

/** The view and the booking of a finished call: its look-up, its line of the export, and the ledger's entries. */
export async function booked({ network }: RoutedMarket, buyer: Buyer, rid: string): Promise<Map<string, string>> {
  const url = network.sandbox.api_base_url
  const headers = bearer(buyer.key)
  const db = new pg.Client(network.sandbox.database_url)
  await db.connect()
  try {
    const settlements = () => db.query('select * from settlement where rid = $1', [rid])
    const lookUp = async () => LookUp.parse(await (await fetch(`${url}/v1/requests/${rid}`, { headers })).json())
    await until(`${rid} is booked`, BOOKED_MS, async () => (await settlements()).rows.length === 1)
    let told = await lookUp()
    // The gate learns of the booking after the ledger has it. The reads of a key are counted, so the test reads once by
    // default.
    const isTold = () => told.buyer_cost_micro === 0 || told.confirmed_at !== null
    if (!isTold()) {
      await until(`the look-up of ${rid} shows the booking`, BOOKED_MS, async () => {
        told = await lookUp()
        return isTold()
      })
    }
    const facts = new Map<string, string>()
    for (const [name, value] of Object.entries(told)) facts.set(`look-up ${name}`, lookedUp(name, value))
    const file = await (await fetch(`${url}/v1/buyer/usage/export?period=lifetime`, { headers })).text()
    const [head = '', ...lines] = file.trimEnd().split('\r\n')
    const cells = lines.find((line) => line.startsWith(rid))?.split(',') ?? []
    for (const [at, name] of head.split(',').entries()) facts.set(`export ${name}`, cellOf(name, cells[at] ?? 'none'))
    const [row] = (await settlements()).rows
    for (const name of ['charge', 'seller_net', 'fee', 'outcome', 'usage_source', 'provider', 'model', 'endpoint']) {
      facts.set(`ledger ${name}`, String(row?.[name]))
    }
    for (const [name, tx] of [
      ['the call', 'select $1::text'],
      ['the payment', `select tx from ledger_key where key = 'payment:' || $1::text`],
    ]) {
      const { rows } = await db.query<{ kind: string; amount: string }>(
        `select a.kind, sum(e.amount) as amount from ledger_entry e join account a on a.id = e.account
         where e.tx in (${tx}) group by a.kind order by 1`,
        [rid],
      )
      for (const { kind, amount } of rows) facts.set(`ledger ${name}: ${kind}`, amount)
    }
    return facts
  } finally {
    await db.end()
  }
}

/** Members of a look-up that are times, durations or names. Only the presence of a hash is compared. */
const MEASURED = /(_at|_ms|^key_id|^ms|^created|latency|throughput)$/

function lookedUp(name: string, value: unknown): string {
  if (MEASURED.test(name)) return typeof value
  if (name === 'tx_hash') return value === null ? 'none' : 'a hash'
  return JSON.stringify(steady(value), (key, part: unknown) => {
    // The first call opens the connection that the next one uses.
    if (key === 'connect_ms') return 'a time or null'
    return MEASURED.test(key) ? typeof part : part
  })
}

function cellOf(name: string, cell: string): string {
  if (name === 'request_id' || name === 'created_at') return '<changing>'
  if (name === 'tx_hash') return cell === '' ? 'none' : 'a hash'
  return cell
}
