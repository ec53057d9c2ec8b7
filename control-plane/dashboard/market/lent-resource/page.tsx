import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PublicResourceDocument } from '#control-plane/dashboard/data/documents/public-resource.ts'
import { compact, percent, words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { Book } from './book.tsx'
import { callOf } from './call-of.ts'
import type { ShownResource } from './shown-resource.ts'

const REFRESH_MS = 30_000

export function LentResourcePage() {
  const { resource: id } = useParams({ from: '/lent/$resource' })
  const { model, trait, floor, after } = useSearch({ from: '/lent/$resource' })
  const navigate = useNavigate({ from: '/lent/$resource' })
  const asked = { id, model, require: trait === undefined ? undefined : [trait], minDiscountPct: floor }
  const variables = { ...asked, after }
  const query = useScreen(PublicResourceDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(PublicResourceDocument, variables)
  const resource = query.data?.resourceMarket
  return (
    <Page
      title={resource?.market.name ?? (resource === null ? 'Provider not found' : id)}
      about={resource === null || resource === undefined ? undefined : `Sold ${resource.market.unit}`}
      actions={<Link to="/lent">All providers</Link>}
    >
      <Loaded query={query} waiting={<Skeleton height="30rem" />}>
        {(data) =>
          data.resourceMarket === null ? (
            <Empty title="No account is lent under this name">
              <p>
                No account at <code>{id}</code> is lent here.
              </p>
            </Empty>
          ) : (
            <>
              <Figures market={data.resourceMarket.market} />
              <Card title="Call it" about="Use the provider's own method, path and body">
                <Code label="A call to paste" text={callOf(data.resourceMarket, data.service?.apiBaseUrl ?? '')} />
              </Card>
              <Goods resource={data.resourceMarket} curl={curl} />
              <Book
                data={data}
                resource={data.resourceMarket}
                asked={{ model, trait, floor, after }}
                variables={variables}
                onAsk={(next) => void navigate({ search: { model, trait, floor, ...next }, replace: true })}
              />
              <div className={data.resourceMarket.refusedDemand.length === 0 ? 'grid' : 'grid two'}>
                <Traits resource={data.resourceMarket} curl={curl} />
                {data.resourceMarket.refusedDemand.length === 0 ? null : (
                  <Refused resource={data.resourceMarket} curl={curl} />
                )}
              </div>
              <Routes resource={data.resourceMarket} curl={curl} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function Figures({ market }: { readonly market: ShownResource['market'] }) {
  const { offers, liveOffers, bestDiscountPct, medianDiscountPct, calls24h, calls7d } = market
  return (
    <Stats
      figures={[
        {
          label: 'Accounts on sale',
          value: liveOffers,
          hint: liveOffers === offers ? 'all healthy' : `${offers - liveOffers} paused after failures`,
        },
        { label: 'Best discount', value: percent(bestDiscountPct), hint: `median ${percent(medianDiscountPct)}` },
        { label: 'Calls, 24 h', value: compact(calls24h), hint: `${compact(calls7d)} in 7 days` },
        {
          label: 'Paid, 24 h',
          value: <Money micro={market.volume24hMicro} />,
          hint: (
            <>
              <Money micro={market.volume7dMicro} /> in 7 days
            </>
          ),
        },
        {
          label: 'Saved, 24 h',
          value: <Money micro={market.saved24hMicro} />,
          hint: (
            <>
              <Money micro={market.saved7dMicro} /> in 7 days
            </>
          ),
        },
      ]}
    />
  )
}

type Trait = ShownResource['traits'][number]
const TRAIT_COLUMNS: readonly Column<Trait>[] = [
  {
    label: 'Trait',
    cell: ({ name, title }) => (
      <>
        <code>{name}</code>
        <span className="sub">{title}</span>
      </>
    ),
    text: ({ name }) => name,
  },
  {
    label: 'Source',
    phone: 'bare',
    cell: ({ provenance }) => (provenance === 'probed' ? 'tested' : 'stated by the seller'),
    text: ({ provenance }) => provenance,
  },
  {
    label: 'Accounts',
    phone: 'lead',
    isNumber: true,
    cell: ({ liveOffers }) => liveOffers,
    text: ({ liveOffers }) => liveOffers,
  },
]

function Traits({ resource, curl }: { readonly resource: ShownResource; readonly curl: string }) {
  return (
    <Card
      title="Traits"
      about={
        <>
          Require a trait with the header <code>X-MKT-Require</code>
        </>
      }
      isFlush
    >
      <Table
        label="Traits"
        columns={TRAIT_COLUMNS}
        rows={resource.traits}
        keyOf={({ name }) => name}
        curl={curl}
        empty={
          <Empty title="No traits">
            <p>No account here has a special feature.</p>
          </Empty>
        }
      />
    </Card>
  )
}

const RULES: Readonly<Record<string, string>> = {
  models: 'Model not allowed',
  methods: 'Method not allowed',
  paths: 'Path not allowed',
  rate: 'Calls per minute',
  buyer_share: "One buyer's share of the daily cap",
}

type Refusal = ShownResource['refusedDemand'][number]
const REFUSED_COLUMNS: readonly Column<Refusal>[] = [
  { label: 'Rule', cell: ({ rule }) => RULES[rule] ?? words(rule), text: ({ rule }) => rule },
  { label: 'Calls', phone: 'lead', isNumber: true, cell: ({ calls }) => compact(calls), text: ({ calls }) => calls },
  {
    label: 'Price',
    isNumber: true,
    cell: ({ quotedMicro }) => <Money micro={quotedMicro} />,
    text: ({ quotedMicro }) => quotedMicro,
    unit: 'microUsd',
  },
]

function Refused({ resource, curl }: { readonly resource: ShownResource; readonly curl: string }) {
  return (
    <Card title="Calls turned away" about="Calls that seller rules refused in the last 7 days (UTC)" isFlush>
      <Table
        label="Calls turned away"
        columns={REFUSED_COLUMNS}
        rows={resource.refusedDemand}
        keyOf={({ rule }) => rule}
        curl={curl}
        empty={null}
      />
    </Card>
  )
}

/** Units that are too small to compare by, in the multiple that a reader knows. */
const SCALES: Readonly<Record<string, readonly [times: number, name: string]>> = { milliseconds: [1_000, 'second'] }
const MILLION = 1e6
/** Digits after the point that a price may have. */
const DIGITS = 9

/** A price as a reader compares it: `$0.04 / image`, and tokens by the million. */
function listPrice(unit: string, usd: number): string {
  const name = words(unit)
  const [times, per] = SCALES[unit] ?? (name.endsWith('tokens') ? [MILLION, `1M ${name}`] : [1, name.replace(/s$/, '')])
  const amount = (usd * times).toLocaleString('en-US', {
    minimumFractionDigits: 2,
    maximumFractionDigits: DIGITS,
  })
  return `$${amount} / ${per}`
}

type Good = ShownResource['goods'][number]

/** The prices of a model or call, each less a discount. */
function pricesOf({ prices }: Good, discountPct: number) {
  const share = 1 - discountPct / 100
  return prices.map(({ unit, usd }) => (
    <span key={unit} className="sub nowrap">
      {listPrice(unit, Number(usd) * share)}
    </span>
  ))
}

const GOOD: Column<Good> = {
  label: 'Model or call',
  cell: ({ id, mustQueue }) => (
    <>
      <code>{id}</code>
      {mustQueue ? <span className="sub">queue only</span> : null}
    </>
  ),
  text: ({ id }) => id,
}
const LIST_PRICE: Column<Good> = {
  label: 'List price',
  isNumber: true,
  cell: (good) => pricesOf(good, 0),
  text: ({ prices }) => prices.map(({ unit, usd }) => `${usd} ${unit}`).join(' '),
}
const MOST_GOODS = 20

type GoodsProps = { readonly resource: ShownResource; readonly curl: string }

/** The price of each model or call: the provider's own, and what it costs at the best discount on sale. */
function Goods({ resource: { goods, market }, curl }: GoodsProps) {
  const best = market.liveOffers === 0 ? 0 : (market.bestDiscountPct ?? 0)
  const columns: readonly Column<Good>[] = [
    GOOD,
    best === 0 ? { ...LIST_PRICE, phone: 'lead' } : LIST_PRICE,
    ...(best === 0
      ? []
      : [
          {
            label: `Price at ${percent(best)} off`,
            phone: 'lead' as const,
            isNumber: true,
            cell: (good: Good) => pricesOf(good, best),
          },
        ]),
  ]
  return (
    <Card title="Prices" about="Largest discount on sale now. A call costs more when another account serves it" isFlush>
      <Table
        label="Prices"
        columns={columns}
        rows={goods}
        keyOf={({ id }) => id}
        curl={curl}
        most={MOST_GOODS}
        empty={
          <Empty title="No prices">
            <p>This provider has no priced models or calls.</p>
          </Empty>
        }
      />
    </Card>
  )
}

/** The words for each kind of call. */
const ROUTE_WORDS: Readonly<Record<string, string>> = {
  sale: 'charged',
  submit: 'starts a job',
  status: 'job status',
  result: 'job result',
}

type Route = ShownResource['routes'][number]
const ROUTE_COLUMNS: readonly Column<Route>[] = [
  {
    label: 'Call',
    cell: ({ methods, path }) => (
      <code>
        {methods.join(', ')} {path}
      </code>
    ),
    text: ({ methods, path }) => `${methods.join(' ')} ${path}`,
  },
  { label: 'What it does', phone: 'bare', cell: ({ title }) => title, text: ({ title }) => title },
  {
    label: 'Kind',
    phone: 'bare',
    cell: ({ kind }) => ROUTE_WORDS[kind] ?? words(kind),
    text: ({ kind }) => kind,
  },
]

/** The part of a pattern that stands for any further segments. */
const REST_OF_PATH = /\/\{\w+\+\}$/

type Fence = ShownResource['fences'][number]
const FENCE_COLUMNS: readonly Column<Fence>[] = [
  {
    label: 'Call',
    cell: ({ methods, path }) => (
      <code>
        {methods === null ? 'any method' : methods.join(', ')} {path.replace(REST_OF_PATH, '/…')}
      </code>
    ),
    text: ({ path }) => path,
  },
  { label: 'Reason', phone: 'bare', cell: ({ reason }) => reason, text: ({ reason }) => reason },
]

function Routes({ resource: { routes, fences }, curl }: { readonly resource: ShownResource; readonly curl: string }) {
  return (
    <>
      <Card title="Available calls" isFlush>
        <Table label="Calls" columns={ROUTE_COLUMNS} rows={routes} keyOf={({ id }) => id} curl={curl} empty={null} />
      </Card>
      {fences.length === 0 ? null : (
        <Card
          title="Blocked calls"
          about="Only the calls that the reason is about. Other calls of the path pass"
          isFlush
        >
          <Table
            label="Blocked calls"
            columns={FENCE_COLUMNS}
            rows={fences}
            keyOf={({ methods, path, reason }) => `${methods?.join() ?? ''} ${path} ${reason}`}
            curl={curl}
            empty={null}
          />
        </Card>
      )}
    </>
  )
}
