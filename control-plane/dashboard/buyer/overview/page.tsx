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
            {data.savings?.models === 0 ? null : <ByModel data={data} curl={curl} period={period} />}
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
          hint: savings === null || requests === 0 ? undefined : `${percent(savings.savedPct)} off list prices`,
        },
        {
          label: `Failed in ${during}`,
          value: percent(requests ? (failed / requests) * 100 : null),
          hint: requests === 0 ? 'no calls yet' : `${compact(failed)} of ${compact(requests)}, none of them charged`,
        },
        {
          label: `First token in ${during}`,
          value: milliseconds(latency?.ttftMs?.p50),
          hint:
            latency?.ttftMs?.p95 == null
              ? 'too few streamed calls'
              : `median; p95 ${milliseconds(latency.ttftMs.p95)}, ${compact(latency.timed)} streamed`,
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
          <p>Choose a longer period, or make your first call in three steps.</p>
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

/** The keys with a cap. Without any, the balance is the limit of all. */
function Caps({ data, curl }: { readonly data: BuyerOverviewQuery; readonly curl: string }) {
  const keys = data.caps?.keys ?? []
  const capped = keys.filter(({ daily, monthly }) => daily !== null || monthly !== null)
  return (
    <Card
      title="Limits"
      about="Keys with a cap, and the limit that each reaches first"
      actions={<Link to="/buyer/limits">All limits</Link>}
      isFlush
    >
      <Table
        label="Limits"
        columns={CAP_COLUMNS}
        rows={capped}
        keyOf={({ keyId }) => keyId}
        curl={curl}
        empty={
          keys.length === 0 ? (
            <Empty title="No keys yet">
              <p>Your programs call with API keys. Caps limit the spending of each key.</p>
            </Empty>
          ) : (
            <Empty title="No key has a cap">
              <p>Each key can spend the whole balance. Set a cap for a day or a month under Limits.</p>
            </Empty>
          )
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

/** The number of models that the overview lists. Activity has the others. */
const TOP = 12

type ByModelProps = { readonly data: BuyerOverviewQuery; readonly curl: string; readonly period: ShownPeriod }

function ByModel({ data: { savings }, curl, period }: ByModelProps) {
  const lines = linesOf(savings)
  const top = lines.filter(({ model }) => model !== '').slice(0, TOP)
  const models = savings?.models ?? 0
  return (
    <Card
      title="Top models"
      about={`By spend, in the last ${PERIOD_WORDS[period]}`}
      actions={
        <Link to="/buyer/activity" search={{ period, group: 'model' }}>
          Activity by model
        </Link>
      }
      isFlush
    >
      <Table
        label="Spending by model"
        columns={MODEL_COLUMNS}
        rows={top}
        whole={{ rows: async () => ({ rows: lines, isCut: false }) }}
        keyOf={({ model }) => model}
        curl={curl}
        foot={
          top.length < models ? (
            <Link to="/buyer/activity" search={{ period, group: 'model' }}>
              {`Top ${top.length} of ${count(models)} models`}
            </Link>
          ) : (
            <span>{`${count(models)} ${models === 1 ? 'model' : 'models'}`}</span>
          )
        }
        empty={
          <Empty title="Nothing spent in this period">
            <p>Models show up with their first charged call.</p>
          </Empty>
        }
      />
    </Card>
  )
}
