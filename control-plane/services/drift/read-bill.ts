import { z } from 'zod'
import type { BilledLine } from '#control-plane/db/provider-bills.ts'
import { DAY, SECOND, utcDay } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { isOneLine } from '#shared/texts.ts'

/** Most lines of one bill, and the most days back that a bill may cover. */
export const MAX_BILL_LINES = 10_000
export const MAX_BILL_AGE_DAYS = 400
/** The longest name of a model, and of a line, in characters. */
const MAX_NAME_CHARS = 200
/** Characters of a column's name that an error quotes. */
const MAX_SHOWN_CHARS = 40
/** The largest cost of one line: a million US dollars, in pico-USD. */
const MAX_LINE_PICO = 10n ** 18n
/** The model name for costs that a provider bills to the account as a whole. */
const ACCOUNT = 'account'

/** A line of a bill before its check, with the words for its place in the file. */
type RawLine = {
  readonly place: string
  readonly day: string
  readonly model: string
  readonly line?: string | null | undefined
  readonly units?: string | number | null | undefined
  readonly cost: string | number
  /** The unit of the cost as a power of ten of a US dollar: −2 for cents. */
  readonly scale?: number
}

/** The lines of a page of a report, and the token of its next page. */
export type ReportPage = { readonly lines: readonly RawLine[]; readonly next: string | null }

/** The error about a line, with the words for its place. */
function refuse(place: string, message: string): AppError {
  return new AppError('invalid_request', { message: `${place}: ${message}.`, param: 'file', detail: { place } })
}

/**
 * Reads a bill from a file: CSV or JSON of the plain form, or a report of a provider as JSON. Throws `invalid_request`
 * that names the line.
 */
export function readBillFile(file: string, now: number): BilledLine[] {
  const text = file.replace(/^\uFEFF/, '').trim()
  if (text === '') throw refuse('The file', 'it is empty')
  if (text.includes('\uFFFD')) throw refuse('The file', 'it is not UTF-8 text')
  if (!/^[[{]/.test(text)) return checkLines(readCsv(text), now, { isPlain: true })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw refuse('The file', 'it begins like JSON and is not valid JSON')
  }
  if (Array.isArray(json)) return checkLines(json.map(readPlain), now, { isPlain: true })
  return checkLines(readAnyReport(json).lines, now, { isPlain: false })
}

/**
 * Checks the lines of a bill. A plain bill has each line once. A provider's report splits a line into parts that the
 * market does not distinguish; their costs are added.
 */
export function checkLines(
  raw: readonly RawLine[],
  now: number,
  { isPlain }: { readonly isPlain: boolean },
): BilledLine[] {
  if (raw.length === 0) throw refuse('The bill', 'it has no lines')
  const lines = new Map<string, BilledLine>()
  const places = new Map<string, string>()
  const shapes = new Map<string, { readonly isWhole: boolean; readonly place: string }>()
  for (const each of raw) {
    const checked = checkLine(each, now)
    const key = JSON.stringify([checked.day, checked.model, checked.line])
    const earlier = lines.get(key)
    if (earlier !== undefined && isPlain) {
      throw refuse(each.place, `it has the day, model and class of ${places.get(key)}`)
    }
    const whole = JSON.stringify([checked.day, checked.model])
    const isWhole = checked.line === ''
    const shape = shapes.get(whole)
    if (shape !== undefined && shape.isWhole !== isWhole) {
      throw refuse(each.place, `it and ${shape.place} give both the total and a class of one day and model`)
    }
    shapes.set(whole, shape ?? { isWhole, place: each.place })
    places.set(key, each.place)
    lines.set(key, earlier === undefined ? checked : addLines(earlier, checked, each.place))
  }
  if (lines.size > MAX_BILL_LINES) throw refuse('The bill', `it has more than ${MAX_BILL_LINES} lines`)
  return [...lines.values()]
}

function addLines(left: BilledLine, right: BilledLine, place: string): BilledLine {
  const units = left.units === null || right.units === null ? null : left.units + right.units
  const billedPico = left.billedPico + right.billedPico
  if (billedPico > MAX_LINE_PICO) throw refuse(place, 'a cost is above 1,000,000 US dollars')
  return { ...left, units, billedPico }
}

function checkLine({ place, day, model, line, units, cost, scale = 0 }: RawLine, now: number): BilledLine {
  if (!z.iso.date().safeParse(day).success) throw refuse(place, 'the date must be a day such as 2026-11-21')
  if (day > utcDay(now)) throw refuse(place, `${day} has not begun in UTC`)
  if (day < utcDay(now - MAX_BILL_AGE_DAYS * DAY)) {
    throw refuse(place, `${day} is more than ${MAX_BILL_AGE_DAYS} days ago`)
  }
  return {
    day,
    model: nameOf(place, 'model', model),
    line: line === undefined || line === null || line.trim() === '' ? '' : nameOf(place, 'class', line),
    units: readUnits(place, units),
    billedPico: readCost(place, cost, scale),
  }
}

function nameOf(place: string, what: string, text: string): string {
  const name = text.trim()
  if (name === '') throw refuse(place, `the ${what} is missing`)
  if (name.length > MAX_NAME_CHARS) throw refuse(place, `the ${what} is longer than ${MAX_NAME_CHARS} characters`)
  if (!isOneLine(name)) throw refuse(place, `the ${what} has control characters`)
  if (/^[=+-]/.test(name)) throw refuse(place, `the ${what} begins like a formula`)
  return name
}

function readUnits(place: string, units: RawLine['units']): bigint | null {
  if (units === undefined || units === null || String(units).trim() === '') return null
  const text = String(units).trim()
  if (!/^\d{1,15}$/.test(text)) throw refuse(place, 'the units must be a whole number of at most 15 digits')
  return BigInt(text)
}

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,2}))?$/i
const PICO_DECIMALS = 12

