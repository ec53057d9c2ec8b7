import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { DAY_MS, everyBucket, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { chatCurlOf, curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicHomeQuery } from '#control-plane/dashboard/data/documents/public-home.ts'
import { PublicHomeDocument } from '#control-plane/dashboard/data/documents/public-home.ts'
import { compact, day, exactMoney, hour, percent, toMicro, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { BELOW_LIST, CALLS_24H } from '#control-plane/dashboard/market/market-columns.tsx'
import { ModelName } from '#control-plane/dashboard/market/model-name.tsx'
import { PRICE } from '#control-plane/dashboard/market/prices.tsx'
import type { ShownTrade } from '#control-plane/dashboard/market/trade-table.tsx'
import { TradeTable } from '#control-plane/dashboard/market/trade-table.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Stats, useTitle } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, NotSummed, Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import type { HomeHead } from './head.ts'
import { HOME_HEAD_KEY } from './head.ts'

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
        <Hero totals={query.isPending ? undefined : (query.data?.marketTotals ?? null)} />
        {url !== undefined ? (
          <Code label="A call to paste" text={chatCurlOf(url, { model: 'gpt-5-mini', prompt: 'Say hello.' })} />
        ) : query.isPending ? (
          <Skeleton height="7rem" />
        ) : null}
        <Loaded query={query} waiting={<Waiting />}>
          {(data) => <Market data={data} curl={curlOf(PublicHomeDocument, {})} />}
        </Loaded>
      </div>
    </div>
  )
}

function Waiting() {
  return (
    <div className="grid">
      <Skeleton height="6rem" />
      <Skeleton height="24rem" />
    </div>
  )
}

/** Null totals are not known, undefined ones are on their way. */
type HeroProps = { readonly totals: PublicHomeQuery['marketTotals'] | undefined }

/** The introduction to the market, which needs no figures, and the savings, once they are known. */
function Hero({ totals }: HeroProps) {
  return (
    <section className="hero">
      <div>
        <h1>The same models, at the best price on sale.</h1>
        <p>
          Sellers list spare capacity below the reference price. You call one API; each call goes to the cheapest
          healthy seller, and says what it cost.
        </p>
        <div className="actions">
          <Link className="button" data-kind="primary" to="/start">
            Get a key
          </Link>
          <Link className="button" to="/seller/start">
            Sell capacity
          </Link>
        </div>
      </div>
      <div className="card saving">
        <span className="muted">Saved by buyers in the last {DAYS} days</span>
        <Saving totals={totals} />
      </div>
    </section>
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
      <Counter micro={saved} />
      <span className="muted">
        {percent(share)} below reference prices, over {compact(trades)} charged calls
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
          { label: 'Paid in 24 hours', value: <Money micro={day?.paid} /> },
          {
            label: 'Saved in 24 hours',
            value: <Money micro={day?.saved} />,
            hint: `${percent(day?.share)} below reference`,
          },
          { label: `Paid in ${DAYS} days`, value: <Money micro={data.marketTotals?.volumeMicro} /> },
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

const COUNT_MS = 900

/** Counts up to an amount when it grows. It jumps for readers who want no motion. */
function Counter({ micro }: { readonly micro: bigint }) {
  const [shown, setShown] = useState(micro)
  // biome-ignore lint/correctness/useExhaustiveDependencies: Only a new amount begins the counting.
  useEffect(() => {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
      setShown(micro)
      return undefined
    }
    const from = shown
    const began = performance.now()
    let frame = requestAnimationFrame(function step(now) {
      const share = Math.min(1, (now - began) / COUNT_MS)
      setShown(from + BigInt(Math.round(Number(micro - from) * (1 - (1 - share) ** 3))))
      if (share < 1) frame = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(frame)
  }, [micro])
  const [whole = '', cents = ''] = exactMoney(shown).split('.')
  return (
    <output title={exactMoney(micro)}>
      {whole}.<span>{cents}</span>
    </output>
  )
}

function Traffic({ data }: { readonly data: PublicHomeQuery }) {
  const { zone } = useSettings()
  const hours = everyBucket(data.marketSeries ?? [], 'hour', lastSpan(DAY_MS))
  return (
    <Card title="Calls by hour" about="The last day">
      {data.marketSeries === null ? (
        <NotSummed />
      ) : hours.length === 0 ? (
        <Empty title="A quiet day">
          <p>Nobody called in the last 24 hours. The command above makes the first call.</p>
        </Empty>
      ) : (
        <TimeChart
          label="Calls by hour"
          kind="bars"
          height={190}
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
  PRICE,
  BELOW_LIST,
  CALLS_24H,
  {
    label: 'Paid 24 h',
    isNumber: true,
    cell: ({ volume24hMicro }) => <Money micro={volume24hMicro} />,
    text: ({ volume24hMicro }) => volume24hMicro,
    unit: 'microUsd',
  },
]

function MostPaid({ data, curl }: { readonly data: PublicHomeQuery; readonly curl: string }) {
  return (
    <Card title="Most paid for" isFlush actions={<Link to="/models">All models</Link>}>
      <Table
        label="Most paid for"
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
