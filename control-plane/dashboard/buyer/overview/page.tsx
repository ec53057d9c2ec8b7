import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CAP_COLUMNS } from '#control-plane/dashboard/buyer/caps.tsx'
import type { ShownPeriod } from '#control-plane/dashboard/buyer/period-choice.tsx'
import { PERIOD_MS, PERIOD_WORDS, PeriodChoice } from '#control-plane/dashboard/buyer/period-choice.tsx'
import { everyBucket, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerOverviewQuery } from '#control-plane/dashboard/data/documents/buyer-overview.ts'
import { BuyerOverviewDocument } from '#control-plane/dashboard/data/documents/buyer-overview.ts'
import {
  compact,
  count,
  day,
  evenPercent,
  hour,
  milliseconds,
  money,
  percent,
} from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Amount, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

const REFRESH_MS = 30_000

export function OverviewPage() {
  return (
    <Gate side="buyer" title="Overview">
      <Overview />
    </Gate>
  )
}

function Overview() {
  const { period = '30d' } = useSearch({ from: '/buyer' })
  const navigate = useNavigate({ from: '/buyer' })
  const interval = period === '24h' ? 'hour' : 'day'
  const variables = { period, interval }
  const query = useScreen(BuyerOverviewDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(BuyerOverviewDocument, variables, true)
  return (
    <Page
      title="Overview"
      about="Your balance, your spending, and your savings against list prices. Days are UTC days, today included."
      actions={
        <PeriodChoice value={period} onChoose={(next) => void navigate({ search: { period: next }, replace: true })} />
      }
    >
      <Loaded query={query}>
        {(data) => (
          <>
            <Figures data={data} during={PERIOD_WORDS[period]} />
            <Spending data={data} interval={interval} spanMs={PERIOD_MS[period]} />
            <Caps data={data} curl={curl} />
            <ByModel data={data} curl={curl} period={period} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Figures({ data, during }: { readonly data: BuyerOverviewQuery; readonly during: string }) {
  const { updates } = useLive({ kind: 'credit' })
  const { me, savings, latency } = data
  const balance = updates?.credit?.creditBalanceUsdc ?? me?.creditBalanceUsdc
  const held = updates?.credit?.heldUsdc ?? me?.heldUsdc
  const buckets = data.usageBuckets
  const requests = buckets?.reduce((sum, bucket) => sum + bucket.requests, 0)
  const failed = (buckets ?? []).reduce((sum, bucket) => sum + bucket.failedRequests, 0)
  return (
    <Stats
      figures={[
        {
          label: 'Available credit',
          value: <Amount micro={balance} />,
          hint: held === undefined ? undefined : `${money(held)} held for running calls`,
        },
        {
          label: `Spent in ${during}`,
          value: <Amount micro={savings?.spentMicro} />,
          hint: `over ${compact(requests)} calls`,
        },
        {
          label: `Saved in ${during}`,
          value: <Amount micro={savings?.savedMicro} />,
          hint: savings === null || requests === 0 ? undefined : `${percent(savings.savedPct)} of list prices`,
        },
        {
          label: `Failed in ${during}`,
          value: percent(requests ? (failed / requests) * 100 : null),
          hint: requests === 0 ? 'no calls yet' : `${compact(failed)} of ${compact(requests)}, none of them charged`,
        },
        {
          label: `First token in ${during}, median`,
          value: milliseconds(latency?.ttftMs?.p50),
          hint:
            latency?.ttftMs?.p95 == null
              ? 'not enough streamed calls yet'
              : `p95 ${milliseconds(latency.ttftMs.p95)} · ${compact(latency.timed)} calls`,
        },
      ]}
    />
  )
}

type SpendingProps = {
  readonly data: BuyerOverviewQuery
  readonly interval: 'hour' | 'day'
  readonly spanMs: number
}

function Spending({ data, interval, spanMs }: SpendingProps) {
  const { zone } = useSettings()
  const buckets = everyBucket(data.usageBuckets ?? [], interval, lastSpan(spanMs))
  return (
    <Card
      title="Spending"
      about={`By ${interval}, with the savings on top`}
      actions={<Link to="/buyer/logs">All calls</Link>}
    >
      {buckets.length === 0 ? (
        <Empty title="No calls in this period">
          <p>Three steps lead to your first call: credit, a key, and the call itself.</p>
          <Link to="/start" className="button" data-kind="primary">
            Get started
          </Link>
        </Empty>
      ) : (
        <TimeChart
          label="Spending"
          kind="bars"
          height={220}
          times={buckets.map(([at]) => at)}
          series={[
            { name: 'Spent', values: buckets.map(([, row]) => row?.buyerCostMicro ?? 0) },
            {
              name: 'Saved',
              values: buckets.map(([, row]) => Math.max(0, (row?.listCostMicro ?? 0) - (row?.buyerCostMicro ?? 0))),
            },
          ]}
          format={money}
          formatTime={(at) => (interval === 'hour' ? hour(at, zone) : day(at, 'utc'))}
          zone={interval === 'day' || zone === 'utc' ? 'UTC' : 'local time'}
        />
      )}
    </Card>
  )
}

function Caps({ data, curl }: { readonly data: BuyerOverviewQuery; readonly curl: string }) {
  return (
    <Card title="Limits" about="The limit that each key reaches first" isFlush>
      <Table
        label="Limits"
        columns={CAP_COLUMNS}
        rows={data.caps?.keys ?? []}
        keyOf={({ keyId }) => keyId}
        curl={curl}
        empty={
          <Empty title="No keys yet">
            <p>Your programs call with API keys. Caps limit the spending of each key.</p>
          </Empty>
        }
      />
    </Card>
  )
}

type ModelLine = NonNullable<BuyerOverviewQuery['savings']>['byModel'][number]

const MODEL_COLUMNS: readonly Column<ModelLine>[] = [
  {
    label: 'Model',
    cell: ({ model }) => (model === '' ? 'Other models' : <ModelLink model={model} />),
    text: ({ model }) => (model === '' ? 'Other models' : model),
  },
  {
    label: 'Charged calls',
    isNumber: true,
    cell: ({ requests }) => compact(requests),
    text: ({ requests }) => requests,
  },
  {
    label: 'Spent',
    isNumber: true,
    cell: ({ spentMicro }) => <Money micro={spentMicro} />,
    text: ({ spentMicro }) => spentMicro,
    unit: 'microUsd',
  },
  {
    label: 'Saved',
    isNumber: true,
    cell: ({ savedMicro }) => <Money micro={savedMicro} />,
    text: ({ savedMicro }) => savedMicro,
    unit: 'microUsd',
    phone: 'fact',
  },
  {
    label: 'Share saved',
    isNumber: true,
    cell: ({ savedPct }) => evenPercent(savedPct),
    text: ({ savedPct }) => savedPct,
    unit: 'percent',
  },
]

/** The models that the market names, and one line for all others. */
function linesOf(savings: BuyerOverviewQuery['savings']): readonly ModelLine[] {
  if (!savings) return []
  const { byModel } = savings
  const rest = {
    model: '',
    requests: byModel.reduce((left, line) => left - line.requests, savings.requests),
    spentMicro: byModel.reduce((left, line) => left - line.spentMicro, savings.spentMicro),
  }
  const listMicro = byModel.reduce((left, line) => left - line.listMicro, savings.listMicro)
  if (rest.requests <= 0) return byModel
  const savedMicro = Math.max(0, listMicro - rest.spentMicro)
  const savedPct = listMicro === 0 ? 0 : (savedMicro / listMicro) * 100
  return [...byModel, { ...rest, listMicro, savedMicro, savedPct }]
}

type ByModelProps = { readonly data: BuyerOverviewQuery; readonly curl: string; readonly period: ShownPeriod }

/** The window of the list, and how many of the models it names. */
function aboutModels({ savings }: BuyerOverviewQuery, period: ShownPeriod): string {
  const window = `The last ${PERIOD_WORDS[period]}`
  if (savings === null || savings.byModel.length >= savings.models) return window
  return `${window}. The ${count(savings.byModel.length)} models with the highest spend, of ${count(savings.models)}`
}

function ByModel({ data, curl, period }: ByModelProps) {
  return (
    <Card
      title="By model"
      about={aboutModels(data, period)}
      actions={
        <Link to="/buyer/activity" search={{ period, group: 'model' }}>
          All models over time
        </Link>
      }
      isFlush
    >
      <Table
        label="Spending by model"
        most={12}
        columns={MODEL_COLUMNS}
        rows={linesOf(data.savings)}
        keyOf={({ model }) => model}
        curl={curl}
        empty={
          <Empty title="Nothing spent in this period">
            <p>Models show up with their first charged call.</p>
          </Empty>
        }
      />
    </Card>
  )
}
