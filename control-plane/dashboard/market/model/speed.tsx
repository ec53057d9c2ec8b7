import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import type { PublicModelQuery } from '#control-plane/dashboard/data/documents/public-model.ts'
import { count, hour, milliseconds } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, NotSummed } from '#control-plane/dashboard/ui/states.tsx'
import { marksOf } from './incidents.tsx'

type Point = NonNullable<PublicModelQuery['marketSeries']>[number]
type Ends = readonly [low: number, high: number]
export type SpeedFigure = 'ttft' | 'tps'

const CHOICES = [
  { value: 'ttft', label: 'First token' },
  { value: 'tps', label: 'Tokens a second' },
] as const

const endsOf = (low: number | null, high: number | null): Ends | null =>
  low === null || high === null ? null : [low, high]

const FIGURES = {
  ttft: {
    title: 'Time to the first token',
    value: ({ ttftP50Ms }: Point) => ttftP50Ms,
    ends: ({ ttftP10Ms, ttftP90Ms }: Point) => endsOf(ttftP10Ms, ttftP90Ms),
    samples: ({ ttftSamples }: Point) => ttftSamples,
    format: milliseconds,
  },
  tps: {
    title: 'Tokens a second',
    value: ({ tpsP50 }: Point) => tpsP50,
    ends: ({ tpsP10, tpsP90 }: Point) => endsOf(tpsP10, tpsP90),
    samples: ({ tpsSamples }: Point) => tpsSamples,
    format: (value: number) => count(Math.round(value)),
  },
} as const

type Props = {
  readonly data: PublicModelQuery
  readonly figure: SpeedFigure
  readonly onFigure: (figure: SpeedFigure) => void
}

/** The speed of each provider: the median of each bucket, and the range of the middle four of five calls. */
export function Speed({ data, figure, onFigure }: Props) {
  const { zone } = useSettings()
  const { title, value, ends, samples, format } = FIGURES[figure]
  const points = data.marketSeries ?? []
  const providers = [...new Set(points.map(({ provider }) => provider ?? ''))]
  const times = [...new Set(points.map(({ bucket }) => bucket))].sort((a, b) => a - b)
  const at = (provider: string, time: number) =>
    points.find((point) => point.bucket === time && point.provider === provider)
  const hours = points[0]?.hours ?? 1
  const measured = points.reduce((sum, point) => sum + samples(point), 0)
  return (
    <Card
      title={title}
      about={`${hours === 1 ? 'Hourly' : `${hours}-hour`} median. The band runs from the 10th to the 90th percentile${measured === 0 ? '' : ` of ${count(measured)} ${measured === 1 ? 'call' : 'calls'}`}.`}
      actions={<Segments label="Figure of speed" value={figure} choices={CHOICES} onChoose={onFigure} />}
    >
      {data.marketSeries === null ? (
        <NotSummed />
      ) : points.every((point) => value(point) === null) ? (
        <Empty title="Not enough data">
          <p>A point needs five streamed calls of one provider within {hours === 1 ? 'an hour' : `${hours} hours`}.</p>
        </Empty>
      ) : (
        <TimeChart
          label={title}
          times={times}
          series={providers.map((name) => {
            const own = times.map((time) => at(name, time))
            return {
              name,
              values: own.map((point) => (point === undefined ? null : value(point))),
              band: own.map((point) => (point === undefined ? null : ends(point))),
            }
          })}
          format={format}
          formatTime={(time) => hour(time, zone)}
          marks={marksOf(data)}
          zone={zone === 'utc' ? 'UTC' : 'local time'}
        />
      )}
    </Card>
  )
}
