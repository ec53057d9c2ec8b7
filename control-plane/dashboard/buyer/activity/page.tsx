import type { RegisteredRouter } from '@tanstack/react-router'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { memo, useMemo } from 'react'
import { CallFilters } from '#control-plane/dashboard/buyer/call-filters.tsx'
import { useSuggestions } from '#control-plane/dashboard/buyer/filter-suggestions.ts'
import type { ShownPeriod, ShownTime } from '#control-plane/dashboard/buyer/period-choice.tsx'
import { intervalOf, PERIOD_MS, TimeChoice, windowOf } from '#control-plane/dashboard/buyer/period-choice.tsx'
import type { Interval, Span } from '#control-plane/dashboard/charts/every-bucket.ts'
import { lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { HeatMap } from '#control-plane/dashboard/charts/heat-map.tsx'
import { heatRowsOf } from '#control-plane/dashboard/charts/heat-rows.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerActivityQuery } from '#control-plane/dashboard/data/documents/buyer-activity.ts'
import { BuyerActivityDocument } from '#control-plane/dashboard/data/documents/buyer-activity.ts'
import { compact, day, hour } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { SavedViews } from '#control-plane/dashboard/market/saved-views/saved-views.tsx'
import { Change } from '#control-plane/dashboard/ui/change.tsx'
import { Check, Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Amount, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import type { FigureName, GroupSum } from './activity-figures.ts'
import {
  FIGURES,
  formerSeriesOf,
  noSum,
  REST,
  seriesOf,
  sumByGroup,
  sumsOf,
  timesOf,
  topOf,
  totalOf,
} from './activity-figures.ts'

const REFRESH_MS = 30_000
const MINUTE_MS = 60_000
const FIGURE_CHOICES = Object.entries(FIGURES).map(([value, { label }]) => ({ value, label }))
const GROUPS = [
  { value: '', label: 'Nothing' },
  { value: 'model', label: 'Model' },
  { value: 'key', label: 'Key' },
  { value: 'provider', label: 'Provider' },
  { value: 'endpoint', label: 'Endpoint' },
] as const
type Group = Exclude<(typeof GROUPS)[number]['value'], ''>

export function ActivityPage() {
  return (
    <Gate side="buyer" title="Activity">
      <Activity />
    </Gate>
  )
}

function isFigure(name: string): name is FigureName {
  return name in FIGURES
}

function Activity() {
  const search = useSearch({ from: '/buyer/activity' })
  const navigate = useNavigate({ from: '/buyer/activity' })
  const { group = 'model', figure = 'spent', sum, hours, compare, model, provider, period, from, to } = search
  const shownTime = useMemo(() => ({ period, from, to }), [period, from, to])
  const time = windowOf(search, '30d')
  const interval = intervalOf(time)
  const hasHours = hours === 'yes' && time.period !== undefined && time.period !== '90d'
  const groupBy = group === 'none' ? undefined : group
  const top = groupBy && topOf(interval, time.spanMs)
  const variables = { interval, groupBy, top, filter: { ...time.filter, model, provider }, byHour: hasHours }
  const query = useScreen(BuyerActivityDocument, variables, { everyMs: REFRESH_MS })
  const change = (next: Partial<ActivitySearch>) =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true })
  return (
    <Page title="Activity" about="Usage over time by model, key, provider or endpoint. Select a row to see its calls.">
      <ActivityFilters search={search} period={time.period} onChange={change} />
      <Loaded query={query}>
        {(data) => (
          <>
            <Totals data={data} />
            <Chart
              data={data}
              figure={figure}
              group={groupBy}
              interval={interval}
              span={time.span}
              isCumulative={sum === 'yes'}
              formerMs={compare === 'yes' ? time.spanMs : undefined}
            />
            {data.hours == null || time.period === undefined ? null : (
              <Hours hours={data.hours} figure={figure} period={time.period} />
            )}
            <Sums
              data={data}
              group={groupBy}
              time={shownTime}
              isCompared={compare === 'yes'}
              curl={curlOf(BuyerActivityDocument, variables, true)}
            />
          </>
        )}
      </Loaded>
    </Page>
  )
}

type ActivitySearch = RegisteredRouter['routesByPath']['/buyer/activity']['types']['fullSearchSchema']
type ActivityFiltersProps = {
  readonly search: ActivitySearch
  readonly period: ShownPeriod | undefined
  readonly onChange: (next: Partial<ActivitySearch>) => void
}

