import { useId } from 'react'
import { linear, niceTop } from './scale.ts'
import { useWidth } from './use-width.ts'

export type DepthStep = {
  /** Percent below the reference price. */
  readonly discountPct: number
  /** Offers that are on sale at this step or better. */
  readonly offers: number
  /** Dollars left today at this step or better; null while one of them has no cap. */
  readonly leftMicro: number | null
}

const HEIGHT = 200
const PAD = { left: 40, right: 12, top: 12, bottom: 26 }

/** A step chart of the number of offers at each discount or a larger one. */
export function DepthChart({ steps }: { readonly steps: readonly DepthStep[] }) {
  const id = useId()
  const [box, width] = useWidth()
  const best = Math.max(...steps.map(({ discountPct }) => discountPct), 1)
  const right = Math.min(100, niceTop(best))
  const top = niceTop(Math.max(...steps.map(({ offers }) => offers), 1))
  const x = linear([0, right], [PAD.left, width - PAD.right])
  const y = linear([0, top], [HEIGHT - PAD.bottom, PAD.top])
  const sorted = [...steps].sort((a, b) => a.discountPct - b.discountPct)
  const path = sorted.reduce(
    (drawn, { discountPct, offers }) => `${drawn}V${y(offers).toFixed(1)}H${x(discountPct).toFixed(1)}`,
    `M${x(0)} ${y(0)}`,
  )
  const area = `${path}V${y(0)}Z`
  return (
    <svg
      ref={box}
      height={HEIGHT}
      className="chart c1"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-labelledby={id}
    >
      <title id={id}>Offers at each discount or better</title>
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line className="rule" x1={PAD.left} x2={width - PAD.right} y1={y(top * share)} y2={y(top * share)} />
          <text x={PAD.left - 8} y={y(top * share) + 4} textAnchor="end">
            {top * share}
          </text>
        </g>
      ))}
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <text key={share} x={x(right * share)} y={HEIGHT - 8} textAnchor={share === 1 ? 'end' : 'middle'}>
          {`${right * share}%`}
        </text>
      ))}
      <path d={area} fill="var(--accent-soft)" />
      <path d={path} fill="none" stroke="var(--series)" strokeWidth={2} />
    </svg>
  )
}
