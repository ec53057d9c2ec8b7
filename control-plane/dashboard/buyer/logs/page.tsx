import type { RegisteredRouter } from '@tanstack/react-router'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useLayoutEffect } from 'react'
import { CallFilters } from '#control-plane/dashboard/buyer/call-filters.tsx'
import { useSuggestions } from '#control-plane/dashboard/buyer/filter-suggestions.ts'
import { intervalOf, TimeChoice, windowOf } from '#control-plane/dashboard/buyer/period-choice.tsx'
import type { Interval, Span } from '#control-plane/dashboard/charts/every-bucket.ts'
import { everyBucket } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { BuyerCallsFileDocument } from '#control-plane/dashboard/data/documents/buyer-calls-file.ts'
import type { BuyerLogsQuery, BuyerLogsQueryVariables } from '#control-plane/dashboard/data/documents/buyer-logs.ts'
import { BuyerLogsDocument } from '#control-plane/dashboard/data/documents/buyer-logs.ts'
import { compact, day, hour, milliseconds, volume, words } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { SavedViews } from '#control-plane/dashboard/market/saved-views/saved-views.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { Suggestion } from '#control-plane/dashboard/ui/combobox.tsx'
import { Combobox } from '#control-plane/dashboard/ui/combobox.tsx'
import { Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Badge, Money, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import type { RowOrder } from '#control-plane/dashboard/ui/row-order.ts'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { fileOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { CallDrawer } from './call-drawer.tsx'

const REFRESH_MS = 15_000
const OUTCOMES = [
  { value: '', label: 'Any' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'failed', label: 'Failed' },
  { value: 'cut', label: 'Cut' },
  { value: 'cancelled', label: 'Cancelled' },
]
const TONES: Readonly<Record<string, Tone>> = { succeeded: 'good', failed: 'bad', cut: 'warn', cancelled: 'plain' }

export function LogsPage() {
  return (
    <Gate side="buyer" title="Logs">
      <Logs />
    </Gate>
  )
}

type Call = NonNullable<BuyerLogsQuery['usage']>['edges'][number]['node']

/**
 * The open call of the address, and a function that opens another one. The back button leads from a call to the list,
 * and not through the calls that were open before.
 */
function useOpenCall() {
  const call = useSearch({ from: '/buyer/logs', select: (search) => search.call })
  const navigate = useNavigate({ from: '/buyer/logs' })
  const open = (id: string | undefined) => {
    void navigate({ search: (now) => ({ ...now, call: id }), replace: call !== undefined })
  }
  return { call, open }
}

/** The search of the address without the open call, so that a call that opens leaves the list as it is. */
function useListSearch() {
  return useSearch({
    from: '/buyer/logs',
    select: ({ call: _call, ...search }) => search,
    structuralSharing: true,
  })
}

function Logs() {
  const search = useListSearch()
  const navigate = useNavigate({ from: '/buyer/logs' })
  const { model, provider, outcome, key: keyId, after, sort, reverse } = search
  const order = { sort, isReversed: reverse === 'yes' }
  const time = windowOf(search, '24h')
  const interval = intervalOf(time)
  const variables = { filter: { ...time.filter, model, provider, outcome, keyId }, interval, after, ...order }
  const query = useScreen(BuyerLogsDocument, variables, { everyMs: REFRESH_MS })
  const change = (next: Partial<LogSearch>) =>
    void navigate({ search: (now) => ({ ...now, after: undefined, ...next }), replace: !('after' in next) })
  const keys = (query.data?.keys?.edges ?? []).map(({ node }) => ({ value: node.id, label: node.label || node.id }))
  const nameOfKey = (id: string) => keys.find(({ value }) => value === id)?.label ?? id
  return (
    <Page
      title="Logs"
      about={
        <>
          Every call, with its cost and its route.
          <span className="desk-only"> J and K step through the calls, Esc closes one.</span>
        </>
      }
    >
      <LogFilters search={search} keys={keys} onChange={change} />
      <Loaded query={query}>
        {(data) => (
          <>
            <Histogram buckets={data.usageBuckets ?? []} interval={interval} span={time.span} />
            <Card title="Calls" isFlush>
              <CallTable data={data} variables={variables} nameOfKey={nameOfKey} onChange={change} />
            </Card>
          </>
        )}
      </Loaded>
      <OpenCall nameOfKey={nameOfKey} />
    </Page>
  )
}

type OpenCallProps = { readonly nameOfKey: (id: string) => string }

function OpenCall({ nameOfKey }: OpenCallProps) {
  const { call, open } = useOpenCall()
  if (call === undefined) return null
  return <CallDrawer id={call} nameOfKey={nameOfKey} onClose={() => open(undefined)} />
}

type CallTableProps = {
  readonly data: BuyerLogsQuery
  readonly variables: BuyerLogsQueryVariables
  readonly nameOfKey: (id: string) => string
  readonly onChange: (next: Partial<LogSearch>) => void
}

/** A page of the calls. The open one is marked. */
function CallTable({ data, variables, nameOfKey, onChange }: CallTableProps) {
  const navigate = useNavigate({ from: '/buyer/logs' })
  const { call, open } = useOpenCall()
  const calls = (data.usage?.edges ?? []).map(({ node }) => node)
  useStepKeys(calls, call, open)
  const { filter, sort, isReversed, after } = variables
  return (
    <Table
      label="Calls"
      columns={columnsOf(open, nameOfKey)}
      rows={calls}
      keyOf={({ requestId }) => requestId}
      selected={call}
      curl={curlOf(BuyerLogsDocument, variables, true)}
      whole={fileOf(BuyerCallsFileDocument, { filter, sort, isReversed }, (read) => read.usageExport)}
      order={{
        now: sort == null ? undefined : { by: sort, isDown: isReversed !== true },
        onOrder: (next) => onChange(searchOf(next)),
      }}
      empty={
        <Empty title="No calls match">
          <p>A longer period or fewer conditions show more.</p>
          <Button onClick={() => void navigate({ search: { period: '30d' } })}>Show 30 days of everything</Button>
        </Empty>
      }
      foot={
        <Pager
          after={after ?? undefined}
          next={data.usage?.pageInfo.endCursor}
          hasNext={data.usage?.pageInfo.hasNextPage}
          onPage={(to) => onChange({ after: to })}
          total={data.usageBuckets?.reduce((sum, { requests }) => sum + requests, 0)}
        />
      }
    />
  )
}

/** The orders of the market's list. */
const LOG_SORTS = ['time', 'cost', 'tokens', 'duration', 'ttft'] as const

/** The order of the list in the address. */
function searchOf(order: RowOrder | undefined) {
  const sort = LOG_SORTS.find((one) => one === order?.by)
  return { sort, reverse: sort === undefined || order?.isDown === true ? undefined : ('yes' as const) }
}

type LogSearch = RegisteredRouter['routesByPath']['/buyer/logs']['types']['fullSearchSchema']
type LogFiltersProps = {
  readonly search: LogSearch
  readonly keys: readonly Suggestion[]
  readonly onChange: (next: Partial<LogSearch>) => void
}

function LogFilters({ search, keys, onChange: change }: LogFiltersProps) {
  const { model, provider, outcome, key: keyId } = search
  const suggestions = useSuggestions()
  return (
    <Filters active={[model, provider, keyId, outcome].filter((one) => one !== undefined).length}>
      <CallFilters chosen={search} suggestions={suggestions} onChange={change} />
      <Combobox
        label="Key"
        value={keyId}
        suggestions={suggestions.keys.length > 0 ? suggestions.keys : keys}
        onOpen={suggestions.want}
        onChoose={(next) => change({ key: next })}
      />
      <Select
        label="Outcome"
        value={outcome ?? ''}
        choices={OUTCOMES}
        onChange={({ currentTarget: { value } }) => change({ outcome: value === '' ? undefined : value })}
      />
      <TimeChoice time={search} period={windowOf(search, '24h').period} onChange={change} />
      <SavedViews screen="logs" search={search} />
    </Filters>
  )
}

/** J and K open the next and the previous call of the list that is shown. */
function useStepKeys(calls: readonly Call[], call: string | undefined, open: (id: string) => void): void {
  useLayoutEffect(() => {
    const press = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      const by = { j: 1, k: -1 }[key]
      if (by === undefined || ctrlKey || metaKey || altKey) return
      if (target instanceof HTMLElement && target.closest('input, textarea, select') !== null) return
      const at = calls.findIndex(({ requestId }) => requestId === call)
      const next = calls[at === -1 ? 0 : at + by]
      if (next !== undefined) open(next.requestId)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [calls, call, open])
}

type Bucket = NonNullable<BuyerLogsQuery['usageBuckets']>[number]

type HistogramProps = {
  readonly buckets: readonly Bucket[]
  readonly interval: Interval
  readonly span: Span
}

function Histogram({ buckets, interval, span }: HistogramProps) {
  const { zone } = useSettings()
  if (buckets.length === 0) return null
  const times = everyBucket(buckets, interval, span)
  return (
    <Card title={`Calls by ${interval}`}>
      <TimeChart
        label={`Calls by ${interval}`}
        kind="bars"
        height={140}
        times={times.map(([at]) => at)}
        series={[
          { name: 'Answered', values: times.map(([, row]) => (row?.requests ?? 0) - (row?.failedRequests ?? 0)) },
          { name: 'Failed', tone: 'bad', values: times.map(([, row]) => row?.failedRequests ?? 0) },
        ]}
        format={compact}
        formatTime={(at) => (interval === 'day' ? day(at, 'utc') : `${day(at, zone)} ${hour(at, zone)}`)}
        zone={interval === 'day' || zone === 'utc' ? 'UTC' : 'local time'}
      />
    </Card>
  )
}

function columnsOf(open: (id: string) => void, nameOfKey: (id: string) => string): readonly Column<Call>[] {
  return [
    {
      label: 'When',
      cell: ({ requestId, createdAt }) => (
        <button type="button" className="link" onClick={() => open(requestId)}>
          <Time at={createdAt} isInColumn />
        </button>
      ),
      text: ({ createdAt }) => createdAt,
      unit: 'time',
      isInstant: true,
      phone: 'bare',
      order: 'time',
    },
    { label: 'Model', cell: ({ model }) => model, text: ({ model }) => model, phone: 'title' },
    {
      label: 'Provider',
      cell: ({ provider }) => <span className="nowrap">{provider ?? ''}</span>,
      text: ({ provider }) => provider,
      phone: 'bare',
    },
    {
      label: 'Key',
      cell: ({ keyId }) => (keyId === null ? '' : <span className="nowrap">{nameOfKey(keyId)}</span>),
      text: ({ keyId }) => keyId,
      phone: 'none',
    },
    {
      label: 'Outcome',
      cell: ({ outcome }) =>
        outcome === 'succeeded' ? (
          <span className="muted">{outcome}</span>
        ) : (
          <Badge tone={TONES[outcome] ?? 'plain'}>{words(outcome)}</Badge>
        ),
      text: ({ outcome }) => outcome,
      phone: 'bare',
    },
    {
      label: 'Volume',
      isNumber: true,
      order: 'tokens',
      cell: (call) => <span className="muted nowrap">{volume(call)}</span>,
      text: volume,
      phone: 'bare',
    },
    {
      label: 'First token',
      isNumber: true,
      cell: ({ ttftMs }) => milliseconds(ttftMs),
      text: ({ ttftMs }) => ttftMs,
      order: 'ttft',
      unit: 'ms',
    },
    {
      label: 'Took',
      isNumber: true,
      cell: ({ durationMs }) => milliseconds(durationMs),
      text: ({ durationMs }) => durationMs,
      order: 'duration',
      unit: 'ms',
    },
    {
      label: 'Cost',
      isNumber: true,
      cell: ({ buyerCostMicro }) => <Money micro={buyerCostMicro} />,
      text: ({ buyerCostMicro }) => buyerCostMicro,
      order: 'cost',
      unit: 'microUsd',
    },
  ]
}
