import type { KeyboardEvent, PointerEvent } from 'react'
import { useId, useState } from 'react'
import type { HeatRow } from './heat-rows.ts'
import { useWidth } from './use-width.ts'

type Props = {
  readonly label: string
  readonly rows: readonly HeatRow[]
  readonly format: (value: number) => string
  /** The time zone of the hours, which the chart names. */
  readonly zone: string
}

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const PAD = { left: 52, top: 18 }
const ROW_HEIGHT = 16
const GAP = 1.5
/** The number of hours between two labels above the columns. */
const LABEL_EVERY = 6
/** The weakest shade that still differs from zero. */
const FAINTEST = 0.18
const SHADES = [0, 0.25, 0.5, 0.75, 1]
/** The number of shades that a reader can tell apart. */
const STEPS = 16

const twoDigits = (value: number) => String(value).padStart(2, '0')
const hourName = (hour: number, row: HeatRow | undefined) => `${twoDigits(hour)}:${twoDigits(row?.minute ?? 0)}`
const opacityOf = (share: number) => (share <= 0 ? 0 : FAINTEST + (1 - FAINTEST) * share)
const written = (value: number | null | undefined, format: Props['format']) =>
  value === null || value === undefined ? 'not enough data' : format(value)

type Place = { readonly row: number; readonly hour: number }
const MOVES: Readonly<Record<string, Place>> = {
  ArrowUp: { row: -1, hour: 0 },
  ArrowDown: { row: 1, hour: 0 },
  ArrowLeft: { row: 0, hour: -1 },
  ArrowRight: { row: 0, hour: 1 },
}

/**
 * Hours by day in one hue, stronger for higher values, with a cursor for mouse and arrow keys, and a table of the
 * values.
 */
export function HeatMap({ label, rows, format, zone }: Props) {
  const [at, setAt] = useState<Place>()
  // The table is made once it is opened: a month has 720 cells, and the picture must not wait for them.
  const [isTable, setTable] = useState(false)
  const top = Math.max(0, ...rows.flatMap(({ hours }) => hours.filter((value) => value !== null)))
  const row = at === undefined ? undefined : rows[at.row]
  const description =
    at === undefined || row === undefined
      ? `${rows[0]?.day ?? ''} to ${rows.at(-1)?.day ?? ''}, ${zone}`
      : `${row.day} ${hourName(at.hour, row)} ${zone}: ${written(row.hours[at.hour], format)}`
  return (
    <figure className="grid">
      <div className="chart-head">
        <Legend top={format(top)} zero={format(0)} />
        <output aria-live="polite">{description}</output>
      </div>
      <Cells label={label} rows={rows} top={top} at={at} onAt={setAt} />
      <details className="twin" onToggle={({ currentTarget }) => setTable(currentTarget.open)}>
        <summary>As a table</summary>
        <div className="table-wrap">
          {isTable ? <Twin label={label} rows={rows} format={format} zone={zone} /> : null}
        </div>
      </details>
    </figure>
  )
}

function Legend({ zero, top }: { readonly zero: string; readonly top: string }) {
  return (
    <span className="heat-legend">
      {zero}
      <svg width={SHADES.length * 14} height={12} aria-hidden="true">
        {SHADES.map((share, place) => (
          <rect key={share} className="heat" x={place * 14} width={12} height={12} fillOpacity={opacityOf(share)} />
        ))}
      </svg>
      {top}
    </span>
  )
}

type CellsProps = Pick<Props, 'label' | 'rows'> & {
  readonly top: number
  readonly at: Place | undefined
  readonly onAt: (at: Place | undefined) => void
}

