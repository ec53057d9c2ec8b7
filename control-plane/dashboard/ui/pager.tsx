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

type Place = { readonly before: string | undefined; readonly page: number; readonly rowsBefore: number }
const FIRST: Place = { before: undefined, page: 1, rowsBefore: 0 }

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
      places.current.set(next, { before: after, page: place.page + 1, rowsBefore: place.rowsBefore + shown })
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
      <span className="nowrap">{rangeOf(place, shown, total)}</span>
    </nav>
  )
}

function rangeOf(place: Place | undefined, shown: number, total: number | undefined): string {
  const all = total === undefined ? '' : ` of ${count(total)}`
  if (place === undefined) return `${count(shown)}${all}${total === undefined ? ' rows' : ''}`
  return `${count(place.rowsBefore + 1)}–${count(place.rowsBefore + shown)}${all}${total === undefined ? ` · page ${place.page}` : ''}`
}
