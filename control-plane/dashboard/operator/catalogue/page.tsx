import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorCatalogueQuery } from '#control-plane/dashboard/data/documents/operator-catalogue.ts'
import { OperatorCatalogueDocument } from '#control-plane/dashboard/data/documents/operator-catalogue.ts'
import { words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { priceFile, unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Filters } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Badge, Tags } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded, SkeletonRows } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import type { WholeList } from '#control-plane/dashboard/ui/whole-list.ts'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { ImportModels } from './import-models.tsx'
import { UNITS, withPoint } from './price-units.ts'
import type { ShownPriceVersion } from './put-prices.tsx'
import { PutPrices } from './put-prices.tsx'

export function CataloguePage() {
  return (
    <Gate side="operator" title="Catalogue">
      <Catalogue />
    </Gate>
  )
}

function Catalogue() {
  const { search, model, after, import: isImport } = useSearch({ from: '/operator/catalogue' })
  const navigate = useNavigate({ from: '/operator/catalogue' })
  const variables = { search, model: model ?? '', hasModel: model !== undefined, after }
  const query = useScreen(OperatorCatalogueDocument, variables)
  const whole = pagesOf(OperatorCatalogueDocument, variables, (read) => read.catalogHistory)
  const curl = curlOf(OperatorCatalogueDocument, variables, true)
  const find = (text: string) => void navigate({ search: text === '' ? {} : { search: text }, replace: true })
  const turn = (to: string | undefined) => void navigate({ search: { model, after: to } })
  return (
    <Page
      title="Catalogue"
      about="Providers, model names and list prices, with their source and changes."
      actions={
        <>
          {model === undefined && isImport === undefined ? null : (
            <Link className="button" to="/operator/catalogue" search={{}}>
              All models
            </Link>
          )}
          {isImport === 'yes' ? null : (
            <Link className="button" data-kind="primary" to="/operator/catalogue" search={{ import: 'yes' }}>
              Import models
            </Link>
          )}
        </>
      }
    >
      {isImport === 'yes' ? (
        <ImportModels />
      ) : (
        <>
          <Filters>
            <Search label="Find a model" value={search ?? ''} placeholder={model ?? 'gpt-5'} onSearch={find} />
          </Filters>
          <Loaded query={query}>
            {(data) => (
              <>
                {model === undefined ? (
                  <Models data={data} curl={curl} />
                ) : (
                  <OfModel data={data} curl={curl} model={model} after={after} onPage={turn} whole={whole} />
                )}
                {model === undefined ? (
                  <Card title="Providers" about="The most offers first. Default routing uses trusted providers" isFlush>
                    <Table
                      label="Providers"
                      columns={PROVIDER_COLUMNS}
                      rows={(data.providers ?? []).toSorted((left, right) => right.activeOffers - left.activeOffers)}
                      most={12}
                      keyOf={({ id }) => id}
                      curl={curl}
                      empty={<Empty title="No providers">{null}</Empty>}
                    />
                  </Card>
                ) : null}
              </>
            )}
          </Loaded>
        </>
      )}
    </Page>
  )
}

type Model = NonNullable<OperatorCatalogueQuery['markets']>['edges'][number]['node']
type PartProps = { readonly data: OperatorCatalogueQuery; readonly curl: string }

const MODEL_COLUMNS: readonly Column<Model>[] = [
  {
    label: 'Model',
    cell: ({ id, name }) => (
      <>
        <Link to="/operator/catalogue" search={{ model: id }}>
          {name}
        </Link>
        <span className="sub mono">{id}</span>
      </>
    ),
    text: ({ id }) => id,
  },
  { label: 'Lab', cell: ({ lab }) => lab, text: ({ lab }) => lab },
  {
    label: 'List price',
    phone: 'lead',
    isNumber: true,
    cell: ({ direct, mediaUnit }) => <span className="nowrap">{unitPriceText(direct, mediaUnit)}</span>,
    text: ({ direct }) => direct.inputPer1m ?? direct.mediaUnitPrice,
    file: priceFile(
      ({ direct }) => direct,
      ({ mediaUnit }) => mediaUnit,
    ),
  },
  {
    label: 'Offers',
    isNumber: true,
    cell: ({ offerCount }) => offerCount,
    text: ({ offerCount }) => offerCount,
  },
]

