import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Interval } from '#control-plane/dashboard/charts/every-bucket.ts'
import { DAY_MS, everyBucket, HOUR_MS, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorFiguresQuery } from '#control-plane/dashboard/data/documents/operator-figures.ts'
import { OperatorFiguresDocument } from '#control-plane/dashboard/data/documents/operator-figures.ts'
import { compact, count, day, hour, percent, toMicro, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Change } from '#control-plane/dashboard/ui/change.tsx'
import { Exact } from '#control-plane/dashboard/ui/exact.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Amount } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, Notice, NotSummed, SkeletonCard, SkeletonFigures } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

/** The periods that can be chosen, in days. */
export const PERIODS = ['1', '7', '30'] as const
type Period = (typeof PERIODS)[number]
const LABELS = { '1': '24 hours', '7': '7 days', '30': '30 days' } as const

const REFRESH_MS = 60_000

/** Revenue, users, errors and overhead of a period, each beside the period before. */
export function Figures() {
  const { days = '1' } = useSearch({ from: '/operator' })
  const navigate = useNavigate({ from: '/operator' })
  const end = Math.ceil(useNow(REFRESH_MS) / HOUR_MS) * HOUR_MS
  const interval: Interval = days === '1' ? 'hour' : 'day'
  const variables = { from: lastSpan(Number(days) * DAY_MS).from, bucket: interval }
  const query = useScreen(OperatorFiguresDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(OperatorFiguresDocument, variables, true)
  return (
    <>
      <div className="actions">
        <Segments
          label="Period"
          value={days}
          choices={PERIODS.map((value) => ({ value, label: LABELS[value] }))}
          onChoose={(next) => void navigate({ search: { days: next }, replace: true })}
        />
        <span className="small muted">
          {days === '1'
            ? 'Ends with the running hour. Compared with the 24 hours before.'
            : 'UTC days, today included. Compared with the same time before.'}
        </span>
      </div>
      <Loaded query={query} waiting={<Waiting />}>
        {(data) => (
          <>
            <Totals data={data} days={days} />
            <Calls data={data} interval={interval} span={{ from: variables.from, to: end - 1 }} />
            <div className="grid two">
              <Errors data={data} curl={curl} by="errorCode" />
              <Errors data={data} curl={curl} by="provider" />
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

/** The height of the chart, in pixels. */
const CHART_PX = 170

/** The room of the figures, the chart and the errors while they are read. */
function Waiting() {
  return (
    <div className="grid">
      <SkeletonFigures />
      <SkeletonFigures />
      <SkeletonCard height={`${CHART_PX}px`} />
      <div className="grid two">
        <SkeletonCard />
        <SkeletonCard />
      </div>
    </div>
  )
}

type Present = NonNullable<OperatorFiguresQuery['operatorFigures']>['present']

/** The parts of the calls, which add up where every call of the period was counted. */
function partsOf({ calls, chargedCalls, freeCalls, failedCalls, chargedFailures, countedCalls }: Present): string {
  const charged = `${compact(chargedCalls)} charged`
  if (calls === null || calls !== countedCalls) return charged
  const failed = failedCalls - chargedFailures
  const parts = [[freeCalls, 'free'] as const, [failed, 'failed'] as const].filter(([part]) => part > 0)
  return [charged, ...parts.map(([part, name]) => `${count(part)} ${name}`)].join(' + ')
}

const dollarsOf = (micro: string | null) => (micro === null ? null : Number(toMicro(micro)))
const precise = (ms: number | null) => (ms === null ? UNKNOWN : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)

function Totals({ data: { operatorFigures }, days }: { readonly data: OperatorFiguresQuery; readonly days: Period }) {
  if (operatorFigures === null) return null
  const { present: now, before } = operatorFigures
  const take =
    now.volumeMicro === null || toMicro(now.volumeMicro) === 0n
      ? null
      : Number((toMicro(now.feesMicro) * 10_000n) / toMicro(now.volumeMicro)) / 100
  return (
    <>
      <Stats
        figures={[
          {
            label: 'Gross volume',
            value: <Exact micro={now.volumeMicro} />,
            hint: (
              <Change now={dollarsOf(now.volumeMicro)} before={dollarsOf(before.volumeMicro)}>
                <Amount micro={before.volumeMicro} />
              </Change>
            ),
          },
          {
            label: 'Fees earned',
            value: <Exact micro={now.feesMicro} />,
            hint: (
              <>
                <Change now={dollarsOf(now.feesMicro)} before={dollarsOf(before.feesMicro)}>
                  <Amount micro={before.feesMicro} />
                </Change>
                {take === null ? null : ` · ${percent(take, 2)} of volume`}
              </>
            ),
          },
          {
            label: 'Active buyers',
            value: count(now.buyers),
            hint: `${count(before.buyers)} before · with a charged call`,
          },
          {
            label: 'Active sellers',
            value: count(now.sellers),
            hint: `${count(before.sellers)} before · with a sold call`,
          },
        ]}
      />
      <Stats
        figures={[
          {
            label: 'Calls',
            value: compact(now.calls),
            hint: (
              <>
                {partsOf(now)}
                <br />
                {compact(before.calls)} before
              </>
            ),
          },
          {
            label: 'Answered',
            value: percent(now.answeredPct, 2),
            hint: `${percent(before.answeredPct, 2)} before · of ${compact(now.answeredBase)} calls`,
          },
          {
            label: 'Failed calls',
            value: count(now.failedCalls),
            hint: `${count(before.failedCalls)} before${now.chargedFailures === 0 ? '' : ` · ${count(now.chargedFailures)} charged in part`}`,
          },
          {
            label: 'Added overhead, p50 / p99',
            value: `${precise(now.overheadP50Ms)} / ${precise(now.overheadP99Ms)}`,
            hint: `${precise(before.overheadP50Ms)} / ${precise(before.overheadP99Ms)} before · of ${compact(now.overheadCalls)} calls`,
          },
        ]}
      />
      {now.isWhole ? null : (
        <Notice tone="warn">
          {`Buyers, sellers, errors and overhead are of the newest ${compact(now.countedCalls)} calls of these ${LABELS[days]}.`}
        </Notice>
      )}
    </>
  )
}

type CallsProps = {
  readonly data: OperatorFiguresQuery
  readonly interval: Interval
  readonly span: { readonly from: number; readonly to: number }
}

function Calls({ data, interval, span }: CallsProps) {
  const { zone } = useSettings()
  const rows = everyBucket(data.marketSeries ?? [], interval, span)
  // Days are UTC days in every zone.
  const shown = interval === 'day' ? 'utc' : zone
  return (
    <Card title={`Calls by ${interval}`}>
      {data.marketSeries === null ? (
        <NotSummed />
      ) : rows.length === 0 ? (
        <Empty title="No calls in this period">
          <p>Calls show up here within a minute.</p>
        </Empty>
      ) : (
        <TimeChart
          label={`Calls by ${interval}`}
          kind="bars"
          height={CHART_PX}
          times={rows.map(([at]) => at)}
          series={[
            { name: 'Charged', values: rows.map(([, row]) => row?.trades ?? 0) },
            {
              name: 'Not charged',
              values: rows.map(([, row]) => Math.max(0, (row?.calls ?? 0) - (row?.trades ?? 0))),
            },
          ]}
          format={compact}
          formatTime={(at) => (interval === 'day' ? day(at, shown) : `${day(at, shown)} ${hour(at, shown)}`)}
          zone={shown === 'utc' ? 'UTC' : 'local time'}
        />
      )}
    </Card>
  )
}

type ErrorLine = { readonly name: string | null; readonly calls: number }

function linesOf(data: OperatorFiguresQuery, by: 'errorCode' | 'provider'): readonly ErrorLine[] {
  const sums = new Map<string | null, number>()
  for (const { errorCode, provider, calls } of data.operatorFigures?.errors ?? []) {
    const name = by === 'provider' ? provider : errorCode
    sums.set(name, (sums.get(name) ?? 0) + calls)
  }
  return [...sums].map(([name, calls]) => ({ name, calls })).sort((left, right) => right.calls - left.calls)
}

const HEADS = { errorCode: 'Errors by class', provider: 'Errors by provider' } as const

function Errors({
  data,
  by,
  curl,
}: {
  readonly data: OperatorFiguresQuery
  readonly by: 'errorCode' | 'provider'
  readonly curl: string
}) {
  const failed = data.operatorFigures?.present.failedCalls ?? 0
  const lines = linesOf(data, by)
  const listed = lines.reduce((sum, { calls }) => sum + calls, 0)
  const columns: readonly Column<ErrorLine>[] = [
    by === 'provider'
      ? {
          label: 'Provider',
          cell: ({ name }) =>
            name === null ? (
              'none tried'
            ) : (
              <Link to="/operator/offers" search={{ provider: name }}>
                {name}
              </Link>
            ),
          text: ({ name }) => name ?? 'none tried',
        }
      : { label: 'Error', cell: ({ name }) => words(name ?? ''), text: ({ name }) => name },
    {
      label: 'Failed calls',
      phone: 'lead',
      isNumber: true,
      cell: ({ calls }) => count(calls),
      text: ({ calls }) => calls,
    },
    {
      label: 'Share',
      isNumber: true,
      cell: ({ calls }) => percent(failed === 0 ? null : (100 * calls) / failed),
      text: ({ calls }) => (failed === 0 ? null : (100 * calls) / failed),
      unit: 'percent',
    },
  ]
  return (
    <Card
      title={HEADS[by]}
      about={
        listed < failed
          ? `The most frequent: ${count(listed)} of ${count(failed)} failed calls`
          : `${count(failed)} failed ${failed === 1 ? 'call' : 'calls'}${by === 'provider' ? ', at the provider tried last' : ''}`
      }
      isFlush
    >
      <Table
        label={HEADS[by]}
        columns={columns}
        rows={lines}
        most={8}
        keyOf={({ name }) => name ?? ''}
        curl={curl}
        empty={
          <Empty title="No failed calls">
            <p>Calls that failed or broke off show up here.</p>
          </Empty>
        }
      />
    </Card>
  )
}
