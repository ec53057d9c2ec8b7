import type { ReactNode } from 'react'
import { changeFrom } from './change-from.ts'

type ChangeProps = {
  readonly now: number | null
  readonly before: number | null
  /** The figure of the period before, as the screen writes it. Left out where a cell has no room for it. */
  readonly children?: ReactNode
}

/** The change of a figure from the period before, and that period's figure. Screen readers hear the sign as a word. */
export function Change({ now, before, children }: ChangeProps) {
  const change = changeFrom(before, now)
  return (
    <>
      {change === undefined ? null : (
        <>
          <span aria-hidden="true">{change.shown}</span>
          <span className="hidden">{change.words}</span>
        </>
      )}
      {children === undefined ? null : (
        <>
          {change === undefined ? '' : ' · '}
          {children} before
        </>
      )}
    </>
  )
}
