/** A cell of a CSV file. Null gives an empty cell. */
export type CsvCell = string | number | bigint | null

export const LINE_END = '\r\n'

/** A line of a CSV file (RFC 4180). */
export function csvLine(cells: readonly CsvCell[]): string {
  let line = ''
  for (const [at, cell] of cells.entries()) {
    if (at > 0) line += ','
    line += csvCell(cell)
  }
  return line + LINE_END
}

/** Writes a cell. A text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function csvCell(cell: CsvCell): string {
  if (typeof cell === 'string') return csvText(cell)
  return cell === null ? '' : cell.toString()
}

const PLAIN = /^[^\s"=+@,-][^"\r\n,]*$/

function csvText(text: string): string {
  if (PLAIN.test(text) || text === '') return text
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text
  return /["\r\n,]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
