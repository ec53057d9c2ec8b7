import type { RegisteredRouter } from '@tanstack/react-router'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { ComparedModelsDocument } from '#control-plane/dashboard/data/documents/compared-models.ts'
import type { MarketSort, PublicModelsQuery } from '#control-plane/dashboard/data/documents/public-models.ts'
import { PublicModelsDocument } from '#control-plane/dashboard/data/documents/public-models.ts'
import { compact, milliseconds, percent, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { ANSWERED, CALLS_24H, DISCOUNT, FIRST_TOKEN, SELLERS } from '#control-plane/dashboard/market/market-columns.tsx'
import { ModelName } from '#control-plane/dashboard/market/model-name.tsx'
import { unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import { PRICE } from '#control-plane/dashboard/market/prices.tsx'
import { PUBLIC_HEADS } from '#control-plane/dashboard/market/public-heads.ts'
import { SavedViews } from '#control-plane/dashboard/market/saved-views/saved-views.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Money, Tags } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import type { RowOrder } from '#control-plane/dashboard/ui/row-order.ts'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

type Row = NonNullable<PublicModelsQuery['markets']>['edges'][number]['node']

const MAX_COMPARED = 4
const SORTS: readonly { readonly value: MarketSort; readonly label: string }[] = [
  { value: 'volume', label: 'Highest spend' },
  { value: 'requests', label: 'Most called' },
  { value: 'discount', label: 'Largest discount' },
  { value: 'price', label: 'Cheapest' },
  { value: 'newest', label: 'Newest' },
  { value: 'ttft', label: 'Quickest first token' },
  { value: 'tps', label: 'Most tokens a second' },
  { value: 'uptime', label: 'Most answered' },
  { value: 'sellers', label: 'Most sellers' },
]

/** Orders whose best figure is the lowest. */
const LOW_FIRST: ReadonlySet<string> = new Set(['price', 'ttft'])

/** The address of an order. By default the model with the highest payments is first. */
function searchOf(order: RowOrder | undefined): Pick<SearchOf, 'sort' | 'reverse'> {
  const sort = SORTS.find(({ value }) => value === order?.by)?.value
  if (order === undefined || sort === undefined) return { sort: undefined, reverse: undefined }
  return { sort, reverse: order.isDown === LOW_FIRST.has(sort) ? 'yes' : undefined }
}

export function ModelsPage() {
  const search = useSearch({ from: '/models' })
  const navigate = useNavigate({ from: '/models' })
  const { sort = 'volume', reverse, modality, feature, context, discount, sellers, uptime, after } = search
  const variables = {
    search: search.search,
    modality,
    feature,
    minContext: context,
    minDiscountPct: discount,
    // Models that nobody sells are listed on request.
    minSellers: sellers === undefined ? 1 : sellers === 0 ? undefined : sellers,
    minUptimePct: uptime,
    sort,
    isReversed: reverse === 'yes' ? true : undefined,
    after,
  }
  const query = useScreen(PublicModelsDocument, variables)
  const change = (next: Partial<typeof search>) => {
    void navigate({
      search: { ...search, after: undefined, ...next },
      replace: !('after' in next) || 'compare' in next,
    })
  }
  const compared = (search.compare ?? '').split(',').filter((id) => id !== '')
  const toggle = (id: string) => {
    const next = compared.includes(id) ? compared.filter((one) => one !== id) : [...compared, id].slice(-MAX_COMPARED)
    change({ compare: next.length === 0 ? undefined : next.join(','), after })
  }
  return (
    <Page {...PUBLIC_HEADS['/models']}>
      <Facets search={search} onChange={change} />
      {compared.length === 0 ? null : <Comparison ids={compared} onClear={() => change({ compare: undefined })} />}
      <Loaded query={query}>
        {(data) => {
          const rows = (data.markets?.edges ?? []).map(({ node }) => node)
          return (
            <Card title="Catalogue" about="Token prices are input · output, per million tokens" isFlush>
              <Table
                label="Models"
                columns={[...COLUMNS, choiceOf(compared, toggle)]}
                rows={rows}
                keyOf={({ id }) => id}
                curl={curlOf(PublicModelsDocument, variables)}
                whole={pagesOf(PublicModelsDocument, variables, (read) => read.markets)}
                order={{
                  now: { by: sort, isDown: LOW_FIRST.has(sort) === (reverse === 'yes') },
                  onOrder: (next) => change(searchOf(next)),
                }}
                empty={
                  <Empty title="No models match">
                    <p>Use fewer filters to see more models. Models that no seller offers now are left out.</p>
                    <div className="actions">
                      <Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>
                      {sellers === 0 ? null : (
                        <Button onClick={() => change({ sellers: 0 })}>Include models without a seller</Button>
                      )}
                    </div>
                  </Empty>
                }
                foot={
                  <Pager
                    after={after}
                    next={data.markets?.pageInfo.endCursor}
                    hasNext={data.markets?.pageInfo.hasNextPage}
                    onPage={(to) => change({ after: to })}
                    total={data.markets?.totalCount ?? undefined}
                  />
                }
              />
            </Card>
          )
        }}
      </Loaded>
    </Page>
  )
}

type SearchOf = RegisteredRouter['routesByPath']['/models']['types']['fullSearchSchema']
type FacetsProps = { readonly search: SearchOf; readonly onChange: (next: Partial<SearchOf>) => void }

const SELLER_CHOICES = [
  { value: '', label: 'On sale' },
  { value: '2', label: '2 or more' },
  { value: '3', label: '3 or more' },
  { value: '5', label: '5 or more' },
  { value: '0', label: 'Any or none' },
]

const CONDITIONS = ['modality', 'feature', 'context', 'discount', 'sellers', 'uptime'] as const

function Facets({ search, onChange }: FacetsProps) {
  return (
    <Filters active={CONDITIONS.filter((name) => search[name] !== undefined).length}>
      <Search
        label="Name"
        placeholder="gpt, claude, flux …"
        value={search.search ?? ''}
        onSearch={(text) => onChange({ search: text === '' ? undefined : text })}
      />
      <Select
        label="Makes"
        value={search.modality ?? ''}
        choices={[
          { value: '', label: 'Anything' },
          { value: 'text', label: 'Text' },
          { value: 'image', label: 'Images' },
          { value: 'audio', label: 'Audio' },
          { value: 'video', label: 'Video' },
          { value: 'embedding', label: 'Embeddings' },
        ]}
        onChange={({ currentTarget: { value } }) =>
          onChange({
            modality: (['text', 'image', 'audio', 'video', 'embedding'] as const).find((one) => one === value),
          })
        }
      />
      <Select
        label="Can"
        value={search.feature ?? ''}
        choices={[
          { value: '', label: 'Anything' },
          { value: 'tools', label: 'Call tools' },
          { value: 'reasoning', label: 'Reason' },
          { value: 'structured_outputs', label: 'Follow a schema' },
          { value: 'streaming', label: 'Stream' },
        ]}
        onChange={({ currentTarget: { value } }) => onChange({ feature: value === '' ? undefined : value })}
      />
      <NumberSelect
        label="Context"
        unit="tokens"
        values={[32_000, 128_000, 200_000, 1_000_000]}
        value={search.context}
        onChange={(context) => onChange({ context })}
      />
      <NumberSelect
        label="Discount"
        unit="%"
        values={[10, 20, 30, 50]}
        value={search.discount}
        onChange={(discount) => onChange({ discount })}
      />
      <Select
        label="Sellers"
        value={search.sellers === undefined ? '' : String(search.sellers)}
        choices={SELLER_CHOICES}
        onChange={({ currentTarget: { value } }) => onChange({ sellers: value === '' ? undefined : Number(value) })}
      />
      <NumberSelect
        label="Answered"
        unit="%"
        values={[95, 99, 99.9]}
        value={search.uptime}
        onChange={(uptime) => onChange({ uptime })}
      />
      <Select
        label="Order"
        value={search.sort ?? 'volume'}
        choices={SORTS}
        onChange={({ currentTarget: { value } }) =>
          onChange({ sort: SORTS.find((sort) => sort.value === value)?.value, reverse: undefined })
        }
      />
      <SavedViews screen="models" search={search} />
    </Filters>
  )
}

type NumberProps = {
  readonly label: string
  readonly unit: string
  readonly values: readonly number[]
  readonly value: number | undefined
  readonly onChange: (value: number | undefined) => void
}

function NumberSelect({ label, unit, values, value, onChange }: NumberProps) {
  return (
    <Select
      label={label}
      value={value === undefined ? '' : String(value)}
      choices={[
        { value: '', label: 'Any' },
        ...values.map((one) => ({
          value: String(one),
          label: `${compact(one)}${unit === '%' ? '% or more' : ` ${unit}`}`,
        })),
      ]}
      onChange={(event) => onChange(values.find((one) => String(one) === event.currentTarget.value))}
    />
  )
}

/** The context of a model that takes tokens. Models sold by media units have none. */
function contextText({ contextLength, mediaUnit }: Row): string {
  return mediaUnit === null && contextLength > 0 ? compact(contextLength) : UNKNOWN
}

const COLUMNS: readonly Column<Row>[] = [
  {
    label: 'Model',
    cell: (row) => <ModelName id={row.id} name={row.name} lab={row.lab} />,
    text: ({ id }) => id,
  },
  PRICE,
  DISCOUNT,
  {
    label: 'Context',
    isNumber: true,
    cell: (row) => contextText(row),
    text: ({ contextLength, mediaUnit }) => (mediaUnit === null ? contextLength : null),
    phone: 'none',
  },
  SELLERS,
  FIRST_TOKEN,
  ANSWERED,
  CALLS_24H,
  {
    label: 'Paid 24 h',
    isNumber: true,
    cell: ({ volume24hMicro }) => <Money micro={volume24hMicro} />,
    text: ({ volume24hMicro }) => volume24hMicro,
    unit: 'microUsd',
    order: 'volume',
    phone: 'none',
  },
]

/** The boxes that put a model beside others. */
function choiceOf(compared: readonly string[], toggle: (id: string) => void): Column<Row> {
  return {
    label: 'Compare',
    cell: ({ id, name }) => (
      <input
        type="checkbox"
        className="choice"
        aria-label={`Compare ${name}`}
        checked={compared.includes(id)}
        onChange={() => toggle(id)}
      />
    ),
  }
}

/** The chosen models side by side, wherever they are in the list. */
function Comparison({ ids, onClear }: { readonly ids: readonly string[]; readonly onClear: () => void }) {
  const [one = '', two = '', three = '', four = ''] = ids
  const query = useScreen(ComparedModelsDocument, {
    one,
    two,
    three,
    four,
    hasTwo: two !== '',
    hasThree: three !== '',
    hasFour: four !== '',
  })
  return (
    <Card
      title={`Compared models (${Math.min(ids.length, MAX_COMPARED)} of ${MAX_COMPARED})`}
      isFlush
      actions={<Button onClick={onClear}>Clear</Button>}
    >
      <Loaded query={query}>
        {(data) => <ComparedModels rows={[data.one, data.two, data.three, data.four].flatMap((row) => row ?? [])} />}
      </Loaded>
    </Card>
  )
}

function ComparedModels({ rows }: { readonly rows: readonly Row[] }) {
  const lines: readonly (readonly [string, (row: Row) => React.ReactNode])[] = [
    ['Price', ({ best, mediaUnit }) => unitPriceText(best, mediaUnit)],
    ['List price', ({ direct, mediaUnit }) => unitPriceText(direct, mediaUnit)],
    ['Discount', ({ bestDiscountPct }) => percent(bestDiscountPct)],
    ['Context', (row) => contextText(row)],
    ['First token 24 h', ({ ttftP50Ms }) => milliseconds(ttftP50Ms)],
    ['Tokens a second 24 h', ({ tpsP50 }) => (tpsP50 === null ? UNKNOWN : compact(tpsP50))],
    ['Answered 24 h', ({ uptimePct }) => percent(uptimePct, 2)],
    ['Paid 24 h', ({ volume24hMicro }) => <Money micro={volume24hMicro} />],
    ['Takes', ({ inputModalities }) => <Tags names={inputModalities} />],
    ['Can', ({ features }) => <Tags names={features} />],
  ]
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls can be scrolled by keyboard.
    <section className="table-wrap" aria-label="Comparison" tabIndex={0}>
      <table className="table compared">
        <thead>
          <tr>
            <td />
            {rows.map(({ id, name }) => (
              <th key={id} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(([label, cell]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {rows.map((row) => (
                <td key={row.id}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
