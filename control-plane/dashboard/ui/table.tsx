import type { MouseEvent, ReactNode } from 'react'
import { useState } from 'react'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { count, digitsOf } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { Button } from './button.tsx'
import { Code } from './copy.tsx'
import { Dialog, useDialog } from './dialog.tsx'
import type { FileColumn } from './file.ts'
import { openLink, saveFile } from './file.ts'
import { MoneyDigits, Time } from './marks.tsx'
import { RowsShown } from './pager.tsx'
import type { RowOrder } from './row-order.ts'
import { amountOf, isAmount, nextOrder, sortedRows } from './row-order.ts'
import { useToast } from './toast.tsx'
import type { WholeList } from './whole-list.ts'

/**
 * The place of a cell on a phone, where a row has two lines. The first line has the title, which is usually the first
 * column, and at its end the lead with its name. `plain` is a lead that explains itself, such as a state. The second
 * line has the facts with their names. `bare` is a fact without its name. `none` hides the cell.
 */
type PhonePlace = 'title' | 'lead' | 'plain' | 'fact' | 'bare' | 'none'

export type Column<Row> = FileColumn<Row> & {
  readonly cell: (row: Row) => ReactNode
  readonly isNumber?: boolean
  readonly phone?: PhonePlace
  /** The name of the column's order at the market, for lists that the market sorts. */
  readonly order?: string
  /** True for a number of which readers want the lowest first, such as a price. */
  readonly isLowFirst?: boolean
  /** True for instants. The head names UTC, and the cells do not repeat it. */
  readonly isInstant?: boolean
}

/** A column of instants. `none` is the text for a row without one, and the other cells then name the zone. */
export function timeColumn<Row>(
  label: string,
  at: (row: Row) => number | null | undefined,
  { none, ...more }: Partial<Column<Row>> & { readonly none?: string } = {},
): Column<Row> {
  return {
    label,
    isInstant: none === undefined,
    cell: (row) =>
      none !== undefined && at(row) == null ? none : <Time at={at(row)} isInColumn={none === undefined} />,
    text: at,
    unit: 'time',
    ...more,
  }
}

type TableProps<Row> = {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly empty: ReactNode
  readonly selected?: string | undefined
  /** Largest number of rows at first; a button shows the rest. */
  readonly most?: number
  readonly foot?: ReactNode
  /** The same query to the API, as a command. */
  readonly curl: string
  /** The whole list, of which `rows` is one page. Left out where `rows` is all. */
  readonly whole?: WholeList<Row>
  /** The market's order of a list in pages. A list that is whole is sorted here, by any column. */
  readonly order?: { readonly now: RowOrder | undefined; readonly onOrder: (order: RowOrder | undefined) => void }
  /** True where the order of the rows is the content of the table, as in a ranking. */
  readonly isRanked?: boolean
  /** The group of a row. Consecutive rows of one group are under the head of the group. */
  readonly groupOf?: (row: Row) => RowGroup
}

type RowGroup = { readonly key: string; readonly head: ReactNode }

/** A table of rows. A press anywhere in a row follows the link or the button of its first or its title cell. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows: given, keyOf, empty, selected, foot, curl, whole, most = given.length } = props
  const [isWhole, setWhole] = useState(false)
  const [own, setOwn] = useState<RowOrder>()
  const isUtc = useSettings().zone === 'utc'
  const order =
    props.order ?? (whole === undefined && props.isRanked !== true ? { now: own, onOrder: setOwn } : undefined)
  const all = props.order === undefined ? sortedRows(given, columns, own) : given
  const rows = isWhole ? all : all.slice(0, most)
  if (rows.length === 0) return <>{empty}</>
  const places = placesOf(columns)
  // Amounts beside each other add up in sight, so that all columns have the same decimals.
  const digits = digitsOf(columns.flatMap((column) => rows.map((row) => amountOf(column, row))))
  return (
    <div>
      <div className="table-wrap">
        <table className="table cards">
          <caption className="hidden">{label}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <Head
                  key={column.label}
                  column={column}
                  isUtc={isUtc}
                  isPaged={props.order !== undefined}
                  order={order}
                />
              ))}
            </tr>
          </thead>
          {groupsOf(rows, props.groupOf).map(({ key, head, members }) => (
            <tbody key={key}>
              {head === undefined ? null : (
                <tr className="group">
                  <th scope="rowgroup" colSpan={columns.length}>
                    <span>{head}</span>
                  </th>
                </tr>
              )}
              {members.map((row) => (
                <tr
                  key={keyOf(row)}
                  aria-selected={selected === undefined ? undefined : keyOf(row) === selected}
                  onClick={openRow}
                >
                  {columns.map((column, at) => (
                    <td
                      key={column.label}
                      data-label={column.label}
                      data-phone={places[at]}
                      data-unit={column.unit}
                      data-blank={isBlank(column, row) ? '' : undefined}
                      className={column.isNumber ? 'num' : undefined}
                    >
                      {isAmount(column) ? (
                        <MoneyDigits value={digits}>
                          <span>{column.cell(row)}</span>
                        </MoneyDigits>
                      ) : (
                        <span>{column.cell(row)}</span>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </div>
      <div className="table-foot">
        <div className="actions">
          {foot === undefined ? (
            <span>
              {rows.length < all.length
                ? `1–${count(rows.length)} of ${count(all.length)}`
                : `${count(all.length)} ${all.length === 1 ? 'row' : 'rows'}`}
            </span>
          ) : (
            <RowsShown value={rows.length}>{foot}</RowsShown>
          )}
          {rows.length < all.length ? <Button onClick={() => setWhole(true)}>Show all</Button> : null}
        </div>
        <TableTools label={label} columns={columns} rows={all} curl={curl} {...(whole && { whole })} />
        {isUtc && columns.some(({ isInstant }) => isInstant) ? <span className="phone-zone">Times in UTC</span> : null}
      </div>
    </div>
  )
}

type Grouped<Row> = { readonly key: string; readonly head: ReactNode; readonly members: readonly Row[] }

/** The rows by group, in their order. A table without groups has one. */
function groupsOf<Row>(rows: readonly Row[], groupOf: TableProps<Row>['groupOf']): readonly Grouped<Row>[] {
  if (groupOf === undefined) return [{ key: 'all', head: undefined, members: rows }]
  const groups = new Map<string, { key: string; head: ReactNode; members: Row[] }>()
  for (const row of rows) {
    const { key, head } = groupOf(row)
    const group = groups.get(key) ?? { key, head, members: [] }
    group.members.push(row)
    groups.set(key, group)
  }
  return [...groups.values()]
}

