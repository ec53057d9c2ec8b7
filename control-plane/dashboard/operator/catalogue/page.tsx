import { useNavigate, useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorCatalogueQuery } from '#control-plane/dashboard/data/documents/operator-catalogue.ts'
import { OperatorCatalogueDocument } from '#control-plane/dashboard/data/documents/operator-catalogue.ts'
import { PagePaletteDocument } from '#control-plane/dashboard/data/documents/viewer.ts'
import { words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Search } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Badge, Tags, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Pager, Table } from '#control-plane/dashboard/ui/table.tsx'
import { PutPrices } from './put-prices.tsx'

export function CataloguePage() {
  return (
    <Gate side="operator" title="Catalogue">
      <Catalogue />
    </Gate>
  )
}

function Catalogue() {
  const search = useSearch({ from: '/operator/catalogue' })
  const navigate = useNavigate({ from: '/operator/catalogue' })
  const found = useScreen(PagePaletteDocument, { search: search.model })
  const first = found.data?.markets?.edges[0]?.node.id
  return (
    <Page title="Catalogue" about="Providers, names and reference prices, with where each came from and what changed.">
      <search className="filters">
        <Search
          label="Model"
          value={search.model ?? ''}
          placeholder={first}
          onSearch={(text) => void navigate({ search: { model: text === '' ? undefined : text }, replace: true })}
        />
      </search>
      <Loaded query={found}>
        {() =>
          first === undefined ? (
            <Empty title="No model is called that">
              <p>Models come into the catalogue by an import, at the command line.</p>
              <Code label="Import a catalogue" text="npx market operator catalog import --help" />
            </Empty>
          ) : (
            <OfModel
              model={first}
              after={search.after}
              onPage={(after) => void navigate({ search: { ...search, after } })}
            />
          )
        }
      </Loaded>
    </Page>
  )
}

type OfModelProps = {
  readonly model: string
  readonly after: string | undefined
  readonly onPage: (after: string | undefined) => void
}

function OfModel({ model, after, onPage }: OfModelProps) {
  const variables = { model, after }
  const pricing = useDialog()
  const query = useScreen(OperatorCatalogueDocument, variables)
  const curl = curlOf(OperatorCatalogueDocument, variables, true)
  return (
    <Loaded query={query}>
      {(data) => (
        <>
          <Card
            title={`Reference prices of ${model}`}
            isFlush
            actions={<Button onClick={pricing.open}>New prices</Button>}
          >
            <Table
              label="Reference prices"
              columns={PRICE_COLUMNS}
              rows={data.referencePrices ?? []}
              keyOf={({ version }) => version}
              curl={curl}
              empty={<Empty title="No price">{null}</Empty>}
            />
          </Card>
          {pricing.isOpen ? (
            <PutPrices
              model={model}
              current={(data.referencePrices ?? []).find(({ state }) => state === 'current')}
              onClose={pricing.close}
            />
          ) : null}
          <Card title={`Names of ${model}`}>
            <Tags names={(data.aliases ?? []).map(({ alias }) => alias)} />
          </Card>
          <Card title="What changed" isFlush>
            <Table
              label="Changes of the catalogue"
              columns={CHANGE_COLUMNS}
              rows={(data.catalogHistory?.edges ?? []).map(({ node }) => node)}
              keyOf={({ id }) => id}
              curl={curl}
              empty={
                <Empty title="Nothing has changed">
                  <p>Imports write down each field that they change, with its source.</p>
                </Empty>
              }
              foot={
                <Pager
                  after={after}
                  next={data.catalogHistory?.pageInfo.endCursor}
                  hasNext={data.catalogHistory?.pageInfo.hasNextPage}
                  onPage={onPage}
                />
              }
            />
          </Card>
          <Card title="Providers" isFlush>
            <Table
              label="Providers"
              columns={PROVIDER_COLUMNS}
              rows={data.providers ?? []}
              keyOf={({ id }) => id}
              curl={curl}
              empty={<Empty title="No providers">{null}</Empty>}
            />
          </Card>
        </>
      )}
    </Loaded>
  )
}

type Price = NonNullable<OperatorCatalogueQuery['referencePrices']>[number]
const PICO_PER_MICRO_PER_MILLION = 1_000_000

/** Pico-USD a unit are micro-USD a million units. */
const perMillion = (pico: string) =>
  `$${(Number(pico) / PICO_PER_MICRO_PER_MILLION).toLocaleString('en-US', { maximumFractionDigits: 6 })}`

const PRICE_COLUMNS: readonly Column<Price>[] = [
  {
    label: 'Counts since',
    cell: ({ effectiveAt }) => <Time at={effectiveAt} />,
    text: ({ effectiveAt }) => effectiveAt,
  },
  {
    label: 'State',
    cell: ({ state }) => <Badge tone={state === 'current' ? 'good' : 'plain'}>{words(state)}</Badge>,
    text: ({ state }) => state,
  },
  {
    label: 'For a million units',
    cell: ({ unitPrices }) => unitPrices.map(({ unit, pico }) => `${words(unit)} ${perMillion(pico)}`).join(' · '),
    text: ({ unitPrices }) => unitPrices.map(({ unit, pico }) => `${unit} ${pico}`).join(' '),
  },
  { label: 'Source', cell: ({ source }) => source, text: ({ source }) => source },
]

const SHOWN_CHARS = 100

/** The beginning of a text; all of it on hover and in the file. */
function Cut({ text }: { readonly text: string }) {
  return <code title={text}>{text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text}</code>
}

type Change = NonNullable<OperatorCatalogueQuery['catalogHistory']>['edges'][number]['node']

const CHANGE_COLUMNS: readonly Column<Change>[] = [
  { label: 'When', cell: ({ at }) => <Time at={at} />, text: ({ at }) => at },
  { label: 'Field', cell: ({ field }) => <code className="nowrap">{field}</code>, text: ({ field }) => field },
  { label: 'Before', cell: ({ before }) => <Cut text={before} />, text: ({ before }) => before },
  { label: 'After', cell: ({ after }) => <Cut text={after} />, text: ({ after }) => after },
  { label: 'Source', cell: ({ source }) => source, text: ({ source }) => source },
]

type Provider = NonNullable<OperatorCatalogueQuery['providers']>[number]

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  { label: 'Provider', cell: ({ id, name }) => `${name} (${id})`, text: ({ id }) => id },
  { label: 'Base URL', cell: ({ baseUrl }) => <code>{baseUrl}</code>, text: ({ baseUrl }) => baseUrl },
  {
    label: 'Trust',
    cell: ({ trusted }) => <Badge tone={trusted ? 'good' : 'warn'}>{trusted ? 'trusted' : 'not trusted'}</Badge>,
    text: ({ trusted }) => (trusted ? 'trusted' : 'not trusted'),
  },
  {
    label: 'Offers',
    isNumber: true,
    cell: ({ activeOffers }) => activeOffers,
    text: ({ activeOffers }) => activeOffers,
  },
]
