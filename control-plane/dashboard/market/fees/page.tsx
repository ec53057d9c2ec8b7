import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { PublicFeesDocument } from '#control-plane/dashboard/data/documents/public-fees.ts'
import { exactMoney, percent, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { PUBLIC_HEADS } from '#control-plane/dashboard/market/public-heads.ts'
import { KeptInput } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Card, Facts, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Loaded } from '#control-plane/dashboard/ui/states.tsx'
import { feeSplit, microOf } from './fee-split.ts'

const BPS_OF_PERCENT = 100
const [SAMPLE_LIST, SAMPLE_DISCOUNT] = ['1.00', 40]

export function FeesPage() {
  const query = useScreen(PublicFeesDocument, {})
  return (
    <Page {...PUBLIC_HEADS['/fees']}>
      <Loaded query={query}>
        {({ service }) => {
          const feeBps = service?.feeBps
          return (
            <>
              <Stats
                figures={[
                  {
                    label: 'Sellers',
                    value: feeBps === undefined ? UNKNOWN : percent(feeBps / BPS_OF_PERCENT, 2),
                    hint: 'of the price of each sale',
                  },
                  { label: 'Buyers', value: '0%', hint: 'no fee on calls, top-ups or refunds' },
                  { label: 'Failed calls', value: '$0', hint: 'for both sides' },
                ]}
              />
              {feeBps === undefined ? null : <Example feeBps={feeBps} />}
            </>
          )
        }}
      </Loaded>
      <Card title="Who pays for what">
        <Facts
          isOfSentences
          facts={[
            ['A call', 'The buyer pays the list price less the seller’s discount. That is the whole price.'],
            ['The fee', 'The market takes it from that price. The seller gets the rest, rounded down to $0.000001.'],
            ['The provider’s bill', 'The seller pays the provider, because each offer uses the seller’s own key.'],
            ['A call that fails', 'If the buyer got no answer, the buyer pays nothing and the market takes no fee.'],
            [
              'A top-up in USDC',
              'You get the whole amount as credit. A signed deposit needs no ETH: the market pays the gas.',
            ],
            [
              'A payout',
              'You get the whole amount in USDC. The market pays the gas, unless you submit the transaction yourself.',
            ],
            ['A change of the fee', 'Each sale keeps the fee that applied when the call began.'],
          ]}
        />
      </Card>
      <p>
        <Link to="/seller/start">Start selling</Link> · <a href="/docs/sell">Selling, step by step</a> ·{' '}
        <a href="/docs/pay">Ways to pay</a>
      </p>
    </Page>
  )
}

/** A sale worked out to the micro, with the rounding of the market. */
function Example({ feeBps }: { readonly feeBps: number }) {
  const { list = SAMPLE_LIST, discount = SAMPLE_DISCOUNT } = useSearch({ from: '/fees' })
  const navigate = useNavigate({ from: '/fees' })
  const micro = microOf(list)
  const split = micro === undefined ? undefined : feeSplit(micro, Math.trunc(discount), feeBps)
  return (
    <Card title="Calculate a sale" about="The same calculation as in your receipts and earnings">
      <div className="form">
        <div className="form-row">
          <KeptInput
            label="List price of the call, US dollars"
            inputMode="decimal"
            value={list}
            fault={micro === undefined ? 'Enter an amount above 0 with at most 6 decimals.' : undefined}
            onKeep={(text) => void navigate({ search: (now) => ({ ...now, list: text }), replace: true })}
          />
          <KeptInput
            label="Discount, percent"
            type="number"
            min={0}
            max={99}
            step={1}
            value={String(discount)}
            onKeep={(text) => {
              if (text !== '') void navigate({ search: (now) => ({ ...now, discount: Number(text) }), replace: true })
            }}
          />
        </div>
        <Stats
          figures={[
            { label: 'Gross: the buyer pays', value: split === undefined ? UNKNOWN : exactMoney(split.paid) },
            {
              label: `Fee: the market takes ${percent(feeBps / BPS_OF_PERCENT, 2)}`,
              value: split === undefined ? UNKNOWN : exactMoney(split.fee),
            },
            { label: 'Net: the seller gets', value: split === undefined ? UNKNOWN : exactMoney(split.net) },
          ]}
        />
      </div>
    </Card>
  )
}
