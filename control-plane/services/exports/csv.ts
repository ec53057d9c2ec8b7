/** One cell of a CSV file; null is an empty one. */
export type Cell = string | number | bigint | null

/** The end of every line. */
export const LINE_END = '\r\n'

/** A line of a CSV file (RFC 4180). Texts that a spreadsheet would run as a formula are led by an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  let line = ''
  for (const [at, cell] of cells.entries()) {
    if (at > 0) line += ','
    line += typeof cell === 'string' ? csvText(cell) : cell === null ? '' : cell.toString()
  }
  return line + LINE_END
}

const PLAIN = /^[^\s"=+@,-][^"\r\n,]*$/

function csvText(text: string): string {
  if (PLAIN.test(text) || text === '') return text
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text
  return /["\r\n,]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
