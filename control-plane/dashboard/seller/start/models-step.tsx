import { useState } from 'react'
import type { SellerOnboardingQuery } from '#control-plane/dashboard/data/documents/seller-onboarding.ts'
import { compact, percent } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import type { Chosen, Discovered } from './steps.ts'

type Market = NonNullable<SellerOnboardingQuery['markets']>['edges'][number]['node']
type Props = {
  readonly found: readonly Discovered[]
  readonly markets: readonly Market[]
  readonly curl: string
  /** The earlier choice of a seller who comes back from a later step. */
  readonly before: readonly Chosen[]
  readonly onChosen: (chosen: readonly Chosen[]) => void
}

const NOTHING_KNOWN = (
  <Empty title="No models to sell">
    <p>An operator adds models to the catalogue.</p>
  </Empty>
)

/** An offer with the best discount of the book shares its calls. One percent more gets them all. */
const STEP_PCT = 1
const MOST_PCT = 95
const FIRST_PCT = 10
/** Rows that are shown at first. A longer list has a search field. */
const SHOWN = 20

function suggestionOf(market: Market | undefined): number {
  const best = market?.bestDiscountPct ?? null
  return best === null ? FIRST_PCT : Math.min(MOST_PCT, Math.floor(best) + STEP_PCT)
}

export function ModelsStep({ found, markets, curl, before, onChosen }: Props) {
  const [prices, setChosen] = useState<Prices>(() => new Map(before.map(({ model, discount }) => [model, discount])))
  const [search, setSearch] = useState('')
  const supportedModels = found.filter(({ supported }) => supported)
  const shownModels = supportedModels.filter(({ model }) => model.toLowerCase().includes(search.trim().toLowerCase()))
  return (
    <div className="form">
      <p className="muted">
        The provider serves {found.length} models, of which the market sells {supportedModels.length}. The suggestion is
        one percent more than the best offer now: such an offer is asked first.
      </p>
      {supportedModels.length > SHOWN ? (
        <Input
          label="Find a model"
          type="search"
          data-search="true"
          value={search}
          onChange={({ currentTarget: { value } }) => setSearch(value)}
        />
      ) : null}
      <Table
        label="Models of the provider"
        columns={columnsOf(prices, setChosen, markets)}
        rows={shownModels}
        most={SHOWN}
        keyOf={({ model }) => model}
        curl={curl}
        empty={supportedModels.length === 0 ? NOTHING_KNOWN : <Empty title="No model matches">{null}</Empty>}
      />
      <div>
        <Button
          kind="primary"
          disabled={prices.size === 0}
          onClick={({ currentTarget }) => {
            // The browser says what is wrong with the first wrong price.
            const wrong = currentTarget.closest('.form')?.querySelector<HTMLInputElement>('input:invalid')
            if (wrong == null) onChosen([...prices].map(([model, discount]) => ({ model, discount })))
            else wrong.reportValidity()
          }}
        >
          {`Go on with ${prices.size} ${prices.size === 1 ? 'model' : 'models'}`}
        </Button>
      </div>
    </div>
  )
}

/** The discount of each chosen model, in percent. */
type Prices = ReadonlyMap<string, number>

function columnsOf(
  prices: Prices,
  onChange: (next: Prices) => void,
  markets: readonly Market[],
): readonly Column<Discovered>[] {
  const marketOf = (model: string) => markets.find(({ id }) => id === model)
  const toggle = (model: string) => {
    const next = new Map(prices)
    if (!next.delete(model)) next.set(model, suggestionOf(marketOf(model)))
    onChange(next)
  }
  return [
    {
      label: 'Model',
      cell: ({ model }) => (
        <label className="check">
          <input type="checkbox" checked={prices.has(model)} onChange={() => toggle(model)} />
          <span>{model}</span>
        </label>
      ),
      text: ({ model }) => model,
    },
    {
      label: 'Best offer now',
      phone: 'lead',
      isNumber: true,
      cell: ({ model }) => percent(marketOf(model)?.bestDiscountPct),
      text: ({ model }) => marketOf(model)?.bestDiscountPct,
      unit: 'percent',
    },
    {
      label: 'Sellers',
      isNumber: true,
      cell: ({ model }) => marketOf(model)?.healthySellerCount ?? 0,
      text: ({ model }) => marketOf(model)?.healthySellerCount,
    },
    {
      label: 'Calls 24 h',
      isNumber: true,
      cell: ({ model }) => compact(marketOf(model)?.requests24h),
      text: ({ model }) => marketOf(model)?.requests24h ?? undefined,
    },
    {
      label: 'Your discount, percent',
      isNumber: true,
      cell: ({ model }) =>
        prices.has(model) ? (
          <input
            className="input"
            style={{ width: '6rem' }}
            type="number"
            min={0}
            max={MOST_PCT}
            step="any"
            aria-label={`Discount of ${model}, percent`}
            value={prices.get(model)}
            onChange={({ currentTarget }) => onChange(new Map(prices).set(model, currentTarget.valueAsNumber || 0))}
          />
        ) : (
          <span className="muted">{`suggested ${suggestionOf(marketOf(model))}`}</span>
        ),
      text: ({ model }) => prices.get(model),
    },
  ]
}
