import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { DAY_MS, everyBucket, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { SellerYieldQuery } from '#control-plane/dashboard/data/documents/seller-yield.ts'
import { SellerYieldDocument } from '#control-plane/dashboard/data/documents/seller-yield.ts'
import { compact, count, day, money, percent } from '#control-plane/dashboard/data/format.ts'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { KeptInput } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Badge, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, NotSummed, SkeletonRows } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { dayLeft, shareOf } from './share-of-day.ts'

const REFRESH_MS = 60_000
const MOST_PCT = 95
/** The period of the history of prices that were paid. */
const PAID_MS = 30 * DAY_MS

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
  const variables = { name: model ?? '', discount: discount ?? null, hasModel: model !== undefined }
  const query = useScreen(SellerYieldDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(SellerYieldDocument, variables, true)
  const { total = 0, models = [] } = query.data?.offerYield ?? {}
  const others = models.map((one) => one.model).filter((name) => name !== model)
  return (
    <Page title="Yield" about="How many calls of the last 24 hours each discount would have won.">
      {model === undefined ? null : (
        <Filters>
          <Select
            label="Model"
            value={model}
            choices={[model, ...others].sort(byName).map((value) => ({ value, label: value }))}
            onChange={({ currentTarget: { value } }) => void navigate({ search: { model: value }, replace: true })}
          />
          <KeptInput
            label="Discount, percent"
            type="number"
            min={0}
            max={MOST_PCT}
            step={0.01}
            placeholder="your own"
            value={discount === undefined ? '' : String(discount)}
            onKeep={(text) =>
              void navigate({
                search: { model, discount: text === '' ? undefined : Number(text) },
                replace: true,
              })
            }
          />
        </Filters>
      )}
      <Loaded query={query}>
        {(data) =>
          model === undefined ? (
            <Models total={total} models={models} curl={curl} />
          ) : (
            <OfModel data={data} curl={curl} isOwn={discount === undefined} />
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
    unit: 'percent',
  },
  { label: 'Calls you won', isNumber: true, cell: ({ won }) => compact(won), text: ({ won }) => won },
  {
    label: 'Earned',
    phone: 'lead',
    isNumber: true,
    cell: ({ earnedMicro }) => <Money micro={earnedMicro} />,
    text: ({ earnedMicro }) => earnedMicro,
    unit: 'microUsd',
  },
  { label: 'Calls you lost', isNumber: true, cell: ({ passed }) => compact(passed), text: ({ passed }) => passed },
  {
    label: 'Paid to others',
    isNumber: true,
    cell: ({ passedMicro }) => <Money micro={passedMicro} />,
    text: ({ passedMicro }) => passedMicro,
    unit: 'microUsd',
  },
]

type ModelsProps = { readonly total: number; readonly models: readonly OnSale[]; readonly curl: string }

function Models({ total, models, curl }: ModelsProps) {
  if (models.length === 0) return <NoOffers />
  const shown = models.length < total ? `Top ${count(models.length)} of your ${count(total)} models` : 'All your models'
  return (
    <Card
      title="Your models"
      about={`${shown} by spend in the last 24 hours, on your offers and on others. Select a model to compare discounts.`}
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
        <p>List a model to see how many calls each discount would win.</p>
        <Link className="button" data-kind="primary" to="/seller/start" search={{}}>
          List capacity
        </Link>
      </Empty>
    </Card>
  )
}

type OfModelProps = { readonly data: SellerYieldQuery; readonly curl: string; readonly isOwn: boolean }

function OfModel({ data, curl, isOwn }: OfModelProps) {
  // The last data is that of the list of models, and has nothing about this model.
  if (!data.offerReach) return <SkeletonRows />
  return (
    <>
      <Figures reach={data.offerReach} isOwn={isOwn} />
      <Curve reach={data.offerReach} curl={curl} />
      <Paid data={data} />
    </>
  )
}

type OfferReach = NonNullable<SellerYieldQuery['offerReach']>
type Reach = OfferReach['chosen']

function Figures({ reach, isOwn }: { readonly reach: OfferReach; readonly isOwn: boolean }) {
  const now = useNow(REFRESH_MS)
  const { chosen, ahead, rivals, ownDiscountPct } = reach
  const all = chosen.won + chosen.shared + chosen.lost
  const ofAll = (calls: number) =>
    all === 0 ? 'no calls in the last 24 hours' : `${percent((calls / all) * 100)} of ${compact(all)} calls`
  const label = !isOwn ? 'This discount' : ownDiscountPct === null ? 'List price' : 'Your discount'
  return (
    <Stats
      figures={[
        {
          label,
          value: percent(chosen.discountPct),
          hint:
            rivals === 0
              ? 'no other offer is available'
              : `${count(ahead)} of ${count(rivals)} other offers come before it`,
        },
        { label: 'Calls you would win per day', value: compact(chosen.won), hint: ofAll(chosen.won) },
        {
          label: 'Calls at the same price',
          value: compact(chosen.shared),
          hint: 'the faster offer comes first',
        },
        { label: 'Calls you would lose per day', value: compact(chosen.lost), hint: 'to larger discounts' },
        {
          label: 'Worth per day, before the fee',
          value: <Money micro={chosen.worthMicro} />,
          hint: `${money(shareOf(chosen.worthMicro, dayLeft(now)))} until 00:00 UTC at this pace`,
        },
      ]}
    />
  )
}

const COLUMNS = (chosen: number): readonly Column<Reach>[] => [
  {
    label: 'Discount',
    cell: ({ discountPct }) => (
      <span className="nowrap">
        {percent(discountPct)} {discountPct === chosen ? <Badge>selected</Badge> : null}
      </span>
    ),
    text: ({ discountPct }) => discountPct,
    unit: 'percent',
  },
  { label: 'Calls won', isNumber: true, cell: ({ won }) => compact(won), text: ({ won }) => won },
  { label: 'Same price', isNumber: true, cell: ({ shared }) => compact(shared), text: ({ shared }) => shared },
  { label: 'Calls lost', isNumber: true, cell: ({ lost }) => compact(lost), text: ({ lost }) => lost },
  {
    label: 'Worth per day',
    isNumber: true,
    cell: ({ worthMicro }) => <Money micro={worthMicro} />,
    text: ({ worthMicro }) => worthMicro,
    unit: 'microUsd',
  },
]

type CurveProps = { readonly reach: OfferReach; readonly curl: string }

function Curve({ reach, curl }: CurveProps) {
  const { curve, chosen } = reach
  const all = chosen.won + chosen.shared + chosen.lost
  const empty = (
    <Empty title="No calls in the last 24 hours">
      <p>Charged calls appear here by the discount that would win them.</p>
    </Empty>
  )
  return (
    <div className="grid two">
      <Card
        title="Calls by discount"
        about={all === 0 ? undefined : `Each bar has all ${compact(all)} calls of the last 24 hours, of all sellers`}
      >
        {all === 0 ? (
          empty
        ) : (
          <TimeChart
            label="Calls by discount"
            kind="bars"
            axis="Discount"
            zone="below list price"
            times={curve.map(({ discountPct }) => discountPct)}
            series={[
              { name: 'Won', values: curve.map(({ won }) => won) },
              { name: 'Same price', values: curve.map(({ shared }) => shared) },
              { name: 'Lost', values: curve.map(({ lost }) => lost) },
            ]}
            format={compact}
            formatTime={(discountPct) => percent(discountPct)}
          />
        )}
      </Card>
      <Card title="Calls each discount would win" about="The discounts at which the result changes" isFlush>
        <Table
          label="Yield by discount"
          columns={COLUMNS(chosen.discountPct)}
          rows={all === 0 ? [] : curve}
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
  const known = data.priceHistory?.paid
  const paid = everyBucket(known ?? [], 'day', lastSpan(PAID_MS))
  return (
    <Card title="Discounts by day" about="The average and the best discount that buyers got">
      {known === null ? (
        <NotSummed />
      ) : paid.length === 0 ? (
        <Empty title="No history yet">
          <p>Each day appears shortly after its calls.</p>
        </Empty>
      ) : (
        <TimeChart
          label="Discount by day"
          times={paid.map(([at]) => at)}
          series={[
            { name: 'Average', values: paid.map(([, row]) => row?.discountPct ?? null) },
            { name: 'Best', values: paid.map(([, row]) => row?.bestDiscountPct ?? null) },
          ]}
          format={(value) => percent(value, 0)}
          formatTime={(at) => day(at, 'utc')}
          zone="UTC"
        />
      )}
    </Card>
  )
}
