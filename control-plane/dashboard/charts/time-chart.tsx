import type { KeyboardEvent, PointerEvent } from 'react'
import { useId, useState } from 'react'
import type { Mark } from './marks.ts'
import { marksAt, placesOf } from './marks.ts'
import { linear, linePath, niceTop } from './scale.ts'
import type { Series } from './series.ts'
import { useWidth } from './use-width.ts'

/** A series with its colour, which it keeps while others are hidden. */
type DrawnSeries = Series & { readonly color: string; readonly isDim: boolean }

type Props = {
  readonly label: string
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly kind?: 'lines' | 'bars'
  /** Writes a value and an instant. */
  readonly format: (value: number) => string
  readonly formatTime: (at: number) => string
  /** The time zone of the instants, which the chart names. */
  readonly zone: string
  /** The name of the horizontal axis where it is not time. */
  readonly axis?: string
  /** Events over the same time, such as incidents: areas behind the values, named in the table. */
  readonly marks?: readonly Mark[]
  readonly height?: number
}

const PAD = { left: 58, right: 8, top: 10, bottom: 22 }
const MAX_SERIES = 6
/** Room for a day with its hour. */
const LABEL_WIDTH = 96
/** The share of its room that a bar fills. */
const BAR_SHARE = 0.76
/** The least width of a mark. */
const MIN_MARK = 6

/** Values over time with a cursor for mouse and arrow keys, and a table of the same beside it. */
export function TimeChart(props: Props) {
  const { times, format, formatTime, zone } = props
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [lit, setLit] = useState<string>()
  const former = props.series.filter((one) => !isStacked(one))
  const all = [...props.series.filter(isStacked).slice(0, MAX_SERIES), ...former]
  const isShown = ({ name }: Series) => !hidden.has(name)
  // A chart whose series are all hidden shows all of them.
  const series: readonly DrawnSeries[] = all
    .map((one, place) => ({ ...one, color: colorOf(one, place), isDim: lit !== undefined && lit !== one.name }))
    .filter((one) => isShown(one) || !all.some(isShown))
  const toggle = (name: string) => {
    setLit(undefined)
    setHidden((before) => new Set(before.has(name) ? [...before].filter((one) => one !== name) : [...before, name]))
  }
  const [at, setAt] = useState<number>()
  const shownIndex = at === undefined ? undefined : Math.min(at, times.length - 1)
  const time = shownIndex === undefined ? undefined : times[shownIndex]
  const then = shownIndex === undefined ? [] : marksAt(props, shownIndex)
  const label =
    shownIndex === undefined || time === undefined
      ? `${formatTime(times[0] ?? 0)} to ${formatTime(times.at(-1) ?? 0)}, ${zone}`
      : `${formatTime(time)} ${zone}: ${series.map(({ name, values }) => `${series.length > 1 ? `${name} ` : ''}${written(values[shownIndex], format)}`).join(' · ')}${then.map((name) => ` · ${name}`).join('')}`
  return (
    <figure className="grid">
      <div className="chart-head">
        {all.length > 1 ? (
          <ul className="legend">
            {all.map((one, place) => (
              <li key={one.name} className={colorOf(one, place)}>
                <button
                  type="button"
                  aria-pressed={series.some(({ name }) => name === one.name)}
                  onClick={() => toggle(one.name)}
                  onPointerEnter={() => setLit(one.name)}
                  onPointerLeave={() => setLit(undefined)}
                >
                  {one.name}
                </button>
              </li>
            ))}
          </ul>
        ) : null}
        <output aria-live="polite">{label}</output>
      </div>
      <Plot {...props} series={series} at={shownIndex} onAt={setAt} />
      <details className="twin">
        <summary>As a table</summary>
        <div className="table-wrap">
          <Twin {...props} series={series} />
        </div>
      </details>
    </figure>
  )
}

function colorOf({ tone, isFormer }: Series, place: number): string {
  if (isFormer === true) return 'c-former'
  return tone === undefined ? `c${place + 1}` : `c-${tone}`
}

function written(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? 'not enough data' : format(value)
}

type PlotProps = Omit<Props, 'series'> & {
  readonly series: readonly DrawnSeries[]
  readonly at: number | undefined
  readonly onAt: (at: number | undefined) => void
}

