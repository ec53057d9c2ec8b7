import { z } from 'zod'
import { LEAST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import type { WalletWay } from '#test/support/chain/wallet-client.ts'
import { payDemand, WALLET_WAYS } from '#test/support/chain/wallet-client.ts'
import { until } from '#test/support/run/until.ts'
import type { Seen } from './outcome-call.ts'
import { makeCall } from './outcome-call.ts'
import type { OutcomeMarket } from './outcome-market.ts'
import type { OutcomeRow } from './outcome-rows.ts'
import { requestOf } from './outcome-surface.ts'
import { getsWords } from './outcome-words.ts'

/** A way for a wallet's call to end. */
export type WalletRow = OutcomeRow & {
  /** Prices so low that the least payment exceeds the cost. */
  readonly isCheap?: true
  /** The issuer blocks the wallet while the call is served, so no amount can be taken from it. */
  readonly isBlocked?: true
  /** The signature of the payment is not from its wallet. */
  readonly isForged?: true
  /** The wallet has one micro-USD. */
  readonly isPoor?: true
  /** The provider’s protocol has no cancellation of jobs. */
  readonly cannotStop?: true
}

const limited = { body: { max_tokens: 400 } }
const one = { body: { max_tokens: 1 } }
const whole = (end: string, act: string, more: Partial<WalletRow> = {}): WalletRow => ({
  end,
  acts: [act],
  ...limited,
  ...more,
})
const streamed = (end: string, act: string, more: Partial<WalletRow> = {}): WalletRow =>
  whole(end, act, { isStreamed: true, ...more })
const job = (end: string, model: string, more: Partial<WalletRow> = {}): WalletRow => ({
  end,
  acts: ['well'],
  job: { model, buyer: 'asks' },
  ...more,
})
const BLOCKED = { isBlocked: true } as const

/** Every end that a wallet's call can have. Each row runs once with each way to pay. */
export const WALLET_OUTCOMES: readonly WalletRow[] = [
  whole('A whole answer', 'well'),
  streamed('A streamed answer', 'well'),
  whole('A whole answer that costs less than the least payment', 'well', { isCheap: true }),
  streamed('A streamed answer that costs less than the least payment', 'well', { isCheap: true }),
  whole('A whole answer without a token', 'empty'),
  streamed('A streamed answer without a token', 'empty'),
  whole('The provider answers 500', 'server-error'),
  streamed('The provider answers 500, streamed', 'server-error'),
  streamed('The stream breaks off after content', 'cut-mid-stream'),
  streamed('The buyer leaves before the provider answers', 'slow-first-token', {
    leaves: 'before the provider answers',
  }),
  streamed('The buyer leaves after the first token', 'drip', {
    leaves: 'after the first token',
    body: { max_tokens: 3 },
  }),
  whole('Speech that breaks off', 'cut-mid-stream', { surface: 'speech', body: {} }),
  whole('The issuer blocks the wallet during a whole answer', 'drip', { isBlocked: true, ...one }),
  streamed('The issuer blocks the wallet before the first content of a stream', 'drip', { isBlocked: true, ...one }),
  whole('A signature by another key', 'well', { isForged: true }),
  whole('The wallet has less than the price', 'well', { isPoor: true }),
  job('A long job succeeds', 'job'),
  job('A long job fails', 'job-failing'),
  job('The buyer cancels a long job', 'job-endless', { job: { model: 'job-endless', buyer: 'cancels' } }),
  job('No provider takes a long job', 'job', { acts: ['server-error'] }),
  job('The issuer blocks the wallet while a provider accepts a long job that can be cancelled', 'job', BLOCKED),
  job('The issuer blocks the wallet while a provider accepts a long job that cannot be cancelled', 'job', {
    ...BLOCKED,
    cannotStop: true,
  }),
]

/** The end of a wallet's call. */
type WalletEnd = {
  readonly seen: Seen
  /**
   * The amount that the chain took from the wallet, the amount that the wallet signed, and the part that became credit.
   */
  readonly taken: bigint
  readonly signed: bigint
  readonly credit: bigint
  /** Undefined for a call without a claim. */
  readonly ledger: { readonly charge: bigint; readonly sellerNet: bigint; readonly stoodIn: bigint } | undefined
  /** The message of the look-up. */
  readonly standing: string
}

export type WalletLine = {
  readonly end: string
  readonly ways: string
  readonly gets: string
  readonly taken: string
  readonly credit: string
  readonly seller: string
  readonly standing: string
}

const BOOKED_MS = 45_000
const WALLET_MICRO = 5_000_000n
const NAMES: Readonly<Record<WalletWay, string>> = { 'x402-upto': '`upto`', 'x402-exact': '`exact`', mpp: 'MPP' }

/** Runs a row with each way to pay. Ways with the same end share a line. */
export async function driveWallets(
  market: OutcomeMarket,
  model: string,
  row: WalletRow,
): Promise<readonly WalletLine[]> {
  const chain = await chainOf()
  // Long jobs are sold by one way.
  const ways = row.job === undefined ? WALLET_WAYS : (['x402-exact'] as const)
  const drives = ways.map((way) => () => drive(market, chain, { model, row, way }))
  const ends: WalletEnd[] = []
  // The request that reached the provider is known only when the others wait.
  if (row.isBlocked === true || row.leaves === 'before the provider answers') {
    for (const run of drives) ends.push(await run())
  } else ends.push(...(await Promise.all(drives.map((run) => run()))))
  const lines: WalletLine[] = []
  for (const [at, way] of ways.entries()) {
    const end = ends[at]
    if (end === undefined) throw new Error(`${way} was not driven`)
    const words = { end: row.end, ...wordsOf(end) }
    const same = lines.findIndex(
      (line) => JSON.stringify({ ...line, ways: '' }) === JSON.stringify({ ...words, ways: '' }),
    )
    const known = lines[same]
    if (known === undefined) lines.push({ ...words, ways: NAMES[way] })
    else lines[same] = { ...known, ways: `${known.ways}, ${NAMES[way]}` }
  }
  return lines
}

type Drive = { readonly model: string; readonly row: WalletRow; readonly way: WalletWay }

async function drive(market: OutcomeMarket, chain: TestChain, { model, row, way }: Drive): Promise<WalletEnd> {
  const money = row.isPoor === true ? 1n : WALLET_MICRO
  const wallet = await chain.newWallet({ usdc: money })
  const { path, headers, body } = requestOf(model, row)
  const demand = await fetch(market.url + path, { method: 'POST', headers, body })
  const payment = await payDemand(chain, wallet, way, demand)
  const paying: OutcomeRow = { ...row, buyer: 'nobody', headers: row.isForged === true ? forged(payment) : payment }
  const before = market.received(model)
  const block = row.isBlocked === true ? await chain.blacklister() : undefined
  const release = block && market.hold(model)
  const blockWallet = async () => {
    await until('the provider has been asked', BOOKED_MS, () => market.received(model) > before)
    await block?.(wallet.address)
  }
  const [seen] = await Promise.all([makeCall(market, model, paying), block && blockWallet().finally(release)])
  const isRefused = row.isForged === true || row.isPoor === true
  const booked = isRefused ? undefined : await bookedOf(market, wallet)
  if (row.job !== undefined && row.isBlocked === true) await requireHidden(market, seen)
  return {
    seen,
    taken: money - (await chain.usdcBalance(wallet.address)),
    signed: booked?.amount ?? 0n,
    credit: await creditOf(market, wallet),
    ledger: booked && (await ledgerOf(market, booked.rid)),
    standing: booked === undefined ? 'nothing' : await standingOf(market, booked.rid),
  }
}

/** A job without a paid submit is hidden from the buyer, and its record is hidden. */
async function requireHidden({ redis }: OutcomeMarket, { rid, status }: Seen): Promise<void> {
  const mark = await redis.hget(moneyKeys.job(rid), 'withheld')
  if (status !== 402 || mark !== '1') throw new Error(`${rid} is not paid, and its buyer got ${status}`)
}

/** The same headers with a signature by a stranger. */
function forged(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const NOBODY = `0x${'5a'.repeat(64)}1b`
  const edit = (encoded: string) =>
    Buffer.from(encoded, 'base64')
      .toString()
      .replace(/"signature":"0x[0-9a-f]+"/, `"signature":"${NOBODY}"`)
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const [, scheme = '', encoded = ''] = /^(Payment )?(.*)$/.exec(value) ?? []
      return [name, `${scheme}${Buffer.from(edit(encoded)).toString('base64')}`]
    }),
  )
}

