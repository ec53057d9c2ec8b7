/**
 * The tops of an axis within a power of ten. Half of each is a round number; within ten, the even ones have whole
 * halves.
 */
const TOPS = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]

/**
 * The round number at the top of an axis that holds a value, above ten at most half as high again. Half of the top is
 * round, too, and whole on an axis of counts.
 */
export function niceTop(value: number): number {
  if (value <= 0) return 1
  const step = 10 ** Math.floor(Math.log10(value))
  const top = TOPS.find((factor) => factor * step >= value && (step > 1 || factor % 2 === 0)) ?? 10
  return Number((top * step).toPrecision(2))
}

/** Maps a domain to a range. */
export function linear([from, to]: readonly [number, number], [low, high]: readonly [number, number]) {
  const width = to - from || 1
  return (value: number) => low + ((value - from) / width) * (high - low)
}

type Dot = { readonly x: number; readonly y: number | null }

/** A path through points; null is a gap. */
export function linePath(dots: readonly Dot[]): string {
  let isDown = false
  return dots
    .map(({ x, y }) => {
      if (y === null) {
        isDown = false
        return ''
      }
      const step = `${isDown ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`
      isDown = true
      return step
    })
    .join('')
}
