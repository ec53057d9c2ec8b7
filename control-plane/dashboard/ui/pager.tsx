import { createContext, use, useRef } from 'react'
import { count } from '#control-plane/dashboard/data/format.ts'
import { Button } from './button.tsx'

/** Rows that the table above shows. */
export const RowsShown = createContext(0)

type PagerProps = {
  readonly next: string | null | undefined
  readonly hasNext: boolean | undefined
  readonly after: string | undefined
  readonly onPage: (after: string | undefined) => void
  /** The number of rows of all pages, where it was counted. */
  readonly total?: number | undefined
}

type Place = { readonly before: string | undefined; readonly rowsBefore: number }
const FIRST: Place = { before: undefined, rowsBefore: 0 }

/**
 * Pages by cursor. A cursor leads forward only, so the cursors of earlier pages are remembered. A link to a later page
 * leads to the first one.
 */
export function Pager({ next, hasNext, after, onPage, total }: PagerProps) {
  const shown = use(RowsShown)
  const places = useRef(new Map<string, Place>())
  const place = after === undefined ? FIRST : places.current.get(after)
  const forward = () => {
    if (!next) return
    if (place !== undefined) {
      places.current.set(next, { before: after, rowsBefore: place.rowsBefore + shown })
    }
    onPage(next)
  }
  if (after === undefined && hasNext !== true) return <span>{`${count(shown)} ${shown === 1 ? 'row' : 'rows'}`}</span>
  return (
    <nav className="actions" aria-label="Pages">
      <Button
        disabled={after === undefined}
        aria-label={place === undefined ? undefined : 'Previous page'}
        onClick={() => onPage(place?.before)}
      >
        {place === undefined ? 'First page' : 'Previous'}
      </Button>
      <Button aria-label="Next page" disabled={hasNext !== true} onClick={forward}>
        Next
      </Button>
      <span className="nowrap">{rangeOf(place, shown, total, hasNext)}</span>
    </nav>
  )
}

/** The place of the rows in the list. The last page knows the number of all rows. */
function rangeOf(
  place: Place | undefined,
  shown: number,
  total: number | undefined,
  hasNext: boolean | undefined,
): string {
  if (place === undefined) return total === undefined ? `${count(shown)} rows` : `${count(shown)} of ${count(total)}`
  const last = place.rowsBefore + shown
  const all = total ?? (hasNext === true ? undefined : last)
  return `${count(place.rowsBefore + 1)}–${count(last)}${all === undefined ? '' : ` of ${count(all)}`}`
}
