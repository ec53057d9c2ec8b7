import { useCallback, useLayoutEffect, useRef } from 'react'

/** A function that stays the same between drawings, and does what the last drawing says. For handlers of events. */
export function useLatest<Given extends readonly unknown[]>(run: (...given: Given) => void): (...given: Given) => void {
  const latest = useRef(run)
  useLayoutEffect(() => {
    latest.current = run
  })
  return useCallback((...given) => latest.current(...given), [])
}
