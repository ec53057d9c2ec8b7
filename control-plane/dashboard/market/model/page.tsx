import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { DAY_MS, everyBucket, HOUR_MS, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { TimeChart } from '#control-plane/dashboard/charts/time-chart.tsx'
import { endsOfDay, uptimeCells } from '#control-plane/dashboard/charts/uptime-cells.ts'
import { UptimeStrip } from '#control-plane/dashboard/charts/uptime-strip.tsx'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicModelQuery } from '#control-plane/dashboard/data/documents/public-model.ts'
import { PublicModelDocument } from '#control-plane/dashboard/data/documents/public-model.ts'
import { count, day, percent, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { ANSWERED, FIRST_TOKEN, SELLERS } from '#control-plane/dashboard/market/market-columns.tsx'
import { priceFile, priceText } from '#control-plane/dashboard/market/price-text.ts'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Badge, Tags } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, NotSummed, Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { IncidentsOf, marksOf } from './incidents.tsx'
import type { ModelHead } from './model-figures.ts'
import { modelFigures, modelHeadKey } from './model-figures.ts'
import { OrderBook } from './order-book.tsx'
import type { ShownModel } from './shown-model.ts'
import { Speed } from './speed.tsx'
import { TryIt } from './try-it.tsx'

const REFRESH_MS = 60_000
/** The length of the price history. */
const HISTORY_MS = 30 * DAY_MS
/** Longest text that the search of models takes. */
const MAX_SEARCH = 100
const HOURS = 24
const INCIDENT_DAYS = 30

