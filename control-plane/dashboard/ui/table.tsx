import type { ReactNode } from 'react'
import { useState } from 'react'
import { Button } from './button.tsx'
import { Code } from './copy.tsx'
import { Dialog, useDialog } from './dialog.tsx'

export type Column<Row> = {
  readonly label: string
  readonly cell: (row: Row) => ReactNode
  /** The cell in a file; left out for a column of buttons. */
  readonly text?: (row: Row) => string | number | null | undefined
  readonly isNumber?: boolean
}

type TableProps<Row> = {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly empty: ReactNode
  readonly selected?: string | undefined
  /** Most rows at first; a button shows the rest. */
  readonly most?: number
  readonly foot?: ReactNode
  /** The same question at the API, as a command. */
  readonly curl: string
}

/** A table of rows that the market sorted and cut into pages. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows: all, keyOf, empty, selected, foot, curl, most = all.length } = props
  const [isWhole, setWhole] = useState(false)
  const rows = isWhole ? all : all.slice(0, most)
  if (rows.length === 0) return <>{empty}</>
  return (
    <div>
      <div className="table-wrap">
        <table className="table cards">
          <caption className="hidden">{label}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.label} scope="col" className={column.isNumber ? 'num' : undefined}>
                  {column.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)} aria-selected={selected === undefined ? undefined : keyOf(row) === selected}>
                {columns.map((column) => (
                  <td key={column.label} data-label={column.label} className={column.isNumber ? 'num' : undefined}>
                    <span>{column.cell(row)}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="table-foot">
        <div className="actions">
          {foot ?? (
            <span>
              {rows.length < all.length
                ? `${rows.length} of ${all.length} lines`
                : `${all.length} ${all.length === 1 ? 'line' : 'lines'}`}
            </span>
          )}
          {rows.length < all.length ? <Button onClick={() => setWhole(true)}>Show all</Button> : null}
        </div>
        <TableTools label={label} columns={columns} rows={all} curl={curl} />
      </div>
    </div>
  )
}

type ToolsProps<Row> = Pick<TableProps<Row>, 'label' | 'columns' | 'rows' | 'curl'>

function TableTools<Row>({ label, columns, rows, curl }: ToolsProps<Row>) {
  const dialog = useDialog()
  return (
    <div className="actions">
      <Button
        kind="quiet"
        onClick={() => saveFile(`${label.toLowerCase().replaceAll(/\W+/g, '-')}.csv`, csvOf(columns, rows))}
      >
        CSV
      </Button>
      <Button kind="quiet" onClick={dialog.open}>
        curl
      </Button>
      <Dialog dialog={dialog} title="The same by the API">
        <p className="muted">Put your key into the header where the question is not public.</p>
        <Code text={curl} label="curl" />
      </Dialog>
    </div>
  )
}

/** A cell that a spreadsheet takes for a text, never for a formula. */
function csvCell(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function csvOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const namedColumns = columns.filter(({ text }) => text !== undefined)
  const lines = rows.map((row) => namedColumns.map(({ text }) => csvCell(text?.(row))).join(','))
  return [namedColumns.map(({ label }) => csvCell(label)).join(','), ...lines, ''].join('\r\n')
}

/** Saves a text as a file of the reader. */
export function saveFile(name: string, text: string, type = 'text/csv'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

type PagerProps = {
  readonly next: string | null | undefined
  readonly hasNext: boolean | undefined
  readonly after: string | undefined
  readonly onPage: (after: string | undefined) => void
}

/** Pages by cursor: on to the next, or back to the first. */
export function Pager({ next, hasNext, after, onPage }: PagerProps) {
  if (after === undefined && hasNext !== true) return null
  return (
    <div className="actions">
      <Button disabled={after === undefined} onClick={() => onPage(undefined)}>
        First page
      </Button>
      <Button disabled={hasNext !== true} onClick={() => onPage(next ?? undefined)}>
        Next page
      </Button>
    </div>
  )
}
