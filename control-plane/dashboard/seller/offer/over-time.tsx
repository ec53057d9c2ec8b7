import { everyBucket } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import type { SellerOfferQuery } from '#control-plane/dashboard/data/documents/seller-offer.ts'
import { count, day, hour, milliseconds, money } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, NotSummed } from '#control-plane/dashboard/ui/states.tsx'

const PERIODS = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
] as const
export type OfferPeriod = (typeof PERIODS)[number]['value']

type Series = NonNullable<SellerOfferQuery['offerSeries']>
type Point = NonNullable<Series['points']>[number]
type Props = {
  readonly series: Series | null
  readonly period: OfferPeriod
  readonly onPeriod: (period: OfferPeriod) => void
}

/** Earnings and latency of an offer over a period: a chart of each. */
export function OverTime({ series, period, onPeriod }: Props) {
  const name = PERIODS.find(({ value }) => value === period)?.label ?? ''
  return (
    <>
      <div className="actions">
        <Segments label="Period" value={period} choices={PERIODS} onChoose={onPeriod} />
        <span className="small muted">
          {period === '24h' ? 'By hour, the running hour included' : 'By UTC day, today included'}
        </span>
      </div>
      <div className="grid two">
        <Card title="Earnings over time" about={sumsOf(series, name)}>
          <Earnings series={series} />
        </Card>
        <Card title="Latency over time" about="Median time to the first token">
          <Latency series={series} />
        </Card>
      </div>
    </>
  )
}

function sumsOf(series: Series | null, name: string): string {
  const points = series?.points ?? []
  // Sums with an unknown part are unknown.
  if (series?.points == null || points.some(({ netMicro }) => netMicro === null)) return `The last ${name}`
  const calls = points.reduce((sum, point) => sum + (point.calls ?? 0), 0)
  const net = points.reduce((sum, point) => sum + (point.netMicro ?? 0), 0)
  return `${money(net)} net of ${count(calls)} ${calls === 1 ? 'call' : 'calls'} in the last ${name}`
}

/** The buckets of a period, and how a chart writes their times. */
function useBuckets(series: Series | null) {
  const { zone } = useSettings()
  const isByDay = series?.interval === 'day'
  const shown = isByDay ? 'utc' : zone
  const rows =
    series === null ? [] : everyBucket(series.points ?? [], series.interval, { from: series.from, to: Date.now() })
  return {
    rows,
    times: rows.map(([at]) => at),
    formatTime: (at: number) => (isByDay ? day(at, shown) : `${day(at, shown)} ${hour(at, shown)}`),
    zone: shown === 'utc' ? 'UTC' : 'local time',
    /** A bucket without a call has zero, and one that is not kept any more has no value. */
    sumAt: (at: number, point: Point | undefined, read: (point: Point) => number | null) =>
      point === undefined ? (at < (series?.knownFrom ?? 0) ? null : 0) : read(point),
  }
}

function Earnings({ series }: { readonly series: Series | null }) {
  const { rows, times, formatTime, zone, sumAt } = useBuckets(series)
  if (series === null) return <Empty title="Not known">{null}</Empty>
  if (series.points === null) return <NotSummed />
  if (rows.length === 0) {
    return (
      <Empty title="No calls in this period">
        <p>Calls that the offer serves show up here within a minute.</p>
      </Empty>
    )
  }
  return (
    <TimeChart
      label="Earnings over time"
      kind="bars"
      height={170}
      times={times}
      series={[
        { name: 'Net', values: rows.map(([at, point]) => sumAt(at, point, ({ netMicro }) => netMicro)) },
        { name: 'Fee', values: rows.map(([at, point]) => sumAt(at, point, ({ feeMicro }) => feeMicro)) },
      ]}
      format={money}
      formatTime={formatTime}
      zone={zone}
    />
  )
}

function Latency({ series }: { readonly series: Series | null }) {
  const { rows, times, formatTime, zone } = useBuckets(series)
  if (series === null) return <Empty title="Not known">{null}</Empty>
  if (series.points === null) return <NotSummed />
  if (series.points.every(({ ttftP50Ms }) => ttftP50Ms === null)) {
    return (
      <Empty title="Not enough calls">
        <p>{`A median needs five streamed calls in ${series.interval === 'hour' ? 'an hour' : 'a day'}.`}</p>
      </Empty>
    )
  }
  return (
    <TimeChart
      label="Latency over time"
      height={170}
      times={times}
      series={[{ name: 'First token', values: rows.map(([, point]) => point?.ttftP50Ms ?? null) }]}
      format={milliseconds}
      formatTime={formatTime}
      zone={zone}
    />
  )
}
