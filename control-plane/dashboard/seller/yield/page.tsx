import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { everyBucket } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { SellerYieldQuery } from '#control-plane/dashboard/data/documents/seller-yield.ts'
import { SellerYieldDocument } from '#control-plane/dashboard/data/documents/seller-yield.ts'
import { compact, count, day, hour, percent } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Badge, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, NotSummed, SkeletonRows } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import type { Reach } from './reach.ts'
import { curveOf, dayLeft, reachOf, shareOf } from './reach.ts'

const REFRESH_MS = 60_000
const MOST_PCT = 95

export function YieldPage() {
  return (
    <Gate side="seller" title="Yield">
      <Yield />
    </Gate>
  )
}

function Yield() {
  const { model, discount } = useSearch({ from: '/seller/yield' })
  const navigate = useNavigate({ from: '/seller/yield' })
  const variables = { model: model ?? '', name: model ?? '', hasModel: model !== undefined }
  const query = useScreen(SellerYieldDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(SellerYieldDocument, variables, true)
  const { total = 0, models = [] } = query.data?.offerYield ?? {}
  const others = models.map((one) => one.model).filter((name) => name !== model)
  return (
    <Page
      title="Yield"
      about="Which calls of the last day a discount would have come first for, and which went past it."
    >
      {model === undefined ? null : (
        <search className="filters">
          <Select
            label="Model"
            value={model}
            choices={[model, ...others].sort(byName).map((value) => ({ value, label: value }))}
            onChange={({ currentTarget: { value } }) => void navigate({ search: { model: value }, replace: true })}
          />
          <Input
            label="At a discount of, percent"
            type="number"
            min={0}
            max={MOST_PCT}
            step="any"
            placeholder="your own"
            value={discount ?? ''}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                search: { model, discount: value === '' ? undefined : Number(value) },
                replace: true,
              })
            }
          />
        </search>
      )}
      <Loaded query={query}>
        {(data) =>
          model === undefined ? (
            <Models total={total} models={models} curl={curl} />
          ) : (
            <OfModel data={data} curl={curl} discount={discount} />
          )
        }
      </Loaded>
    </Page>
  )
}

type OnSale = NonNullable<SellerYieldQuery['offerYield']>['models'][number]

const byName = (a: string, b: string) => (a < b ? -1 : 1)

const MODEL_COLUMNS: readonly Column<OnSale>[] = [
  {
    label: 'Model',
    cell: ({ model }) => (
      <Link to="/seller/yield" search={{ model }}>
        {model}
      </Link>
    ),
    text: ({ model }) => model,
  },
  { label: 'Your offers', isNumber: true, cell: ({ offers }) => count(offers), text: ({ offers }) => offers },
  {
    label: 'Your discount',
    isNumber: true,
    cell: ({ bestDiscountPct }) => percent(bestDiscountPct),
    text: ({ bestDiscountPct }) => bestDiscountPct,
  },
  { label: 'Calls you won', isNumber: true, cell: ({ won }) => compact(won), text: ({ won }) => won },
  {
    label: 'Earned',
    isNumber: true,
    cell: ({ earnedMicro }) => <Money micro={earnedMicro} />,
    text: ({ earnedMicro }) => earnedMicro,
  },
  { label: 'Went past you', isNumber: true, cell: ({ passed }) => compact(passed), text: ({ passed }) => passed },
  {
    label: 'Paid to others',
    isNumber: true,
    cell: ({ passedMicro }) => <Money micro={passedMicro} />,
    text: ({ passedMicro }) => passedMicro,
  },
]

type ModelsProps = { readonly total: number; readonly models: readonly OnSale[]; readonly curl: string }

function Models({ total, models, curl }: ModelsProps) {
  if (models.length === 0) return <NoOffers />
  const shownCount = models.length < total ? `${count(models.length)} of your ${count(total)} models` : 'All of them'
  return (
    <Card
      title="Your models"
      about={`${shownCount}, those first for which most was paid in the last day, to you or past you. Choose one to see what each discount wins`}
      isFlush
    >
      <Table
        label="Your models"
        columns={MODEL_COLUMNS}
        rows={models}
        keyOf={({ model }) => model}
        curl={curl}
        most={25}
        empty={null}
      />
    </Card>
  )
}

function NoOffers() {
  return (
    <Card title="Nothing on sale" isFlush>
      <Empty title="You have no offers yet">
        <p>What a discount wins is shown for each model that you list.</p>
        <Link className="button" data-kind="primary" to="/seller/start" search={{}}>
          List capacity
        </Link>
      </Empty>
    </Card>
  )
}

type OfModelProps = {
  readonly data: SellerYieldQuery
  readonly curl: string
  readonly discount: number | undefined
}

