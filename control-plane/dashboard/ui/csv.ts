import { toMicro } from '#control-plane/dashboard/data/format.ts'
import type { FileColumn, FileValue, Unit } from './file.ts'

const UNIT_NAMES: Readonly<Record<Unit, string>> = {
  time: 'UTC',
  microUsd: 'USD',
  microUsdc: 'USDC',
  usd: 'USD',
  ms: 'ms',
  percent: '%',
}

const MICRO = 1_000_000n
const DECIMALS = 6

/** Millionths as whole units, to the micro: 49 gives 0.000049. */
function wholeUnits(amount: string | number | bigint): string {
  const micro = toMicro(amount)
  const size = micro < 0n ? -micro : micro
  return `${micro < 0n ? '-' : ''}${size / MICRO}.${(size % MICRO).toString().padStart(DECIMALS, '0')}`
}

/** A cell that a spreadsheet takes for a text, never for a formula. */
function csvCell(value: FileValue, unit?: Unit): string {
  if (value === null || value === undefined) return ''
  if (unit === 'time' && typeof value === 'number') return new Date(value).toISOString()
  if (unit === 'microUsd' || unit === 'microUsdc') return wholeUnits(value)
  const text = String(value)
  const safe = typeof value === 'string' && unit === undefined && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The rows as a CSV file: times in ISO 8601, units in the heads. */
export function csvOf<Row>(columns: readonly FileColumn<Row>[], rows: readonly Row[]): string {
  const namedColumns = columns.flatMap((column) => column.file ?? [column]).filter(({ text }) => text !== undefined)
  const heads = namedColumns.map(({ label, unit }) =>
    csvCell(unit === undefined ? label : `${label} (${UNIT_NAMES[unit]})`),
  )
  const lines = rows.map((row) => namedColumns.map(({ text, unit }) => csvCell(text?.(row), unit)).join(','))
  return [heads.join(','), ...lines, ''].join('\r\n')
}
