import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import { LEAST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { Moved } from '#test/sim/chain/chain.ts'
import type { ChainHost } from '#test/sim/chain/chain-host.ts'
import type { LedgerTables } from '#test/sim/ledger/ledger-tables.ts'
import type { Model } from '#test/sim/model/model.ts'
import { violation } from '#test/sim/time/violation.ts'
import { EXPOSURE, PAYER_EXPOSURE } from '#test/sim/world/chain-ports.ts'
import type { World } from '#test/sim/world/world.ts'

const SHORTFALL = PLATFORM_ACCOUNTS.shortfall
const OUTSIDE = PLATFORM_ACCOUNTS.externalUsdc

// The promises about payments by wallet. P1: a payment serves one call. P2: the chain moves the amount that the call
// owes, once. P3: the books have every amount that the chain moved, and no other. P4: a served call is paid, unless its
// payer took the money away or the payment expired. P5: open amounts never exceed their bounds. P6: an answer says the
// truth about its payment. P7: a bad payment serves nothing, and a forged one is refused before it reaches the
// facilitator.

/** Notes the payments whose validity ended during a jump of the world's clock. */
export function noteRunOut({ model, ground }: Pick<World, 'model' | 'ground'>): void {
  const nowSeconds = ground.scheduler.wall() / 1_000
  for (const payment of model.payments.values()) {
    if (Number(payment.until) < nowSeconds) payment.hasRunOut = true
  }
}

/** Creates the check of P5, which runs at each commit that claims a payment. */
export function createExposureCheck(): (tables: LedgerTables) => void {
  let seen = 0
  return ({ payments, identity }) => {
    // Claims that a restore lost are made again despite the bounds, because their calls are served.
    if (payments.size === seen || identity.here > 1) return
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

/** The transactions of the ledger that book payments. */
export function paymentTransactions({ ledgerKeys }: LedgerTables): ReadonlySet<string> {
  return new Set([...ledgerKeys].flatMap(([key, tx]) => (/^((late_)?payment|write_off):/.test(key) ? [tx] : [])))
}

/** Lists the breaches about payments once everything is at rest. */
export function paymentMistakes({ ground, model }: World): string[] {
  const { chain: host, postgres } = ground
  if (host === undefined) return []
  const tables = postgres.tables()
  const moves = new Map(host.chain.moves().map((moved) => [`${moved.payer} ${moved.nonce}`, moved]))
  const left: string[] = []
  // The simulation has no reader of the treasury's blocks. A real reader would book a settlement as a deposit if the
  // call has no record and the claim is missing from a restored ledger.
  const isDeposit = (name: string) => {
    const call = model.requests.get(model.payments.get(name)?.paidFor ?? '')
    return tables.identity.here > 1 && (call?.state !== 'captured' || call.faults.has('journal_lost'))
  }
  for (const row of tables.payments.values()) {
    const name = `${row.payer} ${BigInt(row.nonce)}`
    const moved = moves.get(name)
    moves.delete(name)
    if (row.state === 'released' && row.event === null && moved !== undefined && isDeposit(name)) continue
    const mistake = standingMistake(row) ?? moveMistake(row, moved, { model, host }) ?? bookMistake(row, tables)
    if (mistake !== undefined) left.push(`${mistake}: ${row.rid} by ${name} is ${row.state}`)
  }
  for (const name of host.forgeries)
    left.push(`P7: the facilitator was asked about ${name}, which its wallet never signed`)
  for (const name of moves.keys()) if (!isDeposit(name)) left.push(`P3: the chain moved ${name}, and no row has it`)
  return left
}

function standingMistake({ state, bookedAt, event, payer }: ChainPayment): string | undefined {
  // A restored ledger may lack the account. The wallet in the event then says whose call it is.
  if (event !== null && readUsageEvent(event)?.wallet !== payer) return 'P3: its event does not name its wallet'
  const isOver = state === 'confirmed' || state === 'written_off' || state === 'released'
  if (!isOver) return 'P2: still open'
  const isBooked = bookedAt !== null || (state === 'released' && event === null)
  return isBooked ? undefined : 'P3: not booked'
}

type Known = { readonly model: Model; readonly host: ChainHost }

function moveMistake(row: ChainPayment, moved: Moved | undefined, { model, host }: Known): string | undefined {
  const { state, payer, nonce } = row
  const name = `${payer} ${BigInt(nonce)}`
  const payment = model.payments.get(name)
  if (row.came !== (moved?.amount ?? null))
    return `P3: the chain moved ${moved?.amount ?? 'nothing'}, and ${row.came} arrived`
  if (moved === undefined) {
    if (state === 'confirmed') return 'P3: nothing arrived'
    const isExcused = payment?.isDrained === true || payment?.hasRunOut === true
    return isExcused || state !== 'written_off' ? undefined : `P4: written off as ${row.reason}`
  }
  if (moved.hash !== row.transaction) return `P3: moved by ${moved.hash}, not by ${row.transaction}`
  const charge = row.charge ?? 0n
  const least = charge < LEAST_PAYMENT_MICRO ? LEAST_PAYMENT_MICRO : charge
  const dues = payment?.isExact === true ? payment.most : least < row.amount ? least : row.amount
  const isShort = host.isShort(name) && moved.amount < dues
  if (moved.amount !== dues && !isShort) return `P2: the chain moved ${moved.amount} for a charge of ${charge}`
  return (state === 'written_off') === moved.amount < charge ? undefined : `P2: ${moved.amount} came for ${charge}`
}

/** P3: the payer's account received the settled amount and paid the charge. The platform covers the unsettled rest. */
function bookMistake({ rid, state, account, came, charge }: ChainPayment, tables: LedgerTables): string | undefined {
  const { ledgerKeys, entries, settlements } = tables
  const keys = ['payment', 'late_payment', 'write_off'].map((key) => ledgerKeys.get(`${key}:${rid}`))
  const sumOf = (txs: readonly (string | undefined)[], of: string) =>
    entries.reduce((sum, entry) => (txs.includes(entry.tx) && entry.account === of ? sum + entry.amount : sum), 0n)
  const missing = state === 'written_off' ? (charge ?? 0n) - (came ?? 0n) : 0n
  const stoodIn = -sumOf([...keys, rid], SHORTFALL)
  if (stoodIn !== (missing > 0n ? missing : 0n)) return `P3: the platform covers ${stoodIn}, not ${missing}`
  const taken = -sumOf(keys, OUTSIDE)
  if (taken !== (came ?? 0n)) return `P3: ${taken} are booked as arrived, and ${came} arrived`
  const got = sumOf(keys, account)
  if (got !== taken - sumOf(keys, SHORTFALL)) return `P3: ${account} got ${got}`
  const paid = settlements.get(rid)?.charge ?? 0n
  return paid === (charge ?? 0n) ? undefined : `P3: ${account} paid ${paid} instead of ${charge}`
}