/** A cost in pico-USD. Finer digits, which come from binary fractions in reports, are rounded. */
function readCost(place: string, cost: string | number, scale: number): bigint {
  const text = String(cost).trim()
  if (text.startsWith('-') && !/^-0*(?:\.0*)?$/.test(text)) throw refuse(place, 'the cost must not be negative')
  const match = DECIMAL.exec(text.replace(/^-/, ''))
  if (match === null) throw refuse(place, 'the cost must be a decimal number')
  const [, whole = '0', fraction = '', exponent = '0'] = match
  const shift = PICO_DECIMALS + scale + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  const pico = shift >= 0 ? digits * 10n ** BigInt(shift) : roundedBy(digits, 10n ** BigInt(-shift))
  if (pico > MAX_LINE_PICO) throw refuse(place, 'a cost is above 1,000,000 US dollars')
  return pico
}

function roundedBy(digits: bigint, divisor: bigint): bigint {
  return (digits + divisor / 2n) / divisor
}

const PLAIN_COLUMNS = ['date', 'model', 'class', 'units', 'cost_usd'] as const

function readCsv(text: string): RawLine[] {
  const [head = [], ...rows] = csvRows(text)
  const columns = head.map((name) => name.trim().toLowerCase())
  const unknown = columns.find((name) => !PLAIN_COLUMNS.some((plainColumn) => plainColumn === name))
  if (unknown !== undefined) {
    throw refuse('Line 1', `there is no column "${unknown.slice(0, MAX_SHOWN_CHARS)}": ${PLAIN_COLUMNS.join(', ')}`)
  }
  if (new Set(columns).size !== columns.length) throw refuse('Line 1', 'a column is named twice')
  for (const name of ['date', 'model', 'cost_usd']) {
    if (!columns.includes(name)) throw refuse('Line 1', `the column ${name} is missing`)
  }
  return rows.map((cells, at) => {
    const place = `Line ${at + 2}`
    if (cells.length !== columns.length) throw refuse(place, `it has ${cells.length} cells, not ${columns.length}`)
    const cell = (name: string) => cells[columns.indexOf(name)]?.trim() ?? ''
    return {
      place,
      day: cell('date'),
      model: cell('model'),
      line: cell('class'),
      units: cell('units'),
      cost: cell('cost_usd'),
    }
  })
}

/** The cells of each line of a CSV (RFC 4180). */
function csvRows(text: string): string[][] {
  const rows: string[][] = []
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (at > MAX_BILL_LINES) throw refuse('The file', `it has more than ${MAX_BILL_LINES} lines`)
    const cells = line.match(/(?:^|,)(?:"(?:[^"]|"")*"|[^",]*)/g) ?? []
    if (cells.join('') !== line) throw refuse(`Line ${at + 1}`, 'a quotation is not closed')
    rows.push(cells.map((cell) => unquoted(cell.replace(/^,/, ''))))
  }
  return rows
}

function unquoted(cell: string): string {
  return cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
}

const Amount = z.union([z.string().max(80), z.number()])
const PlainLine = z.strictObject({
  date: z.string().max(40),
  model: z.string().max(1_000),
  class: z.string().max(1_000).nullish(),
  units: z.union([z.string().max(40), z.number()]).nullish(),
  cost_usd: Amount,
})

function readPlain(raw: unknown, at: number): RawLine {
  const place = `Row ${at + 1}`
  const { date, class: line, cost_usd: cost, ...rest } = hold(PlainLine, raw, place)
  return { ...rest, place, day: date, line, cost }
}

/** Parses one part of a report or a file. The error names the member. */
function hold<Schema extends z.ZodType>(schema: Schema, raw: unknown, place: string): z.output<Schema> {
  const read = schema.safeParse(raw)
  if (read.success) return read.data
  const member = read.error.issues[0]?.path.map(String).join('.') ?? ''
  throw refuse(place, member === '' ? 'its form is unknown' : `the member ${member} is missing or has an unknown form`)
}