export function ModelPage() {
  const { _splat: model = '' } = useParams({ from: '/model/$' })
  const search = useSearch({ from: '/model/$' })
  const navigate = useNavigate({ from: '/model/$' })
  // By the hour, so that the query stays the same between two refreshes.
  const since = Math.floor(useNow(HOUR_MS) / HOUR_MS) * HOUR_MS - INCIDENT_DAYS * HOURS * HOUR_MS
  const variables = { model, name: model, since }
  const query = useScreen(PublicModelDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(PublicModelDocument, variables)
  const known = useQueryClient().getQueryData<ModelHead>(modelHeadKey(model))
  const market = query.data === undefined ? known : query.data.market
  return (
    <Page
      title={market?.name ?? (query.data?.market === null ? 'Model not found' : model)}
      about={market?.description === '' ? undefined : market?.description}
      actions={<Link to="/models">All models</Link>}
    >
      <Loaded query={query} waiting={<Waiting known={known} />}>
        {(data) =>
          data.market === null ? (
            <Empty title="No model has this name">
              <p>
                No model is named <code>{model}</code>.
              </p>
              <div className="actions">
                <Link to="/models" search={{ search: model.slice(0, MAX_SEARCH) }} className="button">
                  Search for this name
                </Link>
                <Link to="/models" search={{}} className="button">
                  Show all models
                </Link>
              </div>
            </Empty>
          ) : (
            <>
              <IncidentsOf data={data} />
              <Stats figures={modelFigures(data.market)} />
              <OrderBook
                market={data.market}
                curl={curl}
                before={(data.orderBook?.edges ?? []).map(({ node }) => node)}
                workload={search}
                onWorkload={(next) =>
                  void navigate({ search: { ...search, ...next }, replace: true, params: { _splat: model } })
                }
              />
              <div className="grid two">
                <Prices data={data} />
                {data.market.mediaUnit === null ? (
                  <Speed
                    data={data}
                    figure={search.speed ?? 'ttft'}
                    onFigure={(speed) =>
                      void navigate({ search: { ...search, speed }, replace: true, params: { _splat: model } })
                    }
                  />
                ) : null}
              </div>
              <Providers data={data} curl={curl} />
              <div className="grid two">
                <About market={data.market} />
                <TryIt market={data.market} url={apiUrlHere(data.service?.apiBaseUrl ?? '')} />
              </div>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

/** While the query runs, the figures that came with the document stay in place, above a placeholder. */
function Waiting({ known }: { readonly known: ModelHead | undefined }) {
  return (
    <div className="grid">
      {known === undefined ? null : <Stats figures={modelFigures(known)} />}
      <Skeleton height="30rem" />
    </div>
  )
}

function Prices({ data }: { readonly data: PublicModelQuery }) {
  const { zone } = useSettings()
  const { paid = [], references = [] } = data.priceHistory ?? {}
  const days = everyBucket(paid ?? [], 'day', lastSpan(HISTORY_MS))
  return (
    <Card title="Price history" about="Share of the list price that buyers saved, by UTC day">
      {paid === null ? (
        <NotSummed />
      ) : paid.length === 0 ? (
        <Empty title="No history yet">
          <p>Days are summed up a few minutes after their calls.</p>
        </Empty>
      ) : (
        <TimeChart
          label="Discount by day"
          times={days.map(([at]) => at)}
          series={[
            { name: 'Average', values: days.map(([, row]) => row?.discountPct ?? null) },
            { name: 'Best', values: days.map(([, row]) => row?.bestDiscountPct ?? null) },
          ]}
          format={(value) => percent(value, 0)}
          formatTime={(at) => day(at, 'utc')}
          zone="UTC"
          marks={marksOf(data)}
        />
      )}
      {references.map(({ version, effectiveAt, source }) => (
        <p key={version} className="small muted">
          List price as of {day(effectiveAt, zone)} (source: {source})
        </p>
      ))}
    </Card>
  )
}

type Provider = ShownModel['providers'][number]

function Providers({ data, curl }: { readonly data: PublicModelQuery; readonly curl: string }) {
  const { zone } = useSettings()
  const now = useNow(60_000)
  const points = data.marketSeries ?? []
  const cellsOf = (name: string) =>
    uptimeCells(
      points.filter(({ provider }) => provider === name),
      now,
      zone,
    )
  const { mediaUnit = null } = data.market ?? {}
  const columns: readonly Column<Provider>[] = [
    {
      label: 'Provider',
      cell: ({ provider }) => <span className="nowrap">{provider}</span>,
      text: ({ provider }) => provider,
    },
    {
      label: 'Trust',
      phone: 'bare',
      cell: ({ trusted }) => (
        <>
          {trusted ? 'trusted' : <Badge tone="warn">not trusted</Badge>}
          {trusted ? null : <span className="sub">where calls allow it</span>}
        </>
      ),
      text: ({ trusted }) => (trusted ? 'trusted' : 'not trusted'),
    },
    {
      label: mediaUnit === null ? 'In · out per 1M' : 'Price',
      phone: 'lead',
      isNumber: true,
      cell: ({ best }) => priceText(best, mediaUnit),
      text: ({ best }) => best.inputPer1m ?? best.mediaUnitPrice,
      file: priceFile(
        ({ best }) => best,
        () => mediaUnit,
      ),
    },
    SELLERS,
    FIRST_TOKEN,
    {
      label: 'Tokens a second 24 h',
      isNumber: true,
      cell: ({ tpsP50 }) => (tpsP50 === null ? UNKNOWN : count(tpsP50)),
      text: ({ tpsP50 }) => tpsP50,
    },
    {
      label: 'Last 24 hours',
      cell: ({ provider }) => {
        const cells = cellsOf(provider)
        if (cells.every(({ uptimePct }) => uptimePct === null)) {
          return <span className="muted">{cells.every(({ base }) => base === 0) ? 'no calls' : 'too few calls'}</span>
        }
        return <UptimeStrip label={provider} cells={cells} ends={endsOfDay(now, zone)} />
      },
    },
    { ...ANSWERED, label: 'Uptime 24 h' },
  ]
  return (
    <Card title="Providers" about="Uptime: share of attempts answered, minus back-off time" isFlush>
      <Table
        label="Providers"
        columns={columns}
        rows={data.market?.providers ?? []}
        keyOf={({ provider }) => provider}
        curl={curl}
        empty={
          <Empty title="No seller right now">
            <p>A seller with a key for one of its providers can list it.</p>
          </Empty>
        }
      />
    </Card>
  )
}

function About({ market }: { readonly market: ShownModel }) {
  const { id, contextLength, maxCompletionTokens, mediaUnit, parameters, features, aliases } = market
  // Limits of models sold by media units are no token counts that a buyer could use.
  const tokenLimits: readonly (readonly [string, string])[] =
    mediaUnit === null
      ? [
          ['Context', contextLength > 0 ? `${count(contextLength)} tokens` : UNKNOWN],
          ['Longest answer', maxCompletionTokens > 0 ? `${count(maxCompletionTokens)} tokens` : UNKNOWN],
        ]
      : []
  return (
    <Card title="The model">
      <Facts
        facts={[
          [
            'ID',
            <span key="id" className="actions">
              <code>{id}</code>
              <CopyButton text={id} label="Copy ID" />
            </span>,
          ],
          ...tokenLimits,
          ['Can', <Tags key="can" names={features} />],
          ['Parameters', <Tags key="takes" names={parameters} />],
          ['Also called', aliases.length === 0 ? UNKNOWN : <Tags key="also" names={aliases} />],
        ]}
      />
    </Card>
  )
}
