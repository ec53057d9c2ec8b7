import type { RefObject } from 'react'
import { useEffect, useRef, useState } from 'react'

const FIRST_WIDTH = 640
const LEAST_WIDTH = 200

/** The width of an element in pixels, so that a chart's text has one size everywhere. */
export function useWidth(): readonly [RefObject<SVGSVGElement | null>, number] {
  const element = useRef<SVGSVGElement>(null)
  const [width, setWidth] = useState(FIRST_WIDTH)
  useEffect(() => {
    const { current } = element
    if (current === null) return undefined
    const watch = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(LEAST_WIDTH, Math.round(entry.contentRect.width)))
    })
    watch.observe(current)
    return () => watch.disconnect()
  }, [])
  return [element, width]
}