const Paged = {
  data: z.array(z.unknown()).max(MAX_BILL_LINES),
  has_more: z.boolean().nullish(),
  next_page: z.string().max(2_000).nullish(),
}
const Page = z.looseObject(Paged)
const Bucket = z.looseObject({
  start_time: z.number().int().min(0).max(1e11).optional(),
  end_time: z.number().int().min(0).max(1e11).optional(),
  starting_at: z.string().max(40).optional(),
  ending_at: z.string().max(40).optional(),
  results: z.array(z.unknown()).max(MAX_BILL_LINES),
})

/** Reads the report of any known provider, which its shape identifies. */
function readAnyReport(json: unknown): ReportPage {
  const { data } = hold(Page, json, 'The file')
  const bucket = data.map((one) => Bucket.safeParse(one).data).find((one) => one !== undefined)
  if (bucket?.start_time !== undefined) return readOpenaiCosts(json)
  return bucket?.starting_at === undefined ? readOpenrouterActivity(json) : readAnthropicCosts(json)
}

const OpenaiResult = z.looseObject({
  amount: z.looseObject({ value: Amount, currency: z.string().max(40) }),
  line_item: z.string().max(1_000).nullish(),
})

/** A page of OpenAI's costs by line item: `gpt-5-mini-2025-08-07, cached input`. */
export function readOpenaiCosts(json: unknown): ReportPage {
  return readBuckets(json, ({ start_time: start = 0, end_time: end }, result, place) => {
    const { amount, line_item: item } = hold(OpenaiResult, result, place)
    requireDollars(amount.currency, place)
    if (item === undefined || item === null) throw refuse(place, 'it has no line item: group the report by line_item')
    const comma = item.lastIndexOf(', ')
    const [model, line] = comma < 0 ? [ACCOUNT, item] : [item.slice(0, comma), item.slice(comma + 2)]
    const day = dayOfBucket(place, start * SECOND, end === undefined ? undefined : end * SECOND)
    return { place, day, model, line, cost: amount.value }
  })
}

const AnthropicResult = z.looseObject({
  amount: Amount,
  currency: z.string().max(40),
  model: z.string().max(1_000).nullish(),
  token_type: z.string().max(1_000).nullish(),
  description: z.string().max(1_000).nullish(),
})
const CENTS = -2

/** A page of Anthropic's cost report by description, whose amounts are cents. */
export function readAnthropicCosts(json: unknown): ReportPage {
  return readBuckets(json, ({ starting_at: start = '', ending_at: end }, result, place) => {
    const { amount, currency, model, token_type: type, description } = hold(AnthropicResult, result, place)
    requireDollars(currency, place)
    const line = type ?? description
    if (line === undefined || line === null) throw refuse(place, 'it has no description: group the report by it')
    const day = dayOfBucket(place, instantOf(start), end === undefined ? undefined : instantOf(end))
    return { place, day, model: model ?? ACCOUNT, line, cost: amount, scale: CENTS }
  })
}

/** An instant with its zone in Unix milliseconds. NaN for an instant without a zone. */
function instantOf(text: string): number {
  return z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : Number.NaN
}

/** The UTC day of a bucket, which is one day or a part of it. */
function dayOfBucket(place: string, start: number, end: number | undefined): string {
  const isWithin = end === undefined || (end > start && utcDay(end - 1) === utcDay(start))
  if (Number.isNaN(start) || !isWithin) throw refuse(place, 'its bucket is not within one day of UTC')
  return utcDay(start)
}

/** A day in OpenRouter's form, with or without midnight of UTC. */
const ROW_DAY = /^(\d{4}-\d{2}-\d{2})(?:[T ]00:00:00(?:\.0+)?(?:Z|\+00:00)?)?$/

const OpenrouterRow = z.looseObject({
  date: z.string().max(40),
  model: z.string().max(1_000),
  usage: Amount,
})

/** OpenRouter's activity: a row for each day, model and endpoint. */
export function readOpenrouterActivity(json: unknown): ReportPage {
  const { data } = hold(Page, json, 'The report')
  const lines = data.map((raw, at) => {
    const place = `Row ${at + 1}`
    const { date, model, usage } = hold(OpenrouterRow, raw, place)
    return { place, day: ROW_DAY.exec(date)?.[1] ?? '', model, cost: usage }
  })
  return { lines, next: null }
}

function readBuckets(
  json: unknown,
  read: (bucket: z.output<typeof Bucket>, result: unknown, place: string) => RawLine,
): ReportPage {
  const { data, has_more: more, next_page: next } = hold(Page, json, 'The report')
  const lines = data.flatMap((raw, at) => {
    const bucket = hold(Bucket, raw, `Bucket ${at + 1}`)
    return bucket.results.map((result, row) => read(bucket, result, `Bucket ${at + 1}, result ${row + 1}`))
  })
  return { lines, next: more === true ? (next ?? null) : null }
}

function requireDollars(currency: string, place: string): void {
  if (currency.toLowerCase() !== 'usd') throw refuse(place, 'the currency is not the US dollar')
}
