import { useId } from 'react'
import { count, percent } from '#control-plane/dashboard/data/format.ts'
import type { UptimeCell } from './uptime-cells.ts'

const WIDTH = 300
const HEIGHT = 28
/** Below these shares a bar is amber, and red. */
const GOOD_PCT = 99
const FAIR_PCT = 95

/** Fewer failures than this are no red bar, however few calls there were. */
const MANY_FAILURES = 2.5

function toneOf(uptimePct: number | null, base: number): string {
  if (uptimePct === null) return 'var(--line)'
  if (uptimePct >= GOOD_PCT) return 'var(--good)'
  const failures = (base * (100 - uptimePct)) / 100
  return uptimePct >= FAIR_PCT || failures < MANY_FAILURES ? 'var(--warn)' : 'var(--bad)'
}

function textOf(uptimePct: number | null, base: number): string {
  return uptimePct === null ? `not enough data (${count(base)})` : `${percent(uptimePct, 2)} of ${count(base)}`
}

/**
 * A bar for each part of a period. Grey is a part without enough calls. The height of a bar shows the same as its
 * colour.
 */
export function UptimeStrip({ label, cells }: { readonly label: string; readonly cells: readonly UptimeCell[] }) {
  const id = useId()
  const width = WIDTH / Math.max(cells.length, 1)
  const knownPercents = cells.flatMap(({ uptimePct }) => (uptimePct === null ? [] : [uptimePct]))
  const worst = knownPercents.length === 0 ? 'not enough data' : `lowest ${percent(Math.min(...knownPercents))}`
  return (
    <svg
      className="strip"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-labelledby={id}
    >
      <title id={id}>{`${label}: ${worst}`}</title>
      {cells.map(({ name, uptimePct, base }, at) => {
        const height = uptimePct === null ? 6 : HEIGHT * Math.max(0.35, uptimePct >= GOOD_PCT ? 1 : uptimePct / 130)
        return (
          <rect
            key={name}
            x={at * width + width * 0.12}
            width={width * 0.76}
            y={uptimePct === null ? (HEIGHT - height) / 2 : HEIGHT - height}
            height={height}
            fill={toneOf(uptimePct, base)}
          >
            <title>{`${name}: ${textOf(uptimePct, base)}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}
