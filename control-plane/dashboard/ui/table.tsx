import type { ReactNode } from 'react'
import { useState } from 'react'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { count } from '#control-plane/dashboard/data/format.ts'
import { Button } from './button.tsx'
import { Code } from './copy.tsx'
import { Dialog, useDialog } from './dialog.tsx'
import type { FileColumn } from './file.ts'
import { csvOf, openLink, saveFile } from './file.ts'
import { useToast } from './toast.tsx'
import type { WholeList } from './whole-list.ts'

export type Column<Row> = FileColumn<Row> & {
  readonly cell: (row: Row) => ReactNode
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
  /** The whole list, of which `rows` is one page. Left out where `rows` is all. */
  readonly whole?: WholeList<Row>
}

/** A table of rows that the market sorted and cut into pages. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows: all, keyOf, empty, selected, foot, curl, whole, most = all.length } = props
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
        <TableTools label={label} columns={columns} rows={all} curl={curl} {...(whole && { whole })} />
      </div>
    </div>
  )
}

type ToolsProps<Row> = Pick<TableProps<Row>, 'label' | 'columns' | 'rows' | 'curl' | 'whole'>

function TableTools<Row>({ label, columns, rows, curl, whole }: ToolsProps<Row>) {
  const dialog = useDialog()
  const say = useToast()
  const [isSaving, setSaving] = useState(false)
  const save = async () => {
    setSaving(true)
    try {
      if (whole !== undefined && 'link' in whole) return openLink(await whole.link())
      const { rows: all, isCut } = whole === undefined ? { rows, isCut: false } : await whole.rows()
      if (isCut) say(`The file has the first ${count(all.length)} rows.`)
      saveFile(`${label.toLowerCase().replaceAll(/\W+/g, '-')}.csv`, csvOf(columns, all))
    } catch (error) {
      say(error instanceof MarketError ? error.message : 'The file could not be made. Try again.')
    } finally {
      setSaving(false)
    }
  }
  return (
    <div className="actions">
      <Button kind="quiet" disabled={isSaving} onClick={() => void save()}>
        {isSaving ? 'Exporting…' : 'CSV'}
      </Button>
      <Button kind="quiet" onClick={dialog.open}>
        curl
      </Button>
      <Dialog dialog={dialog} title="Run this query with the API">
        <p className="muted">Add your API key to the header unless the query is public.</p>
        <Code text={curl} label="curl" />
      </Dialog>
    </div>
  )
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