function Cells({ label, rows, top, at, onAt }: CellsProps) {
  const id = useId()
  const [box, width] = useWidth()
  const size = (width - PAD.left) / HOURS.length
  const height = PAD.top + rows.length * ROW_HEIGHT
  const step = (event: KeyboardEvent<SVGSVGElement>) => {
    const move = MOVES[event.key]
    if (move === undefined) return
    event.preventDefault()
    const from = at ?? { row: rows.length - 1, hour: 0 }
    const within = (value: number, most: number) => Math.max(0, Math.min(most, value))
    onAt({ row: within(from.row + move.row, rows.length - 1), hour: within(from.hour + move.hour, 23) })
  }
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const place = event.currentTarget.getBoundingClientRect()
    const hour = Math.floor((((event.clientX - place.left) / place.width) * width - PAD.left) / size)
    const row = Math.floor((((event.clientY - place.top) / place.height) * height - PAD.top) / ROW_HEIGHT)
    const isCell = hour >= 0 && hour < HOURS.length && row >= 0 && row < rows.length
    if (isCell && (at?.row !== row || at.hour !== hour)) onAt({ row, hour })
  }
  return (
    <svg
      ref={box}
      className="chart"
      viewBox={`0 0 ${width} ${height}`}
      height={height}
      role="img"
      aria-labelledby={id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: Arrow keys move its cursor.
      tabIndex={0}
      onPointerMove={point}
      onPointerLeave={() => onAt(undefined)}
      onKeyDown={step}
    >
      <title id={id}>{`${label}. Arrow keys read the values.`}</title>
      {HOURS.filter((hour) => hour % LABEL_EVERY === 0).map((hour) => (
        <text key={hour} x={PAD.left + hour * size} y={11}>
          {hourName(hour, rows.at(-1))}
        </text>
      ))}
      {rows.map(({ day }, row) => (
        <text key={day} x={PAD.left - 8} y={PAD.top + row * ROW_HEIGHT + 12} textAnchor="end">
          {day}
        </text>
      ))}
      {[...shadesOf(rows, top)].map(([share, places]) => (
        <path
          key={share}
          className="heat"
          fillOpacity={opacityOf(share)}
          d={places.map((place) => cellPath(place, size)).join('')}
        />
      ))}
      {at === undefined ? null : <path className="heat" data-at="true" fillOpacity={0} d={cellPath(at, size)} />}
    </svg>
  )
}

/**
 * The cells of each shade. The cells of one shade are drawn as one path, because a month has 720 cells. An hour without
 * a figure has no shade.
 */
function shadesOf(rows: readonly HeatRow[], top: number): ReadonlyMap<number, readonly Place[]> {
  const placesByHour = new Map<number, Place[]>()
  for (const [row, { hours }] of rows.entries()) {
    for (const hour of HOURS) {
      const value = hours[hour] ?? null
      if (value === null) continue
      // The shade is rounded up, so that a value above zero never looks like zero.
      const share = top === 0 ? 0 : Math.ceil((value / top) * STEPS) / STEPS
      const places = placesByHour.get(share) ?? []
      places.push({ row, hour })
      placesByHour.set(share, places)
    }
  }
  return placesByHour
}

function cellPath({ row, hour }: Place, size: number): string {
  const wide = Math.max(size - GAP, 1)
  const [x, y] = [PAD.left + hour * size + GAP / 2, PAD.top + row * ROW_HEIGHT + GAP / 2]
  return `M${x.toFixed(1)} ${y}h${wide.toFixed(1)}v${ROW_HEIGHT - GAP}h${(-wide).toFixed(1)}z`
}

function Twin({ label, rows, format, zone }: Props) {
  return (
    <table className="table">
      <caption className="hidden">{label}</caption>
      <thead>
        <tr>
          <th scope="col">{`Day (${zone})`}</th>
          {HOURS.map((hour) => (
            <th key={hour} scope="col" className="num">
              {hourName(hour, rows.at(-1))}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ day, hours }) => (
          <tr key={day}>
            <th scope="row" className="nowrap">
              {day}
            </th>
            {HOURS.map((hour) => (
              <td key={hour} className="num">
                {written(hours[hour], format)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
