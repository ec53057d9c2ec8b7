import { useNavigate, useSearch } from '@tanstack/react-router'
import { Meter } from '#control-plane/dashboard/charts/meter.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicFeedQuery } from '#control-plane/dashboard/data/documents/public-feed.ts'
import { PublicFeedDocument } from '#control-plane/dashboard/data/documents/public-feed.ts'
import { compact, evenPercent, toMicro } from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { daysAgo, useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { PUBLIC_HEADS } from '#control-plane/dashboard/market/public-heads.ts'
import type { ShownTrade } from '#control-plane/dashboard/market/trade-table.tsx'
import { TradeTable } from '#control-plane/dashboard/market/trade-table.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, NotSummed } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

const SHOWN = 25
const DAYS = ['1', '7', '30'] as const
const REFRESH_MS = 60_000

export function FeedPage() {
  const { days = '7' } = useSearch({ from: '/feed' })
  const navigate = useNavigate({ from: '/feed' })
  const variables = { from: daysAgo(Number(days) - 1) }
  const query = useScreen(PublicFeedDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(PublicFeedDocument, variables)
  return (
    <Page {...PUBLIC_HEADS['/feed']}>
      <Loaded query={query}>
        {(data) => (
          <>
            <Trades before={data.trades ?? []} curl={curl} />
            <Rankings
              data={data}
              curl={curl}
              days={days}
              onDays={(next) => void navigate({ search: { days: next }, replace: true })}
            />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Trades({ before, curl }: { readonly before: readonly ShownTrade[]; readonly curl: string }) {
  const { updates, state, setPaused } = useLive({ kind: 'trades', limit: SHOWN })
  const now = useNow(1_000)
  const trades = (updates?.trades ?? before).slice(0, SHOWN)
  return (
    <Card title="Live feed" isFlush actions={<LiveMark state={state} onPause={setPaused} />}>
      <TradeTable label="Live feed" trades={trades} curl={curl} now={now} />
    </Card>
  )
}

type Sums = { readonly model: string; readonly trades: number; readonly paid: bigint; readonly list: bigint }

/** The sums of a model, and its share of what buyers paid in all, from 0 to 1. */
type Rank = Sums & { readonly share: number }

function ranksOf(points: NonNullable<PublicFeedQuery['marketSeries']>): readonly Rank[] {
  const ranks = new Map<string, Sums>()
  for (const { model, trades, volumeMicro, listMicro } of points) {
    if (model === null) continue
    const known = ranks.get(model) ?? { model, trades: 0, paid: 0n, list: 0n }
    ranks.set(model, {
      model,
      trades: known.trades + trades,
      paid: known.paid + toMicro(volumeMicro),
      list: known.list + toMicro(listMicro),
    })
  }
  const all = [...ranks.values()].reduce((sum, { paid }) => sum + paid, 0n)
  return [...ranks.values()]
    .sort((a, b) => (a.paid === b.paid ? 0 : a.paid < b.paid ? 1 : -1))
    .map((sums) => ({ ...sums, share: all === 0n ? 0 : Number((sums.paid * 10_000n) / all) / 10_000 }))
}

const savedPct = ({ paid, list }: Rank) => (list === 0n ? null : Number(((list - paid) * 1_000n) / list) / 10)

const RANK_COLUMNS: readonly Column<Rank>[] = [
  { label: 'Model', cell: ({ model }) => <ModelLink model={model} />, text: ({ model }) => model },
  { label: 'Charged calls', isNumber: true, cell: ({ trades }) => compact(trades), text: ({ trades }) => trades },
  {
    label: 'Paid',
    isNumber: true,
    cell: ({ paid }) => <Money micro={paid} />,
    text: ({ paid }) => paid.toString(),
    unit: 'microUsd',
  },
  {
    label: 'Share of spend',
    cell: ({ share }) => (
      <>
        {evenPercent(share * 100)}
        <Meter share={share} label={`${evenPercent(share * 100)} of spend`} />
      </>
    ),
    text: ({ share }) => Math.round(share * 10_000) / 100,
    unit: 'percent',
    phone: 'fact',
  },
  {
    label: 'Saved',
    isNumber: true,
    cell: ({ list, paid }) => <Money micro={list > paid ? list - paid : 0n} />,
    text: ({ list, paid }) => (list > paid ? list - paid : 0n).toString(),
    unit: 'microUsd',
    phone: 'fact',
  },
  {
    label: 'Share saved',
    isNumber: true,
    cell: (rank) => evenPercent(savedPct(rank)),
    text: savedPct,
    unit: 'percent',
    phone: 'none',
  },
]

type RankingsProps = {
  readonly data: PublicFeedQuery
  readonly days: (typeof DAYS)[number]
  readonly onDays: (days: (typeof DAYS)[number]) => void
  readonly curl: string
}

function Rankings({ data, days, onDays, curl }: RankingsProps) {
  const choices = DAYS.map((value) => ({ value, label: value === '1' ? 'Today' : `${value} days` }))
  return (
    <Card
      title="Top models by spend"
      about="UTC days, today included"
      isFlush
      actions={<Segments label="Days" value={days} choices={choices} onChoose={onDays} />}
    >
      <Table
        label="Rankings"
        most={25}
        columns={RANK_COLUMNS}
        rows={ranksOf(data.marketSeries ?? [])}
        keyOf={({ model }) => model}
        curl={curl}
        empty={
          data.marketSeries === null ? (
            <NotSummed />
          ) : (
            <Empty title="Nothing to rank in these days yet">
              <p>Days are summed up a few minutes after their calls.</p>
            </Empty>
          )
        }
      />
    </Card>
  )
}
