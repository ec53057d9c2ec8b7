import { useId } from 'react'
import { percent } from '#control-plane/dashboard/data/format.ts'

export type UptimeCell = { readonly name: string; readonly uptimePct: number | null }

const WIDTH = 300
const HEIGHT = 28
/** Below these shares of answered calls an hour is amber, and red. */
const GOOD_PCT = 99
const FAIR_PCT = 95

function toneOf(uptimePct: number | null): string {
  if (uptimePct === null) return 'var(--line)'
  if (uptimePct >= GOOD_PCT) return 'var(--good)'
  return uptimePct >= FAIR_PCT ? 'var(--warn)' : 'var(--bad)'
}

/** A bar for each hour. Grey is an hour without enough calls. Height says the same as colour. */
export function UptimeStrip({ label, cells }: { readonly label: string; readonly cells: readonly UptimeCell[] }) {
  const id = useId()
  const width = WIDTH / Math.max(cells.length, 1)
  const knownPercents = cells.flatMap(({ uptimePct }) => (uptimePct === null ? [] : [uptimePct]))
  const worst = knownPercents.length === 0 ? 'not enough data' : `worst hour ${percent(Math.min(...knownPercents))}`
  return (
    <svg
      className="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-labelledby={id}
    >
      <title id={id}>{`${label}: ${worst}`}</title>
      {cells.map(({ name, uptimePct }, at) => {
        const height = uptimePct === null ? 6 : HEIGHT * Math.max(0.35, uptimePct >= GOOD_PCT ? 1 : uptimePct / 130)
        return (
          <rect
            key={name}
            x={at * width + width * 0.12}
            width={width * 0.76}
            y={uptimePct === null ? (HEIGHT - height) / 2 : HEIGHT - height}
            height={height}
            fill={toneOf(uptimePct)}
          >
            <title>{`${name}: ${uptimePct === null ? 'not enough data' : percent(uptimePct, 2)}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}
