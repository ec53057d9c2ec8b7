import { Link } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicResourcesQuery } from '#control-plane/dashboard/data/documents/public-resources.ts'
import { PublicResourcesDocument } from '#control-plane/dashboard/data/documents/public-resources.ts'
import { compact, percent } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { PUBLIC_HEADS } from '#control-plane/dashboard/market/public-heads.ts'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { LentPicture } from './lent-picture.tsx'

const REFRESH_MS = 60_000

export function LentPage() {
  const query = useScreen(PublicResourcesDocument, {}, { everyMs: REFRESH_MS })
  return (
    <Page {...PUBLIC_HEADS['/lent']}>
      <Intro />
      <Loaded query={query}>
        {({ resourceMarkets }) => (
          <Card title="Providers" isFlush>
            <Table
              label="Providers with lent accounts"
              columns={COLUMNS}
              rows={resourceMarkets ?? []}
              keyOf={({ id }) => id}
              curl={curlOf(PublicResourcesDocument, {})}
              empty={
                <Empty title="No providers yet">
                  <p>Providers appear here once an operator adds them and sellers lend accounts.</p>
                </Empty>
              }
            />
          </Card>
        )}
      </Loaded>
    </Page>
  )
}

/** The purpose of lent accounts in three sentences and a picture. */
function Intro() {
  return (
    <section className="intro" aria-label="How it works">
      <div>
        <ul>
          <li>
            <strong>The whole API.</strong> You call the provider’s own paths with the provider’s own client. Only the
            base URL changes.
          </li>
          <li>
            <strong>The lowest price.</strong> Each call takes the account with the largest discount that can serve it.
          </li>
          <li>
            <strong>No key to share.</strong> The market holds the seller’s key. You see answers, never the key.
          </li>
        </ul>
        <div className="actions">
          <a className="button" data-kind="primary" href="/docs/api-selling#calls-on-lent-keys-and-forwarded-families">
            Call an account
          </a>
          <a className="button" href="/docs/sell#lend-a-whole-key">
            Lend an account
          </a>
        </div>
      </div>
      <LentPicture />
    </section>
  )
}

type Row = NonNullable<PublicResourcesQuery['resourceMarkets']>[number]

const COLUMNS: readonly Column<Row>[] = [
  {
    label: 'Provider',
    cell: ({ id, name, kind }) => (
      <>
        <Link to="/lent/$resource" params={{ resource: id }}>
          {name}
        </Link>
        <span className="sub nowrap">{kind === 'family' ? 'pay by wallet' : 'pay from credit or by wallet'}</span>
      </>
    ),
    text: ({ name }) => name,
  },
  { label: 'Sold', cell: ({ unit }) => unit, text: ({ unit }) => unit },
  {
    label: 'On sale',
    isNumber: true,
    cell: ({ liveOffers, offers }) => (liveOffers === offers ? offers : `${liveOffers} of ${offers}`),
    text: ({ liveOffers }) => liveOffers,
  },
  {
    label: 'Best discount',
    phone: 'lead',
    isNumber: true,
    cell: ({ bestDiscountPct }) => percent(bestDiscountPct),
    text: ({ bestDiscountPct }) => bestDiscountPct,
    unit: 'percent',
  },
  {
    label: 'Median discount',
    isNumber: true,
    cell: ({ medianDiscountPct }) => percent(medianDiscountPct),
    text: ({ medianDiscountPct }) => medianDiscountPct,
    unit: 'percent',
  },
  { label: 'Calls 24 h', isNumber: true, cell: ({ calls24h }) => compact(calls24h), text: ({ calls24h }) => calls24h },
  {
    label: 'Paid 7 d',
    isNumber: true,
    cell: ({ volume7dMicro }) => <Money micro={volume7dMicro} />,
    text: ({ volume7dMicro }) => volume7dMicro,
    unit: 'microUsd',
  },
  {
    label: 'Saved 7 d',
    isNumber: true,
    cell: ({ saved7dMicro }) => <Money micro={saved7dMicro} />,
    text: ({ saved7dMicro }) => saved7dMicro,
    unit: 'microUsd',
  },
]
