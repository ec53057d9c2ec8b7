import type { CallsRow, FailedRow, PricesRow } from '#control-plane/db/drift.ts'
import { NAME_EXTRAS } from '#control-plane/db/drift.ts'
import type { BilledRow } from '#control-plane/db/provider-bills.ts'
import { billOf, PICO_PER_MICRO } from '#shared/money.ts'
import { PriceOverridesSchema, unitPricesUnder } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { billLines, UnitPricesSchema } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import type { BillClass } from './billed-class.ts'
import { classOfLine } from './billed-class.ts'
import type { DriftCause } from './drift-causes.ts'
import { likelyCause } from './drift-causes.ts'

/** A provider's bill for one part of a model on one day, beside the list cost of the same calls. Pico-USD. */
export type DriftRow = {
  readonly provider: string
  readonly day: string
  readonly model: string
  readonly billedClass: BillClass
  readonly billed: bigint
  readonly list: bigint
  readonly calls: number
  readonly unpaid: number
  /** Attempts of the day that failed. */
  readonly failed: number
  readonly units: bigint | null
  readonly cause: DriftCause
}

/** A model on a day: the billed amounts by class, and the calls. */
type ModelDay = {
  readonly provider: string
  readonly day: string
  readonly model: string
  readonly billed: Map<BillClass, { pico: bigint; units: bigint | null }>
  readonly calls: CallsRow[]
  failed: number
}

/** A seller's bills, its calls and failed attempts of the same days, and the prices of the calls. */
export type DriftParts = {
  readonly billed: readonly BilledRow[]
  readonly calls: readonly CallsRow[]
  readonly failures: readonly FailedRow[]
  readonly prices: readonly PricesRow[]
  /** The present UTC day, which is not over. */
  readonly today: string
}

/**
 * Compares bills with calls, by provider, day, model and class. The rows hold every billed line and every call once, so
 * their differences add up to the whole bill less the whole list.
 */
export function driftRows({ billed, calls, failures, prices, today }: DriftParts): DriftRow[] {
  const priceOf = new Map(prices.map((row) => [row.version, row]))
  const days = new Map<string, ModelDay>()
  const at = (provider: string, day: string, model: string): ModelDay => {
    const key = JSON.stringify([provider, day, model])
    const foundDay = days.get(key) ?? { provider, day, model, billed: new Map(), calls: [], failed: 0 }
    days.set(key, foundDay)
    return foundDay
  }
  const names = new Map<string, Set<string>>()
  for (const row of calls) at(row.provider, row.day, row.model).calls.push(row)
  for (const row of [...calls, ...failures]) {
    const place = placeOf(row)
    names.set(place, (names.get(place) ?? new Set()).add(row.model))
  }
  for (const row of billed) {
    const name = names.get(placeOf(row)) ?? new Set()
    const parts = at(row.provider, row.day, soldName(row.model, name)).billed
    const billedClass = classOfLine(row.line)
    const { pico, units } = parts.get(billedClass) ?? { pico: 0n, units: 0n }
    const both = units === null || row.units === null ? null : units + row.units
    parts.set(billedClass, { pico: pico + row.billedPico, units: both })
  }
  for (const { provider, day, model, failed } of failures) {
    const modelDay = days.get(JSON.stringify([provider, day, model]))
    if (modelDay !== undefined) modelDay.failed = failed
  }
  return [...days.values()].flatMap((day) => rowsOf(day, priceOf, today))
}

const placeOf = ({ provider, day }: { readonly provider: string; readonly day: string }) => `${provider} ${day}`

const ADDRESS = new RegExp(NAME_EXTRAS.address, 'g')
const DATE = new RegExp(NAME_EXTRAS.date)
const plainName = (name: string) => name.replace(ADDRESS, '').replace(DATE, '')

/**
 * The name under which the model of a bill is sold: the same name, or the only one that equals it without the optional
 * parts of names.
 */
function soldName(billed: string, sold: ReadonlySet<string>): string {
  if (sold.has(billed)) return billed
  const plain = plainName(billed)
  if (sold.has(plain)) return plain
  const kin = [...sold].filter((name) => plainName(name) === plain)
  return kin.length === 1 && kin[0] !== undefined ? kin[0] : billed
}

