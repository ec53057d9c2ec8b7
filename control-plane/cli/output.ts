import type { ExitName } from './failure.ts'
import type { Column } from './table.ts'
import { clean, tableLines } from './table.ts'

/** A part of an answer as a person reads it. */
export type Block =
  | {
      readonly kind: 'table'
      readonly columns: readonly Column[]
      readonly rows: readonly (readonly string[])[]
      readonly whenEmpty: string
    }
  | { readonly kind: 'facts'; readonly facts: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: 'text'; readonly text: string }

/** What a command answers: for programs, and for people. */
export type Output = {
  /** What `--json` prints; undefined where everything was printed on the way. */
  readonly json: unknown
  readonly blocks: readonly Block[]
  /** How the run ends when not well. */
  readonly exit?: ExitName
}

/** A column of a table and how a row fills it. */
export type Cell<Row> = Column & { readonly value: (row: Row) => string | number | null | undefined }

/** A table of rows; what a row does not have is a dash. */
export function table<Row>(rows: readonly Row[], cells: readonly Cell<Row>[], whenEmpty = 'Nothing here.'): Block {
  return {
    kind: 'table',
    columns: cells.map(({ title, alignsRight = false }) => ({ title, alignsRight })),
    rows: rows.map((row) => cells.map(({ value }) => String(value(row) ?? '-'))),
    whenEmpty,
  }
}

/** Names with their values, one on a line. */
export function facts(values: Readonly<Record<string, string | number | boolean | null | undefined>>): Block {
  return { kind: 'facts', facts: Object.entries(values).map(([name, value]) => [name, String(value ?? '-')]) }
}

export function text(line: string): Block {
  return { kind: 'text', text: line }
}

/** Where an answer is shown. `width` is that of a terminal, undefined where nothing is to be cut. */
export type Looks = { readonly width: number | undefined; readonly hasColor: boolean }

const BOLD = ['\u001b[1m', '\u001b[22m'] as const
const DIM = ['\u001b[2m', '\u001b[22m'] as const

/** The blocks of an answer as lines, one empty line between two of them. */
export function renderBlocks(blocks: readonly Block[], looks: Looks): string {
  return blocks.map((block) => renderBlock(block, looks)).join('\n\n')
}

function renderBlock(block: Block, { width, hasColor }: Looks): string {
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
