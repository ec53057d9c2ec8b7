import type { KeyboardEvent } from 'react'
import { useId, useState } from 'react'
import type { HeatRow } from './heat-rows.ts'
import { useWidth } from './use-width.ts'

type Props = {
  readonly label: string
  readonly rows: readonly HeatRow[]
  readonly format: (value: number) => string
  /** The zone of the hours, which stands on the chart. */
  readonly zone: string
}

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const PAD = { left: 52, top: 18 }
const ROW_HEIGHT = 16
const GAP = 1.5
/** Every so many hours stand above the columns. */
const LABEL_EVERY = 6
/** The weakest shade that still differs from zero. */
const FAINTEST = 0.18
const SHADES = [0, 0.25, 0.5, 0.75, 1]

const hourName = (hour: number) => `${String(hour).padStart(2, '0')}:00`
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

/** Hours by day, of one hue that grows stronger, with a cursor for mouse and arrow keys and a table of the same. */
export function HeatMap({ label, rows, format, zone }: Props) {
  const [at, setAt] = useState<Place>()
  // A month has 720 cells, which nobody waits for who looks at the picture.
  const [isTable, setTable] = useState(false)
  const top = Math.max(0, ...rows.flatMap(({ hours }) => hours.filter((value) => value !== null)))
  const row = at === undefined ? undefined : rows[at.row]
  const said =
    at === undefined || row === undefined
      ? `${rows[0]?.day ?? ''} to ${rows.at(-1)?.day ?? ''}, ${zone}`
      : `${row.day} ${hourName(at.hour)} ${zone}: ${written(row.hours[at.hour], format)}`
  return (
    <figure className="grid">
      <div className="chart-head">
        <Legend top={format(top)} zero={format(0)} />
        <output aria-live="polite">{said}</output>
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
  const step = (event: KeyboardEvent<SVGSVGElement>) => {
    const move = MOVES[event.key]
    if (move === undefined) return
    event.preventDefault()
    const from = at ?? { row: rows.length - 1, hour: 0 }
    const within = (value: number, most: number) => Math.max(0, Math.min(most, value))
    onAt({ row: within(from.row + move.row, rows.length - 1), hour: within(from.hour + move.hour, 23) })
  }
  return (
    <svg
      ref={box}
      className="chart"
      viewBox={`0 0 ${width} ${PAD.top + rows.length * ROW_HEIGHT}`}
      height={PAD.top + rows.length * ROW_HEIGHT}
      role="img"
      aria-labelledby={id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: Arrow keys move its cursor.
      tabIndex={0}
      onPointerLeave={() => onAt(undefined)}
      onKeyDown={step}
    >
      <title id={id}>{`${label}. Arrow keys read the values.`}</title>
      {HOURS.filter((hour) => hour % LABEL_EVERY === 0).map((hour) => (
        <text key={hour} x={PAD.left + hour * size} y={11}>
          {hourName(hour)}
        </text>
      ))}
      {rows.map(({ day, hours }, row) => (
        <g key={day}>
          <text x={PAD.left - 8} y={PAD.top + row * ROW_HEIGHT + 12} textAnchor="end">
            {day}
          </text>
          {HOURS.map((hour) => {
            const value = hours[hour] ?? null
            return (
              <rect
                key={hour}
                className={value === null ? 'heat gap' : 'heat'}
                data-at={at?.row === row && at.hour === hour}
                x={PAD.left + hour * size + GAP / 2}
                y={PAD.top + row * ROW_HEIGHT + GAP / 2}
                width={Math.max(size - GAP, 1)}
                height={ROW_HEIGHT - GAP}
                fillOpacity={value === null ? 0 : opacityOf(top === 0 ? 0 : value / top)}
                onPointerEnter={() => onAt({ row, hour })}
              />
            )
          })}
        </g>
      ))}
    </svg>
  )
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
              {hourName(hour)}
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
