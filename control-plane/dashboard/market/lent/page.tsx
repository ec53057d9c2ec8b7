import { Link } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicResourcesQuery } from '#control-plane/dashboard/data/documents/public-resources.ts'
import { PublicResourcesDocument } from '#control-plane/dashboard/data/documents/public-resources.ts'
import { compact, percent } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

const REFRESH_MS = 60_000

export function LentPage() {
  const query = useScreen(PublicResourcesDocument, {}, { everyMs: REFRESH_MS })
  return (
    <Page
      title="Lent accounts"
      about="Call a provider's own API on an account that a seller lends, below list price. The lowest-priced account that can serve your call takes it."
    >
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

type Row = NonNullable<PublicResourcesQuery['resourceMarkets']>[number]

const COLUMNS: readonly Column<Row>[] = [
  {
    label: 'Provider',
    cell: ({ id, name, kind }) => (
      <>
        <Link to="/lent/$resource" params={{ resource: id }}>
          {name}
        </Link>
        <span className="sub">{kind === 'family' ? 'pay by wallet' : 'pay from credit or by wallet'}</span>
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
    label: 'Best below list',
    isNumber: true,
    cell: ({ bestDiscountPct }) => percent(bestDiscountPct),
    text: ({ bestDiscountPct }) => bestDiscountPct,
    unit: 'percent',
  },
  {
    label: 'Median below list',
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
