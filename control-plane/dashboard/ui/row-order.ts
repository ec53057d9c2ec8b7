import type { Micro } from '#control-plane/dashboard/data/format.ts'
import { toMicro } from '#control-plane/dashboard/data/format.ts'
import type { FileColumn, FileValue } from './file.ts'

/** The order of a table: the column or the market's name of the order, and whether the largest comes first. */
export type RowOrder = { readonly by: string; readonly isDown: boolean }

/** The order after a press of a head: its first direction, then the other one, and then the table's own order. */
export function nextOrder(now: RowOrder | undefined, by: string, isDownFirst: boolean): RowOrder | undefined {
  if (now?.by !== by) return { by, isDown: isDownFirst }
  return now.isDown === isDownFirst ? { by, isDown: !isDownFirst } : undefined
}

/** True for a column of micro-USD or micro-USDC. */
export function isAmount<Row>({ unit }: FileColumn<Row>): boolean {
  return unit === 'microUsd' || unit === 'microUsdc'
}

/** The amount of a cell. Undefined for a column of something else. */
export function amountOf<Row>(column: FileColumn<Row>, row: Row): Micro | undefined {
  return isAmount(column) ? (column.text?.(row) ?? undefined) : undefined
}

/** The rows in the order of a column. Rows without a value come last in both directions. */
export function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly FileColumn<Row>[],
  order: RowOrder | undefined,
): readonly Row[] {
  const column = columns.find(({ label }) => label === order?.by)
  if (order === undefined || column?.text === undefined) return rows
  const { text } = column
  const isMoney = isAmount(column)
  const worthOf = (row: Row) => {
    const value = text(row)
    return isMoney && value !== null && value !== undefined ? toMicro(value) : value
  }
  const sign = order.isDown ? -1 : 1
  return rows
    .map((row) => ({ row, value: worthOf(row) }))
    .sort((a, b) => {
      if (isNothing(a.value) || isNothing(b.value)) return Number(isNothing(a.value)) - Number(isNothing(b.value))
      return sign * compare(a.value, b.value)
    })
    .map(({ row }) => row)
}

const isNothing = (value: FileValue): value is null | undefined | '' =>
  value === null || value === undefined || value === ''

function compare(a: string | number | bigint, b: string | number | bigint): number {
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b, 'en', { numeric: true })
  return a === b ? 0 : a < b ? -1 : 1
}