function ActivityFilters({ search, period, onChange: change }: ActivityFiltersProps) {
  const { group = 'model', figure = 'spent', sum, hours, compare } = search
  const suggestions = useSuggestions()
  return (
    <Filters>
      <Select
        label="Metric"
        value={figure}
        choices={FIGURE_CHOICES}
        onChange={({ currentTarget: { value } }) => change({ figure: isFigure(value) ? value : undefined })}
      />
      <Select
        label="Group by"
        value={group === 'none' ? '' : group}
        choices={GROUPS}
        onChange={({ currentTarget: { value } }) =>
          change({ group: GROUPS.find((known) => known.value === value)?.value || 'none' })
        }
      />
      <CallFilters chosen={search} suggestions={suggestions} onChange={change} />
      <TimeChoice time={search} period={period} onChange={change} />
      <div className="checks">
        <Check
          label="By hour of day"
          isOn={hours === 'yes'}
          onChange={(isOn) => change({ hours: isOn ? 'yes' : undefined })}
        />
        <Check
          label="Previous period"
          isOn={compare === 'yes'}
          onChange={(isOn) => change({ compare: isOn ? 'yes' : undefined })}
        />
        <Check label="Cumulative" isOn={sum === 'yes'} onChange={(isOn) => change({ sum: isOn ? 'yes' : undefined })} />
      </div>
      <SavedViews screen="activity" search={search} />
    </Filters>
  )
}

/** The sums of the period, each beside the sum of the period before. */
const Totals = memo(({ data: { usageBuckets, before } }: { readonly data: BuyerActivityQuery }) => {
  if (usageBuckets === null || before === null) return null
  const now = totalOf(usageBuckets)
  const former = totalOf(before)
  const figure = (label: string, name: Exclude<keyof GroupSum, 'group'>) => {
    const write = (value: number) => (name === 'spent' || name === 'saved' ? <Amount micro={value} /> : compact(value))
    return {
      label,
      value: write(now[name]),
      // Without calls before, one figure says so for all.
      hint:
        former.calls > 0 ? (
          <Change now={now[name]} before={former[name]}>
            {write(former[name])}
          </Change>
        ) : name === 'calls' ? (
          'none in the period before'
        ) : undefined,
    }
  }
  return (
    <Stats
      figures={[
        figure('Spent', 'spent'),
        figure('Saved', 'saved'),
        figure('Calls', 'calls'),
        figure('Failed calls', 'failed'),
        figure('Tokens', 'tokens'),
      ]}
    />
  )
})

/**
 * The label of a key in place of its id. Other groups keep their names. Calls that no provider served have no label.
 */
function nameIn({ keys }: BuyerActivityQuery, by: Group | undefined): (group: string) => string {
  const labels = new Map((keys?.edges ?? []).map(({ node }) => [node.id, node.label]))
  return (group) =>
    (group === REST ? 'All others' : labels.get(group)) ?? (group !== '' ? group : by === undefined ? 'All' : 'none')
}

type ChartProps = {
  readonly data: BuyerActivityQuery
  readonly figure: FigureName
  readonly group: Group | undefined
  readonly interval: Interval
  readonly span: Span
  readonly isCumulative: boolean
  /** The time between this period and the one before. Undefined where that one is not drawn. */
  readonly formerMs: number | undefined
}

function Chart({ data, figure, group, interval, span, isCumulative, formerMs }: ChartProps) {
  const { zone } = useSettings()
  const buckets = data.usageBuckets ?? []
  const { label, format } = FIGURES[figure]
  const times = timesOf(buckets, interval, span)
  const choice = { figure, isCumulative, nameOf: nameIn(data, group) }
  const former =
    formerMs === undefined ? [] : [formerSeriesOf(data.before ?? [], times, { ...choice, lengthMs: formerMs })]
  return (
    <Card title={label} about={isCumulative ? `Cumulative, by ${interval}` : `By ${interval}`}>
      {buckets.length === 0 ? (
        <NoCalls />
      ) : (
        <TimeChart
          label={label}
          kind={isCumulative ? 'lines' : 'bars'}
          height={240}
          times={times}
          series={[...seriesOf(buckets, times, choice), ...former]}
          format={format}
          formatTime={(at) => (interval === 'hour' ? hour(at, zone) : day(at, 'utc'))}
          zone={interval === 'day' || zone === 'utc' ? 'UTC' : 'local time'}
        />
      )}
    </Card>
  )
}

type HoursProps = {
  readonly hours: NonNullable<BuyerActivityQuery['hours']>
  readonly figure: FigureName
  readonly period: ShownPeriod
}

