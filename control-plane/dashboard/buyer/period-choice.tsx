import type { Interval, Span } from '#control-plane/dashboard/charts/every-bucket.ts'
import { DAY_MS, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { useKeptText } from '#control-plane/dashboard/ui/kept-input.tsx'

export type ShownPeriod = '24h' | '7d' | '30d' | '90d'

export const PERIOD_WORDS = { '24h': '24 hours', '7d': '7 days', '30d': '30 days', '90d': '90 days' } as const

export const PERIOD_MS = { '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS, '90d': 90 * DAY_MS } as const

const CHOICES = (['24h', '7d', '30d', '90d'] as const).map((value) => ({ value, label: PERIOD_WORDS[value] }))

export function PeriodChoice({
  value,
  onChoose,
}: {
  /** Undefined while days are chosen instead. */
  readonly value: ShownPeriod | undefined
  onChoose(period: ShownPeriod): void
}) {
  return <Segments label="Period" value={value} choices={CHOICES} onChoose={onChoose} />
}

/** The time of a screen in its address: a period that ends now, or the first and the last day in UTC. */
export type ShownTime = {
  readonly period?: ShownPeriod | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

type ShownWindow = {
  readonly period: ShownPeriod | undefined
  readonly filter: { readonly period: ShownPeriod } | { readonly from: number; readonly to: number }
  readonly span: Span
  readonly spanMs: number
}

/** Longest choice of days: the market keeps sums by day for as long. */
const MAX_DAYS = 366

/** Reads the time of a screen. Without valid days in the right order, the period counts. */
export function windowOf({ period, from, to }: ShownTime, otherwise: ShownPeriod): ShownWindow {
  const first = Date.parse(`${from}T00:00:00Z`)
  const last = Date.parse(`${to ?? from}T00:00:00Z`) + DAY_MS
  const spanMs = last - first
  if (spanMs > 0 && spanMs <= MAX_DAYS * DAY_MS)
    // The last bucket of a chart begins before the end.
    return { period: undefined, filter: { from: first, to: last }, span: { from: first, to: last - 1 }, spanMs }
  const shown = period ?? otherwise
  return { period: shown, filter: { period: shown }, span: lastSpan(PERIOD_MS[shown]), spanMs: PERIOD_MS[shown] }
}

/** The length of the bars of a chart: hours for up to two days, days for longer periods. */
export function intervalOf({ spanMs }: Pick<ShownWindow, 'spanMs'>): Interval {
  return spanMs <= 2 * DAY_MS ? 'hour' : 'day'
}

/** A period, or any days. */
export function TimeChoice({
  time,
  period,
  onChange,
}: {
  readonly time: ShownTime
  readonly period: ShownPeriod | undefined
  readonly onChange: (time: ShownTime) => void
}) {
  const today = new Date().toISOString().slice(0, 10)
  const keep = (name: 'from' | 'to') => (text: string) =>
    onChange({
      period: undefined,
      from: name === 'from' ? text || undefined : (time.from ?? (text || undefined)),
      to: name === 'to' ? text || undefined : time.to,
    })
  return (
    <div className="field time-choice">
      <span>Period</span>
      <div className="actions">
        <PeriodChoice value={period} onChoose={(next) => onChange({ period: next, from: undefined, to: undefined })} />
        <Day name="From" label="First day, UTC" max={today} value={time.from ?? ''} onKeep={keep('from')} />
        <Day name="To" label="Last day, UTC" max={today} value={time.to ?? ''} onKeep={keep('to')} />
      </div>
    </div>
  )
}

type DayProps = {
  readonly name: string
  readonly label: string
  readonly max: string
  readonly value: string
  readonly onKeep: (text: string) => void
}

function Day({ name, label, max, value, onKeep }: DayProps) {
  const [text, setText] = useKeptText(value, onKeep)
  return (
    <label className="day">
      <span className="small muted">{name}</span>
      <input
        type="date"
        className="input"
        aria-label={label}
        max={max}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </label>
  )
}
