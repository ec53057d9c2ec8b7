import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useSuggestions } from '#control-plane/dashboard/buyer/filter-suggestions.ts'
import type { ShownPeriod, ShownTime } from '#control-plane/dashboard/buyer/period-choice.tsx'
import { intervalOf, PERIOD_MS, TimeChoice, windowOf } from '#control-plane/dashboard/buyer/period-choice.tsx'
import type { Interval, Span } from '#control-plane/dashboard/charts/every-bucket.ts'
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
import { Combobox } from '#control-plane/dashboard/ui/combobox.tsx'
import { Check, Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import type { FigureName, GroupSum } from './activity-figures.ts'
import { FIGURES, seriesOf, sumsOf, timesOf } from './activity-figures.ts'

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
  const { group = 'model', figure = 'spent', sum, hours, model, provider } = search
  const time = windowOf(search, '30d')
  const interval = intervalOf(time)
  const suggestions = useSuggestions()
  const hasHours = hours === 'yes' && time.period !== undefined && time.period !== '90d'
  const groupBy = group === 'none' ? undefined : group
  const variables = { interval, groupBy, filter: { ...time.filter, model, provider }, byHour: hasHours }
  const query = useScreen(BuyerActivityDocument, variables, { everyMs: REFRESH_MS })
  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true })
  return (
    <Page title="Activity" about="Usage over time by model, key, provider or endpoint. Select a row to see its calls.">
      <Filters>
        <Select
          label="Figure"
          value={figure}
          choices={FIGURE_CHOICES}
          onChange={({ currentTarget: { value } }) => change({ figure: isFigure(value) ? value : undefined })}
        />
        <Select
          label="By"
          value={groupBy ?? ''}
          choices={GROUPS}
          onChange={({ currentTarget: { value } }) =>
            change({ group: GROUPS.find((known) => known.value === value)?.value || 'none' })
          }
        />
        <Combobox
          label="Model"
          value={model}
          suggestions={suggestions.models}
          onOpen={suggestions.want}
          onChoose={(next) => change({ model: next })}
        />
        <Combobox
          label="Provider"
          value={provider}
          suggestions={suggestions.providers}
          onOpen={suggestions.want}
          onChoose={(next) => change({ provider: next })}
        />
        <TimeChoice time={search} period={time.period} onChange={change} />
        <div className="checks">
          <Check
            label="Hours of the day"
            isOn={hours === 'yes'}
            onChange={(isOn) => change({ hours: isOn ? 'yes' : undefined })}
          />
          <Check label="Added up" isOn={sum === 'yes'} onChange={(isOn) => change({ sum: isOn ? 'yes' : undefined })} />
        </div>
      </Filters>
      <Loaded query={query}>
        {(data) => (
          <>
            <Chart
              data={data}
              figure={figure}
              group={groupBy}
              interval={interval}
              span={time.span}
              isCumulative={sum === 'yes'}
            />
            {data.hours == null || time.period === undefined ? null : (
              <Hours hours={data.hours} figure={figure} period={time.period} />
            )}
            <Sums data={data} group={groupBy} time={search} curl={curlOf(BuyerActivityDocument, variables, true)} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

/**
 * The label of a key in place of its id. Other groups keep their names. Calls that no provider served have no label.
 */
function nameIn({ keys }: BuyerActivityQuery, by: Group | undefined): (group: string) => string {
  const labels = new Map((keys?.edges ?? []).map(({ node }) => [node.id, node.label]))
  return (group) => labels.get(group) ?? (group !== '' ? group : by === undefined ? 'All' : 'none')
}

type ChartProps = {
  readonly data: BuyerActivityQuery
  readonly figure: FigureName
  readonly group: Group | undefined
  readonly interval: Interval
  readonly span: Span
  readonly isCumulative: boolean
}

function Chart({ data, figure, group, interval, span, isCumulative }: ChartProps) {
  const { zone } = useSettings()
  const buckets = data.usageBuckets ?? []
  const { label, format } = FIGURES[figure]
  const times = timesOf(buckets, interval, span)
  return (
    <Card title={label} about={isCumulative ? `Added up from ${interval} to ${interval}` : `By ${interval}`}>
      {buckets.length === 0 ? (
        <NoCalls />
      ) : (
        <TimeChart
          label={label}
          kind={isCumulative ? 'lines' : 'bars'}
          height={240}
          times={times}
          series={seriesOf(buckets, times, { figure, isCumulative, nameOf: nameIn(data, group) })}
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
    <Card title={`${label} by hour of the day`} about="Darker = more.">
      <HeatMap
        label={`${label} by day and hour`}
        rows={heatRowsOf(values, { from: now - PERIOD_MS[period], now, zone })}
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
      <Link to="/buyer/keys" search={{}} className="button" data-kind="primary">
        Make a key
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
  if (by === undefined || by === 'endpoint' || group === '') return children
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

type SumsProps = {
  readonly data: BuyerActivityQuery
  readonly group: Group | undefined
  readonly time: ShownTime
  readonly curl: string
}

function Sums({ data, group: by, time, curl }: SumsProps) {
  const nameOf = nameIn(data, by)
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
    { label: 'Calls', isNumber: true, cell: ({ calls }) => compact(calls), text: ({ calls }) => calls },
    { label: 'Failed', isNumber: true, cell: ({ failed }) => compact(failed), text: ({ failed }) => failed },
    {
      label: 'Tokens in',
      isNumber: true,
      cell: (sum) => compact(tokenCount(sum, 'input')),
      text: (sum) => tokenCount(sum, 'input'),
    },
    {
      label: 'Tokens out',
      isNumber: true,
      cell: (sum) => compact(tokenCount(sum, 'output')),
      text: (sum) => tokenCount(sum, 'output'),
    },
    {
      label: 'Spent',
      isNumber: true,
      cell: ({ spent }) => <Money micro={spent} />,
      text: ({ spent }) => spent,
      unit: 'microUsd',
    },
    {
      label: 'Saved',
      isNumber: true,
      cell: ({ saved }) => <Money micro={saved} />,
      text: ({ saved }) => saved,
      unit: 'microUsd',
      phone: 'fact',
    },
  ]
  const rows = sumsOf(data.usageBuckets ?? [])
  return (
    <Card title="Sums of the period" isFlush>
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
}
