import { money } from '#control-plane/dashboard/data/format.ts'
import { unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Select } from '#control-plane/dashboard/ui/fields.tsx'
import type { ShownColumn } from './columns.ts'
import type { PriceQuote } from './use-quotes.ts'

type Props = {
  readonly column: ShownColumn
  readonly place: number
  readonly quote: PriceQuote | undefined
  readonly onModel: () => void
  readonly onProvider: (provider: string | undefined) => void
  /** Undefined for the only column. */
  readonly onRemove: (() => void) | undefined
}

/** A model of the playground: its name, its seller, and the highest cost of the next answer. */
export function ColumnHead({ column, place, quote, onModel, onProvider, onRemove }: Props) {
  const { market, model, provider } = column
  const name = market?.name ?? model
  const sellers = (market?.providers ?? []).filter(
    ({ trusted, healthySellerCount }) => trusted && healthySellerCount > 0,
  )
  const known = sellers.map(({ provider: slug }) => slug)
  const choices = provider === undefined || known.includes(provider) ? known : [provider, ...known]
  return (
    <section className="card play-head" aria-label={`Model ${place + 1}: ${name}`}>
      <div className="play-head-row">
        <p className="play-model">
          <strong>{name}</strong>
          <span className="muted small mono">{model}</span>
        </p>
        <span className="actions">
          <Button aria-label={`Change ${name}`} onClick={onModel}>
            Change
          </Button>
          {onRemove === undefined ? null : (
            <Button kind="quiet" aria-label={`Remove ${name}`} onClick={onRemove}>
              Remove
            </Button>
          )}
        </span>
      </div>
      <Select
        label="Seller"
        value={provider ?? ''}
        onChange={({ currentTarget: { value } }) => onProvider(value === '' ? undefined : value)}
        choices={[{ value: '', label: 'Best price' }, ...choices.map((slug) => ({ value: slug, label: slug }))]}
      />
      <p className="muted small" role="status">
        {priceLine(column, quote)}
      </p>
    </section>
  )
}

function priceLine({ market, making }: ShownColumn, quote: PriceQuote | undefined): string {
  if (quote?.refusal !== undefined) return quote.refusal
  const first = quote?.offers[0]
  if (first !== undefined) {
    const count = quote?.offers.length ?? 1
    const offers = count === 1 ? 'the only offer' : `the first of ${count} offers`
    return `At most ${money(first.estimateMicro)} at ${first.provider}, ${offers}`
  }
  if (market === undefined) return 'Not listed on the market'
  const price = unitPriceText(market.best, market.mediaUnit)
  return making === 'chat' ? `From ${price} tokens, in and out` : `From ${price}`
}
