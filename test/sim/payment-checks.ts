import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import { LEAST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { Moved } from './chain.ts'
import { EXPOSURE, PAYER_EXPOSURE } from './chain-ports.ts'
import type { LedgerTables } from './ledger-tables.ts'
import type { Model } from './model.ts'
import { violation } from './violation.ts'
import type { World } from './world.ts'

const SHORTFALL = PLATFORM_ACCOUNTS.shortfall

// The promises about payments by wallet. P1: a payment serves one call. P2: the chain moves what the call owes, once. P3:
// what the chain moved is in the books, and nothing else is. P4: a served call is paid, unless its payer took the money
// away or the payment ran out. P5: what is open never goes beyond its bounds. P6: an answer says of its payment what is
// true.

/** Notes the payments that the world's clock has jumped over. */
export function noteRunOut({ model, ground }: Pick<World, 'model' | 'ground'>): void {
  const nowSeconds = ground.scheduler.wall() / 1_000
  for (const payment of model.payments.values()) {
    if (Number(payment.until) < nowSeconds) payment.hasRunOut = true
  }
}

/** Makes the check of P5, at the commits by which payments are claimed. */
export function createExposureCheck(): (tables: LedgerTables) => void {
  let seen = 0
  return ({ payments }) => {
    if (payments.size === seen) return
    seen = payments.size
    const newest = [...payments.values()].at(-1)
    const open = [...payments.values()].filter(
      ({ state }) => state === 'claimed' || state === 'due' || state === 'mined',
    )
    const sum = (rows: readonly ChainPayment[]) => rows.reduce((total, { due, amount }) => total + (due ?? amount), 0n)
    const own = sum(open.filter(({ payer }) => payer === newest?.payer))
    if (own > PAYER_EXPOSURE) throw violation('P5', `${newest?.payer} has ${own} open`)
    if (sum(open) > EXPOSURE) throw violation('P5', `all have ${sum(open)} open`)
  }
}

/** The transactions of the ledger by which payments were booked. */
export function paymentTransactions({ ledgerKeys }: LedgerTables): ReadonlySet<string> {
  return new Set([...ledgerKeys].flatMap(([key, tx]) => (/^(late_)?payment:/.test(key) ? [tx] : [])))
}

/** Lists what is wrong with payments once nothing moves any more. */
export function paymentMistakes({ ground, model }: World): string[] {
  const { chain: host, postgres } = ground
  if (host === undefined) return []
  const tables = postgres.tables()
  const moves = new Map(host.chain.moves().map((moved) => [`${moved.payer} ${moved.nonce}`, moved]))
  const left: string[] = []
  for (const row of tables.payments.values()) {
    const name = `${row.payer} ${BigInt(row.nonce)}`
    const mistake = standingMistake(row) ?? moveMistake(row, moves.get(name), model) ?? bookMistake(row, tables)
    if (mistake !== undefined) left.push(`${mistake}: ${row.rid} by ${name} is ${row.state}`)
    moves.delete(name)
  }
  for (const name of moves.keys()) left.push(`P3: the chain moved ${name}, and nobody knows of it`)
  return left
}

function standingMistake({ state, bookedAt, event }: ChainPayment): string | undefined {
  const isOver = state === 'confirmed' || state === 'written_off' || state === 'released'
  if (!isOver) return 'P2: still open'
  const isBooked = bookedAt !== null || (state === 'released' && event === null)
  return isBooked ? undefined : 'P3: not booked'
}

function moveMistake(row: ChainPayment, moved: Moved | undefined, model: Model): string | undefined {
  const { state, payer, nonce } = row
  if ((state === 'confirmed') !== (moved !== undefined)) return `P3: the chain moved ${moved?.amount ?? 'nothing'}`
  const payment = model.payments.get(`${payer} ${BigInt(nonce)}`)
  if (state === 'written_off') {
    const isExcused = payment?.isDrained === true || payment?.hasRunOut === true
    return isExcused ? undefined : `P4: written off as ${row.reason}`
  }
  if (moved === undefined) return undefined
  const charge = row.charge ?? 0n
  const least = charge < LEAST_PAYMENT_MICRO ? LEAST_PAYMENT_MICRO : charge
  const dues = payment?.isExact === true ? payment.most : least < row.amount ? least : row.amount
  if (moved.amount !== dues) return `P2: the chain moved ${moved.amount} for a charge of ${charge}`
  return moved.hash === row.transaction ? undefined : `P3: moved by ${moved.hash}, not by ${row.transaction}`
}

/**
 * P3: the payer's account got what was moved, and paid the charge. For what never came the platform stands in: with the
 * write-off, or with a charge that is told after it.
 */
function bookMistake({ rid, state, account, due, charge }: ChainPayment, tables: LedgerTables): string | undefined {
  const { ledgerKeys, entries, settlements } = tables
  const sumOf = (tx: string | undefined, of: string) =>
    entries.reduce((sum, entry) => (entry.tx === tx && entry.account === of ? sum + entry.amount : sum), 0n)
  const tx = ledgerKeys.get(`payment:${rid}`)
  const late = ledgerKeys.get(`late_payment:${rid}`)
  const got = sumOf(tx, account) + sumOf(late, account)
  const stoodIn = -sumOf(tx, SHORTFALL) - sumOf(late, SHORTFALL) - sumOf(rid, SHORTFALL)
  const owed = state === 'confirmed' ? (due ?? 0n) : state === 'written_off' ? (charge ?? 0n) : 0n
  if (state === 'confirmed' && stoodIn !== 0n) return `P3: the platform stands in for ${stoodIn}`
  // The payer's other credit pays first for a charge that is told after the write-off.
  const isTold = tx !== undefined || state !== 'written_off'
  const isWhole = got + sumOf(late, SHORTFALL) === owed + (late === undefined ? 0n : sumOf(tx, account))
  if (isTold && !isWhole) return `P3: ${account} got ${got} instead of ${owed}`
  const paid = settlements.get(rid)?.charge ?? 0n
  return paid === (charge ?? 0n) ? undefined : `P3: ${account} paid ${paid} instead of ${charge}`
}
