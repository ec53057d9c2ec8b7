import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { DAY_MS, everyBucket, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { chatCurlOf, curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicHomeQuery } from '#control-plane/dashboard/data/documents/public-home.ts'
import { PublicHomeDocument } from '#control-plane/dashboard/data/documents/public-home.ts'
import { compact, day, hour, percent, toMicro, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { CALLS_24H, DISCOUNT } from '#control-plane/dashboard/market/market-columns.tsx'
import { ModelName } from '#control-plane/dashboard/market/model-name.tsx'
import { PRICE } from '#control-plane/dashboard/market/prices.tsx'
import type { ShownTrade } from '#control-plane/dashboard/market/trade-table.tsx'
import { TradeTable } from '#control-plane/dashboard/market/trade-table.tsx'
import { BookPicture } from '#control-plane/dashboard/ui/book-picture.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Amount, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Stats, useTitle } from '#control-plane/dashboard/ui/page.tsx'
import {
  Empty,
  Loaded,
  NotSummed,
  Skeleton,
  SkeletonCard,
  SkeletonFigures,
} from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import type { HomeHead } from './head.ts'
import { HERO, HOME_HEAD_KEY } from './head.ts'

const REFRESH_MS = 10_000
const DAYS = 30

export function HomePage() {
  useTitle('Home')
  const query = useScreen(PublicHomeDocument, {}, { everyMs: REFRESH_MS })
  const known = useQueryClient().getQueryData<HomeHead>(HOME_HEAD_KEY)
  const url = query.data?.service?.apiBaseUrl ?? known?.apiBaseUrl
  return (
    <div className="page">
      <div className="grid">
        <Hero />
        <Proof
          totals={query.isPending ? undefined : (query.data?.marketTotals ?? null)}
          url={url}
          isPending={query.isPending}
        />
        <Loaded query={query} waiting={<Waiting />}>
          {(data) => <Market data={data} curl={curlOf(PublicHomeDocument, {})} />}
        </Loaded>
        <About />
      </div>
    </div>
  )
}

function Waiting() {
  return (
    <div className="grid">
      <SkeletonFigures />
      <div className="grid two">
        <SkeletonCard height="17rem" />
        <SkeletonCard />
      </div>
    </div>
  )
}

/** Null totals are not known, undefined ones are on their way. */
type HeroProps = { readonly totals: PublicHomeQuery['marketTotals'] | undefined }

/** The introduction to the market, which needs no figures. */
function Hero() {
  const viewer = useViewer()
  const kind = viewer.isKnown ? viewer.kind : viewer.likely
  const [start, sell] = HERO.actions
  const isIn = kind !== undefined && kind !== 'nobody'
  return (
    <section className="hero">
      <div>
        <h1>{HERO.title}</h1>
        <p>{HERO.about}</p>
        <div className="actions">
          <Link className="button" data-kind="primary" to={isIn ? '/buyer' : start.path} search={{}}>
            {isIn ? 'Open your overview' : start.label}
          </Link>
          <Link className="button" to={sell.path} search={{}}>
            {sell.label}
          </Link>
        </div>
      </div>
      <BookPicture />
    </section>
  )
}

/** The proof: what buyers saved, and the call to try. */
function Proof({
  totals,
  url,
  isPending,
}: HeroProps & { readonly url: string | undefined; readonly isPending: boolean }) {
  return (
    <div className="proof">
      <div className="card saving">
        <span className="muted">Saved by buyers in the last {DAYS} days</span>
        <Saving totals={totals} />
      </div>
      {url !== undefined ? (
        <Code label="A call to paste" text={chatCurlOf(url, { model: 'gpt-5-mini', prompt: 'Say hello.' })} />
      ) : isPending ? (
        <Skeleton height="7rem" />
      ) : null}
    </div>
  )
}

const STEPS = [
  {
    title: 'Sellers list capacity',
    text: 'Companies list unused credits at a discount, model by model.',
  },
  {
    title: 'You call one API',
    text: 'Keep your client. Change the base URL and the key.',
  },
  {
    title: 'The cheapest seller serves it',
    text: 'If a seller fails, the next one answers.',
  },
] as const

const SIDES = [
  {
    title: 'For buyers',
    text: 'Set a budget for each key, and see what every call cost.',
    to: '/start',
    label: 'Get started',
  },
  {
    title: 'For sellers',
    text: 'Turn unused capacity into USDC. Your key stays encrypted, and payouts are automatic.',
    to: '/seller/start',
    label: 'List capacity',
  },
  {
    title: 'For operators',
    text: 'Run a market of your own, with a double-entry ledger.',
    to: '/docs/operate',
    label: 'Read the guide',
  },
] as const

/** An explanation of the market and of what each side gets from it, for readers who are new here. */
function About() {
  return (
    <>
      <section className="landing" aria-label="How it works">
        <h2>How it works</h2>
        <ol className="three numbered">
          {STEPS.map(({ title, text }) => (
            <li key={title}>
              <h3>{title}</h3>
              <p>{text}</p>
            </li>
          ))}
        </ol>
      </section>
      <section className="landing" aria-label="Prices">
        <h2>Prices</h2>
        <ul className="three">
          <li>
            <h3>Pay per call</h3>
            <p>No subscription, no minimum.</p>
          </li>
          <li>
            <h3>Failures are free</h3>
            <p>A call without an answer costs nothing.</p>
          </li>
          <li>
            <h3>One fee</h3>
            <p>
              Sellers pay the fee of the market. <a href="/fees">See the fee</a>
            </p>
          </li>
        </ul>
      </section>
      <section className="landing" aria-label="Who it is for">
        <h2>Who it is for</h2>
        <ul className="three cards">
          {SIDES.map(({ title, text, to, label }) => (
            <li key={title} className="card">
              <h3>{title}</h3>
              <p>{text}</p>
              <a href={to}>{label}</a>
            </li>
          ))}
        </ul>
      </section>
    </>
  )
}

function Saving({ totals }: HeroProps) {
  if (totals === undefined) {
    return (
      <>
        <output>
          <Skeleton height="1.1em" width="60%" />
        </output>
        <Skeleton height="1.5em" width="80%" />
      </>
    )
  }
  if (totals === null) {
    return (
      <>
        <output>{UNKNOWN}</output>
        <span className="muted">Not known just now</span>
      </>
    )
  }
  const { saved, share, trades } = sumOf([totals])
  return (
    <>
      <output>{percent(share)}</output>
      <span className="muted">
        <Amount micro={saved} /> saved, over {compact(trades)} charged calls
      </span>
    </>
  )
}

function Market({ data, curl }: { readonly data: PublicHomeQuery; readonly curl: string }) {
  const day = data.marketSeries === null ? undefined : sumOf(data.marketSeries)
  const calls = data.marketSeries?.reduce((sum, point) => sum + point.calls, 0)
  return (
    <>
      <Stats
        figures={[
          { label: 'Calls in 24 hours', value: compact(calls) },
          { label: 'Paid in 24 hours', value: <Amount micro={day?.paid} /> },
          {
            label: 'Saved in 24 hours',
            value: <Amount micro={day?.saved} />,
            hint: day?.share == null ? undefined : `${percent(day.share)} of list prices`,
          },
          { label: `Paid in ${DAYS} days`, value: <Amount micro={data.marketTotals?.volumeMicro} /> },
        ]}
      />
      <div className="grid two">
        <Traffic data={data} />
        <Trades trades={data.trades ?? []} curl={curl} />
      </div>
      <MostPaid data={data} curl={curl} />
    </>
  )
}

type Point = { readonly trades: number; readonly volumeMicro: string; readonly listMicro: string }

function sumOf(points: readonly Point[]) {
  const paidMicro = points.reduce((sum, { volumeMicro }) => sum + toMicro(volumeMicro), 0n)
  const list = points.reduce((sum, { listMicro }) => sum + toMicro(listMicro), 0n)
  const trades = points.reduce((sum, point) => sum + point.trades, 0)
  const savedMicro = list > paidMicro ? list - paidMicro : 0n
  return {
    paid: paidMicro,
    saved: savedMicro,
    trades,
    share: list === 0n ? null : Number((savedMicro * 10_000n) / list) / 100,
  }
}

function Traffic({ data }: { readonly data: PublicHomeQuery }) {
  const { zone } = useSettings()
  const hours = everyBucket(data.marketSeries ?? [], 'hour', lastSpan(DAY_MS))
  return (
    <Card title="Calls by hour" about="The running hour and the 23 before">
      {data.marketSeries === null ? (
        <NotSummed />
      ) : hours.length === 0 ? (
        <Empty title="A quiet day">
          <p>No calls in the last 24 hours. The command above makes the first call.</p>
        </Empty>
      ) : (
        <TimeChart
          label="Calls by hour"
          kind="bars"
          height={270}
          times={hours.map(([at]) => at)}
          series={[{ name: 'Calls', values: hours.map(([, row]) => row?.calls ?? 0) }]}
          format={compact}
          formatTime={(at) => `${day(at, zone)} ${hour(at, zone)}`}
          zone={zone === 'utc' ? 'UTC' : 'local time'}
        />
      )}
    </Card>
  )
}

function Trades({ trades, curl }: { readonly trades: readonly ShownTrade[]; readonly curl: string }) {
  return (
    <Card title="Latest calls" isFlush actions={<Link to="/feed">Live feed</Link>}>
      <TradeTable label="Latest calls" trades={trades} curl={curl} />
    </Card>
  )
}

type Row = NonNullable<PublicHomeQuery['markets']>['edges'][number]['node']

const MODEL_COLUMNS: readonly Column<Row>[] = [
  {
    label: 'Model',
    cell: ({ id, name, lab }) => <ModelName id={id} name={name} lab={lab} />,
    text: ({ id }) => id,
  },
  { ...PRICE, phone: 'fact' },
  DISCOUNT,
  CALLS_24H,
  {
    label: 'Paid 24 h',
    phone: 'lead',
    isNumber: true,
    cell: ({ volume24hMicro }) => <Money micro={volume24hMicro} />,
    text: ({ volume24hMicro }) => volume24hMicro,
    unit: 'microUsd',
  },
]

function MostPaid({ data, curl }: { readonly data: PublicHomeQuery; readonly curl: string }) {
  return (
    <Card title="Top models by spend" isFlush actions={<Link to="/models">All models</Link>}>
      <Table
        label="Top models by spend"
        columns={MODEL_COLUMNS}
        rows={(data.markets?.edges ?? []).map(({ node }) => node)}
        isRanked
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No models yet">
            <p>An operator imports the catalogue.</p>
          </Empty>
        }
      />
    </Card>
  )
}
