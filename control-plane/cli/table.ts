/** A column: its title, and the side to which its cells are aligned. */
export type TableColumn = { readonly title: string; readonly alignsRight?: boolean }

const GAP = '  '
const MIN_WIDTH = 6
const CUT = '…'

/** The number of cells that a text takes on a terminal. Wide scripts count twice. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text) width += isWide(char.codePointAt(0) ?? 0) ? 2 : 1
  return width
}

function isWide(point: number): boolean {
  return (
    (point >= 0x1100 && point <= 0x115f) ||
    (point >= 0x2e80 && point <= 0xa4cf) ||
    (point >= 0xac00 && point <= 0xd7a3) ||
    (point >= 0xf900 && point <= 0xfaff) ||
    (point >= 0xfe30 && point <= 0xfe6f) ||
    (point >= 0xff00 && point <= 0xff60) ||
    (point >= 0x1f300 && point <= 0x1faff)
  )
}

/**
 * Writes rows as lines with aligned columns. With a terminal's width, the widest columns are cut until a line fits.
 * Control characters of foreign text never reach a terminal.
 */
export function tableLines(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(clean))]
  const natural = columns.map((_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? ''))))
  const widths = width === undefined ? natural : narrow(natural, width - GAP.length * (columns.length - 1))
  return cells.map((row) =>
    columns
      .map(({ alignsRight = false }, at) => pad(row[at] ?? '', { width: widths[at] ?? 0, alignsRight }))
      .join(GAP)
      .trimEnd(),
  )
}

/** Foreign text on one line, without control characters. */
export function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()
}

function narrow(natural: readonly number[], available: number): number[] {
  const widths = [...natural]
  let over = widths.reduce((sum, one) => sum + one, 0) - available
  while (over > 0) {
    const widest = Math.max(...widths)
    if (widest <= MIN_WIDTH) break
    widths[widths.indexOf(widest)] = widest - 1
    over -= 1
  }
  return widths
}

function pad(text: string, { width, alignsRight }: { width: number; alignsRight: boolean }): string {
  const shown = widthOf(text) > width ? cut(text, width) : text
  const fill = ' '.repeat(Math.max(0, width - widthOf(shown)))
  return alignsRight ? fill + shown : shown + fill
}

function cut(text: string, width: number): string {
  let shown = ''
  let used = 1
  for (const char of text) {
    used += widthOf(char)
    if (used > width) break
    shown += char
  }
  return shown + CUT
}
