import { useMemo } from 'react'
import { DepthChart } from '#control-plane/dashboard/charts/depth-chart.tsx'
import type { PublicModelQuery } from '#control-plane/dashboard/data/documents/public-model.ts'
import { compact, money, percent } from '#control-plane/dashboard/data/format.ts'
import { useLive } from '#control-plane/dashboard/data/live.tsx'
import { priceFile, priceText } from '#control-plane/dashboard/market/price-text.ts'
import { KeptInput } from '#control-plane/dashboard/ui/kept-input.tsx'
import { LiveMark } from '#control-plane/dashboard/ui/live-mark.tsx'
import { Badge, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

type Offer = NonNullable<PublicModelQuery['orderBook']>['edges'][number]['node']
type Market = NonNullable<PublicModelQuery['market']>
type Workload = { readonly input?: number | undefined; readonly output?: number | undefined }

type Props = {
  readonly market: Market
  readonly before: readonly Offer[]
  readonly curl: string
  readonly workload: Workload
  readonly onWorkload: (workload: Workload) => void
}

/** Offers that are drawn at first: the best ones, to which calls go. */
const OFFERS_SHOWN = 25

/** The offers of a model, best first. */
export function OrderBook({ market, before, curl, workload, onWorkload }: Props) {
  const { updates, state, setPaused } = useLive({ kind: 'book', model: market.id })
  const live = updates?.books?.find(({ model }) => model === market.id)
  const offers: readonly Offer[] = live?.offers ?? before
  const steps = useMemo(() => stepsOf(offers), [offers])
  return (
    <Card
      title="Order book"
      about="A call goes to the first offer that can take it"
      isFlush
      actions={<LiveMark state={state} onPause={setPaused} />}
    >
      <div className="card-body grid two">
        <div>
          <h3>Offers at a discount or better</h3>
          {steps.length === 0 ? <p className="muted">Nothing is on sale now.</p> : <DepthChart steps={steps} />}
        </div>
        <WorkloadPrice market={market} offers={offers} workload={workload} onWorkload={onWorkload} />
      </div>
      <Table
        label="Order book"
        columns={columnsOf(market)}
        rows={offers}
        keyOf={({ id }) => id}
        curl={curl}
        most={OFFERS_SHOWN}
        empty={
          <Empty title="No offers">
            <p>Have a key of one of its providers? Be the first to sell it.</p>
          </Empty>
        }
      />
    </Card>
  )
}

/** The book by whole percent, so that equal prices are one step. */
function stepsOf(offers: readonly Offer[]) {
  const open = offers.filter(({ available }) => available)
  const levels = [...new Set(open.map(({ discountPct }) => Math.floor(discountPct)))].sort((a, b) => b - a)
  return levels.map((discountPct) => {
    const better = open.filter((offer) => Math.floor(offer.discountPct) >= discountPct)
    const isOpenEnded = better.some(({ capRemainingMicro }) => capRemainingMicro === null)
    const leftMicro = better.reduce((sum, { capRemainingMicro }) => sum + (capRemainingMicro ?? 0), 0)
    return { discountPct, offers: better.length, leftMicro: isOpenEnded ? null : leftMicro }
  })
}

function columnsOf({ mediaUnit }: Market): readonly Column<Offer>[] {
  return [
    { label: 'Rank', cell: ({ rank }) => `#${rank}`, text: ({ rank }) => rank },
    { label: 'Seller', phone: 'bare', cell: ({ seller }) => <code>{seller}</code>, text: ({ seller }) => seller },
    {
      label: 'Provider',
      cell: ({ provider, trusted }) => (
        <>
          {provider} {trusted ? null : <Badge tone="warn">not trusted</Badge>}
        </>
      ),
      text: ({ provider }) => provider,
    },
    {
      label: 'Discount',
      isNumber: true,
      cell: ({ discountPct }) => percent(discountPct),
      text: ({ discountPct }) => discountPct,
      unit: 'percent',
    },
    {
      label: mediaUnit === null ? 'In · out per 1M' : 'Price',
      phone: 'lead',
      isNumber: true,
      cell: ({ effective }) => priceText(effective, mediaUnit),
      text: ({ effective }) => effective.inputPer1m ?? effective.mediaUnitPrice,
      file: priceFile(
        ({ effective }) => effective,
        () => mediaUnit,
      ),
    },
    {
      label: 'Left today (UTC)',
      isNumber: true,
      cell: ({ capRemainingMicro }) => (capRemainingMicro === null ? 'no cap' : <Money micro={capRemainingMicro} />),
      text: ({ capRemainingMicro }) => capRemainingMicro,
      unit: 'microUsd',
    },
    {
      label: 'Charged calls 24 h',
      isNumber: true,
      cell: ({ trades24h }) => compact(trades24h),
      text: ({ trades24h }) => trades24h,
    },
    {
      label: 'State',
      cell: ({ available }) => (available ? 'on sale' : <Badge tone="warn">waiting</Badge>),
      text: ({ available }) => (available ? 'on sale' : 'waiting'),
    },
  ]
}

const PER_MILLION = 1_000_000
const STANDARD = { input: 10_000, output: 1_000 }

type PriceProps = Omit<Props, 'before' | 'curl'> & { readonly offers: readonly Offer[] }

/** The cost of a typed workload at the best offer, beside the reference price. */
function WorkloadPrice({ market, offers, workload, onWorkload }: PriceProps) {
  const { input = STANDARD.input, output = STANDARD.output } = workload
  const best = offers.find(({ available }) => available)
  if (market.mediaUnit !== null) return null
  const costOf = (prices: { readonly inputPer1m: number | null; readonly outputPer1m: number | null }) =>
    prices.inputPer1m === null || prices.outputPer1m === null
      ? null
      : Math.ceil((prices.inputPer1m * input + prices.outputPer1m * output) / PER_MILLION)
  const now = best === undefined ? null : costOf(best.effective)
  const list = costOf(market.direct)
  return (
    <div className="form">
      <h3>Price of your workload</h3>
      <div className="form-row" style={{ gridTemplateColumns: '1fr 1fr' }}>
        <KeptInput
          label="Tokens in"
          type="number"
          min={0}
          step={1000}
          value={String(input)}
          onKeep={(text) => (text === '' ? undefined : onWorkload({ input: Number(text), output }))}
        />
        <KeptInput
          label="Tokens out"
          type="number"
          min={0}
          step={100}
          value={String(output)}
          onKeep={(text) => (text === '' ? undefined : onWorkload({ input, output: Number(text) }))}
        />
      </div>
      <output className="actions" aria-live="polite">
        <strong style={{ fontSize: 'var(--text-xl)' }}>
          <Money micro={now} />
        </strong>
        {list === null || now === null ? null : (
          <span className="muted">
            instead of {money(list)}: {percent(list === 0 ? 0 : ((list - now) / list) * 100)} less
          </span>
        )}
      </output>
    </div>
  )
}