/** The figure by hour of the day and by day. */
function Hours({ hours, figure, period }: HoursProps) {
  const { zone } = useSettings()
  const now = useNow(MINUTE_MS)
  const { label, read, format } = FIGURES[figure]
  const values = hours.map((bucket) => ({ bucket: bucket.bucket, value: read(bucket) }))
  return (
    <Card title={`${label} by hour of the day`} about="Stronger color = more">
      <HeatMap
        label={`${label} by day and hour`}
        rows={heatRowsOf(values, { from: lastSpan(PERIOD_MS[period]).from, now, zone })}
        format={format}
        zone={zone === 'utc' ? 'UTC' : 'local time'}
      />
    </Card>
  )
}

function NoCalls() {
  return (
    <Empty title="No calls match">
      <p>Try a longer period or fewer filters.</p>
      <Link to="/buyer/activity" search={{ period: '90d' }} className="button">
        Show 90 days of everything
      </Link>
    </Empty>
  )
}

type LogsLinkProps = {
  readonly by: Group | undefined
  readonly group: string
  readonly time: ShownTime
  readonly children: ReactNode
}

/** Leads to the calls of a group. Endpoints have no filter of their own there. */
function LogsLink({ by, group, time: { period = '30d', from, to }, children }: LogsLinkProps) {
  if (by === undefined || by === 'endpoint' || group === '' || group === REST) return children
  return (
    <Link to="/buyer/logs" search={{ period, from, to, [by]: group }}>
      {children}
    </Link>
  )
}

/** Tokens of a group. Films and pictures have no tokens, which is not zero. */
function tokenCount(sum: GroupSum, kind: 'input' | 'output'): number | null {
  return sum.input + sum.output === 0 ? null : sum[kind]
}

/** The change below a sum. Draws nothing if the sums of both periods are zero. */
function CellChange({ now, before }: { readonly now: number | null; readonly before: number }) {
  if ((now ?? 0) === 0 && before === 0) return null
  return (
    <span className="sub">
      <Change now={now} before={before} />
    </span>
  )
}

/** The note above the table: the groups that it lists, and the meaning of the lower figures. False without a note. */
function aboutSums(rows: readonly GroupSum[], isCompared: boolean) {
  const about = [
    ...(rows.at(-1)?.group === REST
      ? [`The ${rows.length - 1} that cost most, and all others in one row. A shorter period lists more.`]
      : []),
    ...(isCompared ? ['Below each sum: its change from the period before.'] : []),
  ].join(' ')
  return about !== '' && { about }
}

type SumsProps = {
  readonly data: BuyerActivityQuery
  readonly group: Group | undefined
  readonly time: ShownTime
  /** True where each sum shows its change from the period before. */
  readonly isCompared: boolean
  readonly curl: string
}

/** The table of the groups. A change of the chart leaves the table as it is. */
const Sums = memo(({ data, group: by, time, isCompared, curl }: SumsProps) => {
  const nameOf = nameIn(data, by)
  const before = sumByGroup(data.before ?? [])
  const number = (label: string, read: (sum: GroupSum) => number | null, isMoney = false): Column<GroupSum> => ({
    label,
    isNumber: true,
    cell: (sum) => (
      <>
        {isMoney ? <Money micro={read(sum)} /> : compact(read(sum))}
        {isCompared ? (
          <CellChange now={read(sum)} before={read(before.get(sum.group) ?? noSum(sum.group)) ?? 0} />
        ) : null}
      </>
    ),
    text: read,
    ...(isMoney && { unit: 'microUsd' as const }),
  })
  const columns: readonly Column<GroupSum>[] = [
    {
      label: GROUPS.find(({ value }) => value === (by ?? ''))?.label ?? '',
      cell: ({ group }) => (
        <LogsLink by={by} group={group} time={time}>
          {nameOf(group)}
        </LogsLink>
      ),
      text: ({ group }) => nameOf(group),
    },
    number('Calls', ({ calls }) => calls),
    number('Failed', ({ failed }) => failed),
    number('Tokens in', (sum) => tokenCount(sum, 'input')),
    number('Tokens out', (sum) => tokenCount(sum, 'output')),
    number('Spent', ({ spent }) => spent, true),
    { ...number('Saved', ({ saved }) => saved, true), phone: 'fact' },
  ]
  const rows = sumsOf(data.usageBuckets ?? [], isCompared ? before.keys() : [])
  return (
    <Card title="Totals of the period" {...aboutSums(rows, isCompared)} isFlush>
      <Table
        label="Activity"
        columns={by === undefined ? columns.slice(1) : columns}
        rows={rows}
        most={25}
        keyOf={({ group }) => group}
        curl={curl}
        empty={<NoCalls />}
      />
    </Card>
  )
})