/** The models that a search finds, the most paid for first. */
function Models({ data, curl }: PartProps) {
  // The last data is that of one model, and has no list.
  if (data.markets === undefined) return <SkeletonRows />
  return (
    <Card title="Models" about="Top 25 by payments in the last 24 h. Search for others" isFlush>
      <Table
        label="Models"
        columns={MODEL_COLUMNS}
        rows={(data.markets?.edges ?? []).map(({ node }) => node)}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No model matches">
            <p>Import models here or with the command line.</p>
            <Code label="Import a catalogue" text="npx market operator catalog import --help" />
          </Empty>
        }
      />
    </Card>
  )
}

type OfModelProps = PartProps & {
  readonly model: string
  readonly after: string | undefined
  readonly onPage: (after: string | undefined) => void
  readonly whole: WholeList<Change>
}

function OfModel({ data, curl, model, after, onPage, whole }: OfModelProps) {
  const pricing = useDialog()
  if (data.referencePrices === undefined) return <SkeletonRows />
  const prices = data.referencePrices ?? []
  return (
    <>
      <Card title={`List prices of ${model}`} isFlush actions={<Button onClick={pricing.open}>New prices</Button>}>
        <Table
          label="List prices"
          columns={PRICE_COLUMNS}
          rows={prices}
          keyOf={({ version }) => version}
          curl={curl}
          empty={<Empty title="No price">{null}</Empty>}
        />
      </Card>
      {pricing.isOpen ? (
        <PutPrices model={model} current={prices.find(({ state }) => state === 'current')} onClose={pricing.close} />
      ) : null}
      <Card title={`Names of ${model}`}>
        <Tags names={(data.aliases ?? []).map(({ alias }) => alias)} />
      </Card>
      <Card title="Changes" about="Newest first, with their source" isFlush>
        <Table
          label="Changes of the catalogue"
          columns={CHANGE_COLUMNS}
          rows={(data.catalogHistory?.edges ?? []).map(({ node }) => node)}
          keyOf={({ id }) => id}
          curl={curl}
          whole={whole}
          empty={
            <Empty title="No changes">
              <p>Each import lists the fields that it changes, with their source.</p>
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
    </>
  )
}

type Price = NonNullable<OperatorCatalogueQuery['referencePrices']>[number]
/** Decimal places between pico-USD of a unit and dollars of a million units. */
const MILLION_PLACES = 6
const MILLISECONDS_PER_SECOND = 1_000

/** A price in the unit in which operators type it. */
function priceIn(unit: string, pico: string): string {
  const { label, places } = UNITS[unit] ?? { label: `${words(unit)} per million`, places: MILLION_PLACES }
  return `${label}: $${withPoint(pico, places)}`
}

const PRICE_COLUMNS: readonly Column<Price>[] = [
  timeColumn('In force since', ({ effectiveAt }) => effectiveAt),
  {
    label: 'State',
    cell: ({ state }) => (state === 'current' ? <strong>current</strong> : <Badge>{words(state)}</Badge>),
    text: ({ state }) => state,
  },
  {
    label: 'Price',
    phone: 'bare',
    cell: ({ unitPrices, overrides, minimums }) => (
      <>
        <div>{linesOf(unitPrices)}</div>
        {leastOf(minimums).map((least) => (
          <div key={least}>at least {least} a request</div>
        ))}
        {overrides.map(({ conditions, unitPrices: own }) => (
          <div key={conditions}>
            <code>{conditions}</code> {linesOf(own)}
          </div>
        ))}
      </>
    ),
    text: ({ unitPrices, overrides, minimums }) =>
      [
        ...unitPrices.map(({ unit, pico }) => `${unit} ${pico}`),
        ...leastOf(minimums).map((least) => `at least ${least}`),
        ...overrides.flatMap(({ conditions, unitPrices: own }) =>
          own.map(({ unit, pico }) => `${unit} ${pico} when ${conditions}`),
        ),
      ].join('; '),
  },
  { label: 'Source', cell: ({ source }) => source, text: ({ source }) => source },
]

/** The least that a request is billed, in words. */
function leastOf({ milliseconds, characters }: Price['minimums']): string[] {
  return [
    milliseconds === null ? [] : `${milliseconds / MILLISECONDS_PER_SECOND} s`,
    characters === null ? [] : `${characters} characters`,
  ].flat()
}

function linesOf(unitPrices: ShownPriceVersion['unitPrices']): string {
  return unitPrices.map(({ unit, pico }) => priceIn(unit, pico)).join(' · ')
}

const SHOWN_CHARS = 100

/** A field with a price in pico-USD: its usage class. A least amount is no price. */
const PRICE_FIELD = /^price\.(\w+)(?!.* at least$)/
/** Digits as JSON text, as a price is written. */
const PICO = /^"(\d+)"$/

/** A price in its unit, or the beginning of a value as JSON. All of a value is on hover and in the file. */
function Cut({ field, text }: { readonly field: string; readonly text: string }) {
  if (text === 'null') return <span className="muted">nothing</span>
  const unit = PRICE_FIELD.exec(field)?.[1]
  const pico = PICO.exec(text)?.[1]
  if (unit !== undefined && pico !== undefined)
    return <span title={`${pico} pico-USD a unit`}>{priceIn(unit, pico)}</span>
  if (field === 'added') return <span title={text}>{nameIn(text)}</span>
  return <code title={text}>{text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text}</code>
}

/** The name of an added model in its JSON. */
function nameIn(text: string): string {
  const name = /"name":"([^"\\]+)"/.exec(text)?.[1]
  return name === undefined ? 'the model' : name
}