function OfModel({ data, curl, discount }: OfModelProps) {
  // The list of models is what was read before, and holds nothing of this one.
  if (data.demand === undefined) return <SkeletonRows />
  const own = Math.max(0, ...(data.offers?.edges ?? []).map(({ node }) => node.discount))
  const discountPct = discount ?? own
  return (
    <>
      <Figures data={data} discountPct={discountPct} isOwn={discount === undefined} />
      <Curve data={data} own={discountPct} curl={curl} />
      <Paid data={data} />
    </>
  )
}

type FiguresProps = {
  readonly data: SellerYieldQuery
  readonly discountPct: number
  readonly isOwn: boolean
}

function Figures({ data, discountPct, isOwn }: FiguresProps) {
  const now = useNow(REFRESH_MS)
  const steps = data.demand?.steps ?? []
  const reach = reachOf(steps, discountPct)
  const all = reach.calls + reach.past
  const book = (data.orderBook?.edges ?? []).map(({ node }) => node).filter(({ available }) => available)
  const ahead = book.filter((offer) => offer.discountPct > discountPct).length
  return (
    <Stats
      figures={[
        {
          label: isOwn ? 'Your discount' : 'This discount',
          value: percent(discountPct),
          hint: `${count(ahead)} of ${count(book.length)} offers on sale stand before it`,
        },
        {
          label: 'Calls that it comes first for, a day',
          value: compact(reach.calls),
          hint:
            all === 0 ? 'nobody called in the last day' : `${percent((reach.calls / all) * 100)} of ${compact(all)}`,
        },
        { label: 'Worth, a day', value: <Money micro={reach.worthMicro} />, hint: 'before the fee of the market' },
        {
          label: 'Until 00:00 UTC',
          value: <Money micro={shareOf(reach.worthMicro, dayLeft(now))} />,
          hint: 'at the pace of the last day',
        },
        { label: 'Calls that went past it', value: compact(reach.past), hint: 'served at a larger discount' },
      ]}
    />
  )
}

const COLUMNS = (own: number): readonly Column<Reach>[] => [
  {
    label: 'At a discount of',
    cell: ({ discountPct }) => (
      <>
        {percent(discountPct)} {discountPct === own ? <Badge tone="info">chosen</Badge> : null}
      </>
    ),
    text: ({ discountPct }) => discountPct,
  },
  { label: 'Comes first for', isNumber: true, cell: ({ calls }) => compact(calls), text: ({ calls }) => calls },
  { label: 'Went past it', isNumber: true, cell: ({ past }) => compact(past), text: ({ past }) => past },
  {
    label: 'Worth, a day',
    isNumber: true,
    cell: ({ worthMicro }) => <Money micro={worthMicro} />,
    text: ({ worthMicro }) => worthMicro.toString(),
  },
]

type CurveProps = { readonly data: SellerYieldQuery; readonly own: number; readonly curl: string }

function Curve({ data, own, curl }: CurveProps) {
  const steps = data.demand?.steps ?? []
  const empty = (
    <Empty title="Nobody called in the last day">
      <p>Each charged call is counted at the discount that served it.</p>
    </Empty>
  )
  return (
    <div className="grid two">
      <Card title="Calls by the discount that served them" about="Of the last day">
        {steps.length === 0 ? (
          empty
        ) : (
          <TimeChart
            label="Calls by discount"
            kind="bars"
            axis="Discount"
            zone="below list"
            times={steps.map(({ discountPct }) => discountPct)}
            series={[{ name: 'Calls', values: steps.map(({ calls }) => calls) }]}
            format={compact}
            formatTime={(discountPct) => percent(discountPct)}
          />
        )}
      </Card>
      <Card title="What each discount wins" isFlush>
        <Table
          label="Yield by discount"
          columns={COLUMNS(own)}
          rows={steps.length === 0 ? [] : curveOf(steps, own)}
          most={12}
          keyOf={({ discountPct }) => String(discountPct)}
          curl={curl}
          empty={empty}
        />
      </Card>
    </div>
  )
}

function Paid({ data }: { readonly data: SellerYieldQuery }) {
  const { zone } = useSettings()
  const paidPoints = data.priceHistory?.paid
  const buckets = everyBucket(paidPoints ?? [], 'hour')
  return (
    <Card title="What buyers paid below list" about="By hour">
      {paidPoints === null ? (
        <NotSummed />
      ) : buckets.length === 0 ? (
        <Empty title="No history yet">
          <p>Hours are summed up a moment after their calls.</p>
        </Empty>
      ) : (
        <TimeChart
          label="Discount by hour"
          times={buckets.map(([at]) => at)}
          series={[
            { name: 'Paid', values: buckets.map(([, row]) => row?.discountPct ?? null) },
            { name: 'Best', values: buckets.map(([, row]) => row?.bestDiscountPct ?? null) },
          ]}
          format={(value) => percent(value, 0)}
          formatTime={(at) => `${day(at, zone)} ${hour(at, zone)}`}
          zone={zone === 'utc' ? 'UTC' : 'local time'}
        />
      )}
    </Card>
  )
}