const PaymentRow = z.object({ rid: z.string(), amount: z.coerce.bigint() })

/** The only payment of a wallet, once the payment is at its end and the call is in the books. */
async function bookedOf(market: OutcomeMarket, { address }: ChainWallet): Promise<z.infer<typeof PaymentRow>> {
  const read = () =>
    market.database.query(
      `select p.rid, p.amount from chain_payment p join settlement s on s.rid = p.rid
       where payer = $1 and (booked_at is not null or (state = 'released' and event is null))`,
      [address.toLowerCase()],
    )
  await until('the payment is booked', BOOKED_MS, async () => (await read()).rows.length === 1)
  return PaymentRow.parse((await read()).rows[0])
}

async function creditOf(market: OutcomeMarket, { address }: ChainWallet): Promise<bigint> {
  const { rows } = await market.database.query<{ balance: string }>(
    'select balance from account join app_user on buyer_account = account.id where wallet = $1',
    [address.toLowerCase()],
  )
  return BigInt(rows[0]?.balance ?? 0)
}

async function ledgerOf(market: OutcomeMarket, rid: string) {
  const { rows } = await market.database.query<{ charge: string; seller_net: string; stood_in: string }>(
    `select s.charge, s.seller_net, (select coalesce(-sum(e.amount), 0) from ledger_entry e
        join account a on a.id = e.account and a.kind = 'platform_shortfall'
        where e.tx = s.rid or e.tx in (select tx from ledger_key where split_part(key, ':', 2) = s.rid)) as stood_in
     from settlement s where s.rid = $1`,
    [rid],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`${rid} is not booked`)
  return { charge: BigInt(row.charge), sellerNet: BigInt(row.seller_net), stoodIn: BigInt(row.stood_in) }
}