/** A field in words: a price by its unit, and the addition of the model. */
function fieldText(field: string): string {
  if (field === 'added') return 'Model added'
  const unit = PRICE_FIELD.exec(field)?.[1]
  const label = unit === undefined ? words(field) : `price: ${(UNITS[unit]?.label ?? words(unit)).toLowerCase()}`
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`
}

type Change = NonNullable<OperatorCatalogueQuery['catalogHistory']>['edges'][number]['node']

const CHANGE_COLUMNS: readonly Column<Change>[] = [
  timeColumn('When', ({ at }) => at),
  {
    label: 'Field',
    phone: 'title',
    cell: ({ field }) => <span title={field}>{fieldText(field)}</span>,
    text: ({ field }) => field,
  },
  { label: 'Before', cell: ({ field, before }) => <Cut field={field} text={before} />, text: ({ before }) => before },
  { label: 'After', cell: ({ field, after }) => <Cut field={field} text={after} />, text: ({ after }) => after },
  { label: 'Source', cell: ({ source }) => source, text: ({ source }) => source },
]

type Provider = NonNullable<OperatorCatalogueQuery['providers']>[number]

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  {
    label: 'Provider',
    cell: ({ id, name }) => (
      <>
        <Link to="/operator/offers" search={{ provider: id }}>
          {name}
        </Link>
        <span className="sub mono">{id}</span>
      </>
    ),
    text: ({ id }) => id,
  },
  { label: 'Base URL', cell: ({ baseUrl }) => <code>{baseUrl}</code>, text: ({ baseUrl }) => baseUrl },
  {
    label: 'Other hosts',
    cell: ({ hosts }) => hosts.map((host) => <code key={host}>{host} </code>),
    text: ({ hosts }) => hosts.join(' '),
  },
  {
    label: 'Trust',
    phone: 'plain',
    cell: ({ trusted }) => (trusted ? 'trusted' : <Badge tone="warn">not trusted</Badge>),
    text: ({ trusted }) => (trusted ? 'trusted' : 'not trusted'),
  },
  {
    label: 'Offers',
    isNumber: true,
    cell: ({ activeOffers }) => activeOffers,
    text: ({ activeOffers }) => activeOffers,
  },
]