function Plot(props: PlotProps) {
  const { label, times, series, kind = 'lines', format, formatTime, height = 200, marks = [], at, onAt } = props
  const id = useId()
  const [box, width] = useWidth()
  const top = niceTop(highestOf(series, kind))
  const y = linear([0, top], [height - PAD.bottom, PAD.top])
  const inset = kind === 'bars' ? (width - PAD.left - PAD.right) / Math.max(times.length, 1) / 2 : 0
  const x = linear([0, Math.max(times.length - 1, 1)], [PAD.left + inset, width - PAD.right - inset])
  const labelled = placesOfLabels(times.length, width - PAD.left - PAD.right)
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect()
    const share = ((event.clientX - box.left) / box.width) * width
    onAt(
      Math.max(
        0,
        Math.min(
          times.length - 1,
          Math.round(linear([x(0), x(Math.max(times.length - 1, 1))], [0, Math.max(times.length - 1, 1)])(share)),
        ),
      ),
    )
  }
  const step = (event: KeyboardEvent<SVGSVGElement>) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    onAt(Math.max(0, Math.min(times.length - 1, (at ?? (by > 0 ? -1 : times.length)) + by)))
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
      <Marks marks={marks} times={times} x={x} inset={inset} height={height} />
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line className="rule" x1={PAD.left} x2={width - PAD.right} y1={y(top * share)} y2={y(top * share)} />
          <text x={PAD.left - 8} y={y(top * share) + 4} textAnchor="end">
            {format(top * share)}
          </text>
        </g>
      ))}
      {labelled.map((index) => {
        const isFirst = index === 0 && times.length > 1
        const isLast = index === times.length - 1 && times.length > 1
        return (
          <text
            key={index}
            x={x(index) + (isFirst ? -inset * BAR_SHARE : isLast ? inset * BAR_SHARE : 0)}
            y={height - 6}
            textAnchor={isFirst ? 'start' : isLast ? 'end' : 'middle'}
          >
            {formatTime(times[index] ?? 0)}
          </text>
        )
      })}
      {kind === 'bars' ? <Bars series={series.filter(isStacked)} x={x} y={y} width={inset * 2} /> : null}
      {series
        .filter((one) => kind === 'lines' || !isStacked(one))
        .map(({ name, values, band, color, isDim }) => (
          <g key={name} className={isDim ? `${color} dim` : color}>
            {band === undefined ? null : <path d={bandPath(band, x, y)} fill="var(--series)" opacity={0.16} />}
            <Line values={values} x={x} y={y} />
          </g>
        ))}
      {at === undefined ? null : (
        <line className="cursor" x1={x(at)} x2={x(at)} y1={PAD.top} y2={height - PAD.bottom} />
      )}
    </svg>
  )
}

type MarksProps = {
  readonly marks: readonly Mark[]
  readonly times: readonly number[]
  readonly x: Scale
  readonly inset: number
  readonly height: number
}

/** The areas of events, behind the values. */
function Marks({ marks, times, x, inset, height }: MarksProps) {
  return marks.map((mark) => {
    const places = placesOf(mark, times)
    if (places === undefined) return null
    const [left, right] = [x(places[0]) - inset, x(places[1]) + inset]
    return (
      <rect
        key={`${mark.name} ${mark.from}`}
        className="mark"
        x={left - MIN_MARK / 2}
        width={right - left + MIN_MARK}
        y={PAD.top}
        height={height - PAD.top - PAD.bottom}
      >
        <title>{mark.name}</title>
      </rect>
    )
  })
}

function isStacked({ isFormer }: Series): boolean {
  return isFormer !== true
}

/** The highest value. Stacked bars count as their sum. */
function highestOf(series: readonly Series[], kind: 'lines' | 'bars'): number {
  if (kind === 'bars') {
    const sums: number[] = []
    for (const { values } of series.filter(isStacked))
      for (const [at, value] of values.entries()) sums[at] = (sums[at] ?? 0) + (value ?? 0)
    const lines = series.filter((one) => !isStacked(one))
    return Math.max(...sums, highestOf(lines, 'lines'))
  }
  const knownValues = series.flatMap(({ values, band = [] }) => [
    ...values.filter((value): value is number => value !== null),
    ...band.flatMap((ends) => (ends === null ? [] : [ends[1]])),
  ])
  return Math.max(...knownValues, 0)
}

