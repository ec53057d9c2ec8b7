import type { ExitName } from './failure.ts'
import type { TableColumn } from './table.ts'
import { clean, tableLines } from './table.ts'

/** A part of an answer for a person. */
export type OutputBlock =
  | {
      readonly kind: 'table'
      readonly columns: readonly TableColumn[]
      readonly rows: readonly (readonly string[])[]
      readonly whenEmpty: string
    }
  | { readonly kind: 'facts'; readonly facts: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: 'text'; readonly text: string }

/** A command's answer, for programs and for people. */
export type CommandOutput = {
  /** The value that `--json` prints. Undefined when the command has printed everything already. */
  readonly json: unknown
  readonly blocks: readonly OutputBlock[]
  /** The exit, when the run did not go well. */
  readonly exit?: ExitName
}

/** A column of a table with the text of its cells. */
export type TableCell<Row> = TableColumn & { readonly value: (row: Row) => string | number | null | undefined }

/** Makes a table of rows. A missing value is a dash. */
export function table<Row>(
  rows: readonly Row[],
  cells: readonly TableCell<Row>[],
  whenEmpty = 'Nothing here.',
): OutputBlock {
  return {
    kind: 'table',
    columns: cells.map(({ title, alignsRight = false }) => ({ title, alignsRight })),
    rows: alignedAmounts(rows.map((row) => cells.map(({ value }) => String(value(row) ?? '-')))),
    whenEmpty,
  }
}

const AMOUNT = /^-?\$[\d,]+\.(\d+)$/

/** Gives the amounts of a column the same number of decimals. */
function alignedAmounts(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const decimals = (rows[0] ?? []).map((_, at) =>
    Math.max(0, ...rows.map((row) => AMOUNT.exec(row[at] ?? '')?.[1]?.length ?? 0)),
  )
  return rows.map((row) =>
    row.map((cell, at) => {
      const own = AMOUNT.exec(cell)?.[1]?.length
      return own === undefined ? cell : cell + '0'.repeat((decimals[at] ?? own) - own)
    }),
  )
}

/** Names with their values, one pair a line. */
export function facts(values: Readonly<Record<string, string | number | boolean | null | undefined>>): OutputBlock {
  return { kind: 'facts', facts: Object.entries(values).map(([name, value]) => [name, String(value ?? '-')]) }
}

export function text(line: string): OutputBlock {
  return { kind: 'text', text: line }
}

/** The form of an answer. `width` is a terminal's, and undefined when nothing may be cut. */
export type Looks = { readonly width: number | undefined; readonly hasColor: boolean }

const BOLD = ['\u001b[1m', '\u001b[22m'] as const
const DIM = ['\u001b[2m', '\u001b[22m'] as const

/** The blocks of an answer as lines, with an empty line between blocks. */
export function renderBlocks(blocks: readonly OutputBlock[], looks: Looks): string {
  return blocks.map((block) => renderBlock(block, looks)).join('\n\n')
}

function renderBlock(block: OutputBlock, { width, hasColor }: Looks): string {
  const paint = (line: string, [on, off]: readonly [string, string]) => (hasColor ? on + line + off : line)
  switch (block.kind) {
    case 'text':
      return block.text
    case 'facts': {
      const longest = Math.max(0, ...block.facts.map(([name]) => name.length))
      return block.facts.map(([name, value]) => `${paint(name.padEnd(longest), DIM)}  ${clean(value)}`).join('\n')
    }
    case 'table': {
      if (block.rows.length === 0) return paint(block.whenEmpty, DIM)
      const [head = '', ...lines] = tableLines(block.columns, block.rows, width)
      return [paint(head, BOLD), ...lines].join('\n')
    }
  }
}
