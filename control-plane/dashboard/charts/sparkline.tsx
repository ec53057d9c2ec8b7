import { linear, linePath } from './scale.ts'

const WIDTH = 96
const HEIGHT = 24

/** A small line without axes. The figures are beside the line. Nothing is drawn when all values are zero. */
export function Sparkline({ values, label }: { readonly values: readonly (number | null)[]; readonly label: string }) {
  const knownValues = values.filter((value): value is number => value !== null)
  if (knownValues.every((value) => value === 0)) return null
  const y = linear([0, Math.max(...knownValues, 1)], [HEIGHT - 2, 2])
  const x = linear([0, Math.max(values.length - 1, 1)], [1, WIDTH - 1])
  const dots = values.map((value, at) => ({ x: x(at), y: value === null ? null : y(value) }))
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      <path d={linePath(dots)} fill="none" stroke="var(--series-1)" strokeWidth={1.5} strokeLinejoin="round" />
    </svg>
  )
}