const LookUp = z.looseObject({
  settlement_status: z.string(),
  settlement_error: z.string().nullish(),
  tx_hash: z.string().nullable(),
})

async function standingOf({ network }: OutcomeMarket, rid: string): Promise<string> {
  const answer = await fetch(`${network.sandbox.base_url}/v1/requests/${rid}`)
  const { settlement_status: status, settlement_error: error, tx_hash: transaction } = LookUp.parse(await answer.json())
  const why = error == null ? '' : ` (\`${error}\`)`
  return `\`${status}\`${why}${transaction === null ? '' : ', and its transaction'}`
}

function wordsOf({ seen, taken, signed, credit, ledger, standing }: WalletEnd): Omit<WalletLine, 'end' | 'ways'> {
  const { charge = 0n, sellerNet = 0n, stoodIn = 0n } = ledger ?? {}
  // At every end, no money is created and none is lost.
  if (taken + stoodIn !== charge + credit) {
    throw new Error(`${taken} taken and ${stoodIn} covered for ${charge} charged, ${credit} credited`)
  }
  const least = taken === LEAST_PAYMENT_MICRO ? 'the least payment' : `${taken} micro-USD`
  return {
    gets: getsWords(seen),
    taken: taken === 0n ? 'nothing' : taken === charge ? 'the charge' : taken === signed ? 'the price' : least,
    credit: credit === 0n ? 'nothing' : credit === taken ? 'the whole payment' : 'the amount above the charge',
    seller: sellerNet === 0n ? 'nothing' : stoodIn === 0n ? 'its share of the charge' : 'its share, from the platform',
    standing,
  }
}

const COLUMNS = [
  ['How the call ends', 'end'],
  ['Paid by', 'ways'],
  ['What the buyer gets', 'gets'],
  ['Taken from the wallet', 'taken'],
  ['Becomes credit', 'credit'],
  ['The seller gets', 'seller'],
  ['The look-up says', 'standing'],
] as const

const HEAD = `
## Paid by wallet

A wallet signs the price of the 402 and pays for one call. A test makes each of these calls on a real chain, with each way to
pay. The amount that is taken above the charge becomes the wallet's credit. The owner sees the credit after a sign-in, and
the owner's keys can spend it. In every row, the amount from the wallet and the amount from the platform add up to the charge
and the credit. When the platform has paid for a wallet, the wallet is refused until it pays or an operator forgives the debt.
An end that is only in the tables above has the charge of its table, and a wallet pays it in the same ways.
`

/** The section of the page. */
export function walletSection(lines: readonly WalletLine[]): string {
  const rows = lines.map((line) => `| ${COLUMNS.map(([, field]) => line[field]).join(' | ')} |`)
  const head = `| ${COLUMNS.map(([name]) => name).join(' | ')} |\n|${' --- |'.repeat(COLUMNS.length)}`
  return `${HEAD}\n${head}\n${rows.join('\n')}\n`
}