type Scale = (value: number) => number

function Line({ values, x, y }: { values: readonly (number | null)[]; x: Scale; y: Scale }) {
  const dots = values.map((value, at) => ({ x: x(at), y: value === null ? null : y(value) }))
  // A value between two gaps is a dot.
  const lone = dots.filter(
    (dot, at) => dot.y !== null && (dots[at - 1]?.y ?? null) === null && (dots[at + 1]?.y ?? null) === null,
  )
  return (
    <>
      <path d={linePath(dots)} fill="none" stroke="var(--series)" strokeWidth={2} strokeLinejoin="round" />
      {lone.map((dot) => (
        <circle key={dot.x} cx={dot.x} cy={dot.y ?? 0} r={3.5} fill="var(--series)" />
      ))}
    </>
  )
}

/** The areas of a band: one for each stretch without a gap. */
function bandPath(band: NonNullable<Series['band']>, x: Scale, y: Scale): string {
  const stretches: { readonly at: number; readonly ends: readonly [number, number] }[][] = []
  for (const [at, ends] of band.entries()) {
    if (ends === null) continue
    if (at === 0 || (band[at - 1] ?? null) === null) stretches.push([])
    stretches.at(-1)?.push({ at, ends })
  }
  const point = (at: number, value: number) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`
  return stretches
    .map((stretch) => {
      const above = stretch.map(({ at, ends }) => point(at, ends[1]))
      const below = stretch.map(({ at, ends }) => point(at, ends[0])).reverse()
      return `M${[...above, ...below].join('L')}Z`
    })
    .join('')
}

/** The places of the labels: both ends, and places at one distance between them, as many as fit. */
function placesOfLabels(length: number, width: number): readonly number[] {
  const most = Math.max(2, Math.floor(width / LABEL_WIDTH))
  if (length <= 1) return length === 0 ? [] : [0]
  const last = length - 1
  const step = Math.ceil(last / (most - 1))
  // A place too near to the last one would touch its label.
  const inner = Array.from({ length: Math.floor(last / step) }, (_, at) => at * step)
  return [...inner.filter((place) => place === 0 || place + step <= last), last]
}

/** Series on top of each other. */
function Bars({ series, x, y, width }: { series: readonly DrawnSeries[]; x: Scale; y: Scale; width: number }) {
  const length = Math.max(...series.map(({ values }) => values.length), 0)
  return (
    <>
      {Array.from({ length }, (_, at) => at).map((at) => {
        let below = 0
        return series.map(({ name, values, color, isDim }) => {
          const value = values[at] ?? 0
          const base = below
          below += value
          if (value <= 0) return null
          return (
            <rect
              key={name}
              className={isDim ? `${color} dim` : color}
              fill="var(--series)"
              x={x(at) - (width / 2) * BAR_SHARE}
              width={Math.max(width * BAR_SHARE, 1)}
              y={y(below)}
              height={Math.max(y(base) - y(below), 0.5)}
              rx={Math.min(2, width / 6)}
            />
          )
        })
      })}
    </>
  )
}

function Twin(props: Props) {
  const { label, times, series, format, formatTime, zone, axis = 'Time', marks = [] } = props
  return (
    <table className="table">
      <caption className="hidden">{label}</caption>
      <thead>
        <tr>
          <th scope="col">{`${axis} (${zone})`}</th>
          {series.map(({ name }) => (
            <th key={name} scope="col" className="num">
              {name}
            </th>
          ))}
          {marks.length === 0 ? null : <th scope="col">Incidents</th>}
        </tr>
      </thead>
      <tbody>
        {times.map((time, at) => (
          <tr key={time}>
            <td>{formatTime(time)}</td>
            {series.map(({ name, values }) => (
              <td key={name} className="num">
                {written(values[at], format)}
              </td>
            ))}
            {marks.length === 0 ? null : <td>{marksAt(props, at).join(', ')}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
