import type { KeyboardEvent, PointerEvent } from 'react'
import { useId, useState } from 'react'
import { count, percent } from '#control-plane/dashboard/data/format.ts'
import type { UptimeCell } from './uptime-cells.ts'

const WIDTH = 300
const HEIGHT = 28
/** Below these shares a bar is amber, and red. */
const GOOD_PCT = 99
const FAIR_PCT = 95
/** The room between two bars, as a share of a bar and at most this many units. */
const GAP_SHARE = 0.24
const MAX_GAP = 3

/** Fewer failures than this are no red bar, however few calls there were. */
const MANY_FAILURES = 2.5

function toneOf(uptimePct: number | null, base: number): string {
  if (uptimePct === null) return 'var(--line)'
  if (uptimePct >= GOOD_PCT) return 'var(--good)'
  const failures = (base * (100 - uptimePct)) / 100
  return uptimePct >= FAIR_PCT || failures < MANY_FAILURES ? 'var(--warn)' : 'var(--bad)'
}

function textOf({ name, uptimePct, base }: UptimeCell): string {
  if (base === 0) return `${name}: no calls`
  return `${name}: ${uptimePct === null ? `too few calls (${count(base)})` : `${percent(uptimePct, 2)} of ${count(base)}`}`
}

type Props = {
  readonly label: string
  readonly cells: readonly UptimeCell[]
  /** The times at the two ends, such as "90 days ago" and "Today". */
  readonly ends: readonly [first: string, last: string]
}

/**
 * A bar for each part of a period. Grey is a part without enough calls. The height of a bar shows the same as its
 * colour. Pointer and arrow keys read the bars.
 */
export function UptimeStrip({ label, cells, ends }: Props) {
  const id = useId()
  const [at, setAt] = useState<number>()
  const width = WIDTH / Math.max(cells.length, 1)
  const gap = Math.min(width * GAP_SHARE, MAX_GAP)
  const knownPercents = cells.flatMap(({ uptimePct }) => (uptimePct === null ? [] : [uptimePct]))
  const worst = knownPercents.length === 0 ? 'not enough data' : `lowest ${percent(Math.min(...knownPercents))}`
  const read = at === undefined ? undefined : cells[at]
  const to = (place: number) => setAt(Math.max(0, Math.min(cells.length - 1, place)))
  const point = ({ currentTarget, clientX }: PointerEvent<SVGSVGElement>) => {
    const box = currentTarget.getBoundingClientRect()
    to(Math.floor(((clientX - box.left) / box.width) * cells.length))
  }
  const step = (event: KeyboardEvent<SVGSVGElement>) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    to((at ?? (by > 0 ? -1 : cells.length)) + by)
  }
  return (
    <span className="strip-box">
      <svg
        className="strip"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby={id}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: Arrow keys read its bars.
        tabIndex={0}
        onPointerDown={point}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
        onKeyDown={step}
      >
        <title id={id}>{`${label}: ${worst}. Arrow keys read the bars.`}</title>
        {/* The room above low bars is of the strip, too. */}
        <rect width={WIDTH} height={HEIGHT} fill="transparent" />
        {cells.map(({ name, uptimePct, base }, place) => {
          const height = uptimePct === null ? 6 : HEIGHT * Math.max(0.35, uptimePct >= GOOD_PCT ? 1 : uptimePct / 130)
          return (
            <rect
              key={name}
              x={place * width + gap / 2}
              width={width - gap}
              y={HEIGHT - height}
              height={height}
              fill={toneOf(uptimePct, base)}
              opacity={at === undefined || at === place ? 1 : 0.5}
            />
          )
        })}
      </svg>
      <span className="strip-ends">
        {read === undefined ? <span>{ends[0]}</span> : null}
        <output aria-live="polite">{read === undefined ? '' : textOf(read)}</output>
        {read === undefined ? <span>{ends[1]}</span> : null}
      </span>
    </span>
  )
}

/** The meaning of the colours of {@link UptimeStrip}. */
export function StripLegend() {
  return (
    <ul className="strip-legend" aria-label="Legend">
      <li data-tone="good">{GOOD_PCT}% and more</li>
      <li data-tone="warn">
        {FAIR_PCT} to {GOOD_PCT}%, or one or two failures
      </li>
      <li data-tone="bad">below {FAIR_PCT}%</li>
      <li data-tone="none">too few calls, or none</li>
    </ul>
  )
}