const MONEY: ReadonlySet<string | undefined> = new Set(['microUsd', 'microUsdc', 'usd'])
/** Columns whose cells need no name. */
const PLAIN: ReadonlySet<string> = new Set(['When', 'State', 'Status', 'Outcome'])

/** The place of each column on a phone. The last amount leads, or else the state, unless a column says otherwise. */
function placesOf<Row>(columns: readonly Column<Row>[]): readonly (PhonePlace | 'act')[] {
  const isNamed = (place: PhonePlace) => columns.some(({ phone }) => phone === place)
  const lastOf = (isIt: (column: Column<Row>) => boolean) =>
    columns.findLastIndex((column, at) => at > 0 && column.phone === undefined && isIt(column))
  const hasLead = isNamed('lead') || isNamed('plain')
  const amount = hasLead ? -1 : lastOf(({ unit }) => MONEY.has(unit))
  const state = hasLead || amount > 0 ? -1 : lastOf(({ label }) => label !== 'When' && PLAIN.has(label))
  return columns.map(({ phone, text, label }, at) => {
    if (phone !== undefined) return phone
    if (at === 0 && !isNamed('title')) return 'title'
    if (at === amount) return 'lead'
    if (at === state) return 'plain'
    return text === undefined ? 'act' : PLAIN.has(label) ? 'bare' : 'fact'
  })
}

/** True for a cell that is empty in the file. A phone hides such a cell. */
function isBlank<Row>({ text }: Column<Row>, row: Row): boolean {
  const value = text?.(row)
  return text !== undefined && (value === null || value === undefined || value === '')
}

const CONTROLS = 'a, button, input, select, textarea, label, summary'

/**
 * Follows the link or button of the first or the title cell, unless the reader pressed another control or selects
 * text. Keys go to the link or button itself.
 */
function openRow(event: MouseEvent<HTMLTableRowElement>): void {
  const { target, currentTarget, ctrlKey, metaKey, shiftKey } = event
  if (!(target instanceof Element) || target.closest(CONTROLS) !== null) return
  if ((getSelection()?.toString() ?? '') !== '') return
  const opener = currentTarget.querySelector('td:is(:first-child, [data-phone="title"]) :is(a, button.link)')
  opener?.dispatchEvent(new window.MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }))
}

type HeadProps<Row> = {
  readonly column: Column<Row>
  readonly isUtc: boolean
  readonly isPaged: boolean
  readonly order: TableProps<Row>['order']
}

/** The head of a column. A press sorts by the column, and a second press reverses the order. */
function Head<Row>({ column, isUtc, isPaged, order }: HeadProps<Row>) {
  const { label, isNumber = false, isLowFirst = false, text, order: name } = column
  const head = isUtc && column.isInstant ? `${label} (UTC)` : label
  const by = isPaged ? name : text === undefined ? undefined : label
  const className = isNumber ? 'num' : undefined
  if (order === undefined || by === undefined) {
    return (
      <th scope="col" className={className}>
        {head}
      </th>
    )
  }
  const { now } = order
  const isBy = now?.by === by
  return (
    <th scope="col" className={className} aria-sort={isBy ? (now.isDown ? 'descending' : 'ascending') : undefined}>
      <button type="button" className="sort" onClick={() => order.onOrder(nextOrder(now, by, isNumber && !isLowFirst))}>
        {head}
      </button>
    </th>
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
      const { csvOf } = await import('./csv.ts')
      saveFile(`${label.toLowerCase().replaceAll(/\W+/g, '-')}.csv`, csvOf(columns, all))
    } catch (error) {
      say(error instanceof MarketError ? error.message : 'The export failed. Try again.')
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