function rowsOf(
  { provider, day, model, billed, calls, failed }: ModelDay,
  priceOf: ReadonlyMap<string, PricesRow>,
  today: string,
): DriftRow[] {
  const isWhole = billed.size === 0 || (billed.size === 1 && billed.has('all'))
  const lists = isWhole ? wholeList(calls) : listByClass(calls, priceOf)
  if (billed.has('cache_write') && !billed.has('cache_write_long')) joinWrites(lists)
  const counts = {
    calls: calls.reduce((sum, row) => sum + row.calls, 0),
    unpaid: calls.reduce((sum, row) => sum + row.unpaid, 0),
    failed,
    isOpen: day >= today,
    priceVersions: new Set(calls.map(({ priceVersion }) => priceVersion)).size,
  }
  const classes = new Set<BillClass>([...billed.keys(), ...lists.keys()])
  return [...classes].map((billedClass) => {
    const { pico = 0n, units = null } = billed.get(billedClass) ?? {}
    const list = lists.get(billedClass) ?? 0n
    const cause = likelyCause({ billedClass, billed: pico, list, ...counts })
    const { calls: callCount, unpaid } = counts
    return { provider, day, model, billedClass, billed: pico, list, calls: callCount, unpaid, failed, units, cause }
  })
}

/** Adds all cache writes to one class, for a bill that does not distinguish them. */
function joinWrites(lists: Map<BillClass, bigint>): void {
  const long = lists.get('cache_write_long')
  if (long === undefined) return
  lists.delete('cache_write_long')
  lists.set('cache_write', (lists.get('cache_write') ?? 0n) + long)
}

function wholeList(calls: readonly CallsRow[]): Map<BillClass, bigint> {
  return new Map([['all', calls.reduce((sum, { list }) => sum + picoOf(list), 0n)]])
}

/** The list cost by class. An amount of no class, such as the rounding of each call, is `other`. */
function listByClass(calls: readonly CallsRow[], priceOf: ReadonlyMap<string, PricesRow>): Map<BillClass, bigint> {
  const lists = new Map<BillClass, bigint>()
  const put = (billedClass: BillClass, pico: bigint) => {
    if (pico !== 0n) lists.set(billedClass, (lists.get(billedClass) ?? 0n) + pico)
  }
  for (const row of calls) {
    let rest = picoOf(row.list)
    const prices = pricesUnder(priceOf.get(row.priceVersion), row.priceConditions)
    for (const [billedClass, usage] of usageByClass(row)) {
      const pico = billOf(billLines(prices, usage))
      put(billedClass, pico)
      rest -= pico
    }
    put('other', rest)
  }
  return lists
}

function usageByClass(row: CallsRow): readonly (readonly [BillClass, Usage])[] {
  const count = Number
  return [
    [
      'input',
      {
        input: count(row.input - row.imageInput),
        imageInput: count(row.imageInput),
        audioInput: count(row.audioInput),
      },
    ],
    ['cache_read', { cacheRead: count(row.cacheRead) }],
    ['cache_write', { cacheWrite: count(row.cacheWrite - row.cacheWriteLong) }],
    ['cache_write_long', { cacheWriteLong: count(row.cacheWriteLong) }],
    [
      'output',
      {
        output: count(row.output - row.imageOutput),
        imageOutput: count(row.imageOutput),
        reasoning: count(row.reasoning),
        audioOutput: count(row.audioOutput),
      },
    ],
    ['searches', { searches: count(row.searches) }],
  ]
}

function pricesUnder(row: PricesRow | undefined, conditions: readonly string[]): UnitPrices {
  const unitPrices = UnitPricesSchema.safeParse(row?.unitPrices).data ?? {}
  const overrides = PriceOverridesSchema.safeParse(row?.overrides).data
  return unitPricesUnder({ unitPrices, overrides }, conditions)
}

/** Converts digits of micro-USD to pico-USD. */
export function picoOf(micro: string): bigint {
  return BigInt(micro) * PICO_PER_MICRO
}
