import type { UptimeCell, UptimePoint } from '#control-plane/dashboard/charts/uptime-cells.ts'
import { endsOfDay, uptimeCells, uptimeDays } from '#control-plane/dashboard/charts/uptime-cells.ts'
import { StripLegend, UptimeStrip } from '#control-plane/dashboard/charts/uptime-strip.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicStatusQuery } from '#control-plane/dashboard/data/documents/public-status.ts'
import { PublicStatusDocument } from '#control-plane/dashboard/data/documents/public-status.ts'
import type { PublicStatusDaysQuery } from '#control-plane/dashboard/data/documents/public-status-days.ts'
import { PublicStatusDaysDocument } from '#control-plane/dashboard/data/documents/public-status-days.ts'
import { count, percent, span } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { daysAgo, useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { IncidentTable } from '#control-plane/dashboard/market/incident-table.tsx'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { PUBLIC_HEADS } from '#control-plane/dashboard/market/public-heads.ts'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, NotSummed, SkeletonCard } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

const HOURS = 24
const DAYS = 90
/** Below this share of answered calls the market counts as degraded, if it has this number of calls. */
const WELL_PCT = 95
const ENOUGH_CALLS = 20
const REFRESH_MS = 30_000
/** Rows that a table shows at first. Rows with too few calls to measure come after them. */
const [LEAST_ROWS, MOST_ROWS] = [3, 15]
const RAIL_STATES: Readonly<Record<string, { readonly tone: Tone; readonly label: string }>> = {
  up: { tone: 'plain', label: 'up' },
  down: { tone: 'bad', label: 'down' },
  switched_off: { tone: 'warn', label: 'switched off' },
}
const RAIL_NAMES: Readonly<Record<string, string>> = {
  credit: 'Prepaid credit',
  'x402-upto': 'x402, up to an amount',
  'x402-exact': 'x402, exact amount',
  mpp: 'MPP',
}

function Waiting() {
  return (
    <div className="grid">
      <SkeletonCard height="1.5rem" />
      <SkeletonCard />
    </div>
  )
}

export function StatusPage() {
  const query = useScreen(PublicStatusDocument, {}, { everyMs: REFRESH_MS })
  const curl = curlOf(PublicStatusDocument, {})
  return (
    <Page {...PUBLIC_HEADS['/status']}>
      <Loaded query={query} waiting={<Waiting />}>
        {(data) => (
          <>
            <Summary data={data} />
            <Declared data={data} />
            <Days />
            <Incidents data={data} curl={curl} />
            <div className="grid two">
              <Uptime
                title="Models"
                measure="Answered"
                about="Answered calls, as a share of the calls that a provider could answer"
                totals={data.models}
                points={data.modelHours}
                curl={curl}
                isModel
              />
              <div className="grid top">
                <Rails data={data} />
                <Uptime
                  title="Providers"
                  measure="Uptime"
                  about="Share of attempts answered, minus back-off time"
                  totals={data.providers}
                  points={data.providerHours}
                  curl={curl}
                />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}

type Verdict = { readonly tone: 'good' | 'warn' | 'bad'; readonly text: string }

/** The state of the market in one sentence: ways to pay first, then what operators say, then what calls show. */
function verdictOf({ rails, declaredIncidents, all }: PublicStatusQuery): Verdict {
  const down = (rails ?? []).filter(({ state }) => state === 'down')
  const open = (declaredIncidents?.edges ?? []).filter(({ node }) => node.endedAt === null)
  const { uptimePct = null, uptimeBase = 0 } = all?.[0] ?? {}
  if (rails !== null && down.length === rails.length && down.length > 0)
    return { tone: 'bad', text: 'Outage: paid calls are refused' }
  if (down.length > 0)
    return { tone: 'bad', text: `Partial outage: ${down.map(({ rail }) => RAIL_NAMES[rail] ?? rail).join('; ')}` }
  const [first, ...more] = open
  if (first !== undefined)
    return {
      tone: 'warn',
      text: more.length > 0 ? `Degraded: ${open.length} open incidents` : `Degraded: ${subjectOf(first.node)}`,
    }
  if (uptimePct !== null && uptimePct < WELL_PCT && uptimeBase >= ENOUGH_CALLS)
    return { tone: 'warn', text: 'Degraded: more calls fail than usual' }
  return { tone: 'good', text: 'All systems operational' }
}

type Announcement = NonNullable<PublicStatusQuery['declaredIncidents']>['edges'][number]['node']

/** The title of an incident and what it affects. */
function subjectOf({ title, models, providers }: Pick<Announcement, 'title' | 'models' | 'providers'>): string {
  const named = [...models, ...providers]
  return named.length === 0 ? title : `${title} (${named.join(', ')})`
}

function Summary({ data }: { readonly data: PublicStatusQuery }) {
  const { tone, text } = verdictOf(data)
  const { uptimePct = null, uptimeBase = 0 } = data.all?.[0] ?? {}
  return (
    <section className="verdict" data-tone={tone} aria-label="Overall">
      <h2>{text}</h2>
      <p>
        {uptimePct === null
          ? 'Too few calls in the last 24 hours to measure.'
          : `${percent(uptimePct, 2)} of ${count(uptimeBase)} calls answered in the last 24 hours.`}
      </p>
    </section>
  )
}

type Share = { readonly share: number | null; readonly base: number }

/** A share, with the number of calls or attempts that it is measured from. */
function shareColumn<Row extends Share>(label: string, of: (row: Row) => string): Column<Row> {
  return {
    label,
    isNumber: true,
    cell: (row) => (
      <>
        {percent(row.share, 2)}
        <span className="sub">
          of {count(row.base)} {of(row)}
        </span>
      </>
    ),
    text: ({ share }) => share,
    unit: 'percent',
    file: [
      { label, text: ({ share }) => share, unit: 'percent' },
      { label: 'Calls', text: ({ base }) => base },
    ],
    phone: 'lead',
  }
}

const MARKET = 'Whole market'

type DayRow = Share & { readonly name: string; readonly cells: readonly UptimeCell[] }

type Sum = { readonly uptimePct: number | null; readonly uptimeBase: number }

/** A bar for each day, and the share of all calls of these days, which the market sums. */
function dayRow(name: string, sum: Sum | undefined, cells: readonly UptimeCell[]): DayRow {
  const { uptimePct = null, uptimeBase = 0 } = sum ?? {}
  return { name, cells, share: uptimePct, base: uptimeBase }
}

const DAY_COLUMNS: readonly Column<DayRow>[] = [
  {
    label: 'Part',
    cell: ({ name }) => <span className="nowrap">{name === MARKET ? <strong>{name}</strong> : name}</span>,
    text: ({ name }) => name,
  },
  {
    label: `Last ${DAYS} days`,
    cell: ({ name, cells }) => <UptimeStrip label={name} cells={cells} ends={[`${DAYS} days ago`, 'Today']} />,
    phone: 'bare',
  },
  shareColumn('Uptime', ({ name }) => (name === MARKET ? 'calls' : 'attempts')),
]

const ABOUT_DAYS =
  'One bar for each UTC day. Whole market: share of calls answered. Providers: share of attempts answered, minus back-off time.'

/** The long record: the market as a whole, and each provider. */
function Days() {
  const variables = { days: daysAgo(DAYS - 1) }
  const query = useScreen(PublicStatusDaysDocument, variables, { everyMs: REFRESH_MS })
  const now = useNow(60_000)
  return (
    <Loaded query={query}>
      {(data) => (
        <Card title={`Last ${DAYS} days`} about={ABOUT_DAYS} isFlush>
          <StripLegend />
          {data.allDays === null || data.allPeriod === null ? (
            <NotSummed />
          ) : (
            <Table
              label="Days"
              columns={DAY_COLUMNS}
              rows={dayRows(data, now)}
              isRanked
              keyOf={({ name }) => name}
              curl={curlOf(PublicStatusDaysDocument, variables)}
              empty={null}
            />
          )}
        </Card>
      )}
    </Loaded>
  )
}

/** The market first, then its providers by name. */
function dayRows(data: PublicStatusDaysQuery, now: number): DayRow[] {
  const { allDays, allPeriod, providerDays, providerPeriods } = data
  const points = providerDays ?? []
  const names = [...new Set(points.map(({ name }) => name ?? ''))]
    .filter((name) => name !== '')
    .sort((a, b) => (a < b ? -1 : 1))
  return [
    dayRow(MARKET, allPeriod?.[0], uptimeDays(allDays ?? [], now, DAYS)),
    ...names.map((name) =>
      dayRow(
        name,
        providerPeriods?.find((sum) => sum.name === name),
        uptimeDays(
          points.filter((point) => point.name === name),
          now,
          DAYS,
        ),
      ),
    ),
  ]
}

function Rails({ data }: { readonly data: PublicStatusQuery }) {
  return (
    <Card title="Ways to pay">
      <Facts
        facts={(data.rails ?? []).map(({ rail, state }) => {
          const { tone, label } = RAIL_STATES[state] ?? { tone: 'warn', label: state }
          return [
            RAIL_NAMES[rail] ?? rail,
            tone === 'plain' ? (
              label
            ) : (
              <Badge key={rail} tone={tone}>
                {label}
              </Badge>
            ),
          ]
        })}
      />
    </Card>
  )
}

type Total = {
  readonly name: string | null
  readonly calls: number
  readonly uptimePct: number | null
  readonly uptimeBase: number
}
type Point = UptimePoint & { readonly name: string | null }

function Uptime({
  title,
  totals,
  points,
  curl,
  measure,
  about,
  isModel = false,
}: {
  readonly title: string
  /** The name of the share, such as "Answered", and a sentence on its meaning. */
  readonly measure: string
  readonly about: string
  /** Null while calls of the time are not summed yet. */
  readonly totals: readonly Total[] | null
  readonly points: readonly Point[] | null
  readonly curl: string
  readonly isModel?: boolean
}) {
  const { zone } = useSettings()
  const now = useNow(60_000)
  const rows = (totals ?? []).map(({ name, calls, uptimePct, uptimeBase }) => ({
    name: name ?? '',
    cells: uptimeCells(
      (points ?? []).filter((point) => point.name === name),
      now,
      zone,
    ),
    share: uptimePct,
    base: uptimeBase,
    calls,
  }))
  // Rows with a known share come first, and of those the lowest share.
  rows.sort(
    (a, b) => (a.share ?? Number.POSITIVE_INFINITY) - (b.share ?? Number.POSITIVE_INFINITY) || b.calls - a.calls,
  )
  const measured = rows.filter(({ share }) => share !== null).length
  const ends = endsOfDay(now, zone)
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      label: title.slice(0, -1),
      cell: ({ name }) => (isModel ? <ModelLink model={name} /> : name),
      text: ({ name }) => name,
    },
    {
      label: `Last ${HOURS} hours`,
      cell: ({ name, cells }) => <UptimeStrip label={name} cells={cells} ends={ends} />,
      phone: 'bare',
    },
    { ...shareColumn(measure, () => (isModel ? 'calls' : 'attempts')), phone: 'lead' },
  ]
  return (
    <Card title={title} about={about} isFlush>
      <Table
        label={`Uptime of ${title.toLowerCase()}`}
        columns={columns}
        rows={rows}
        most={Math.min(Math.max(measured, LEAST_ROWS), MOST_ROWS)}
        keyOf={({ name }) => name}
        curl={curl}
        empty={
          totals === null ? (
            <NotSummed />
          ) : (
            <Empty title="No calls in the last day">
              <p>We measure uptime from the calls of buyers.</p>
            </Empty>
          )
        }
      />
    </Card>
  )
}

/** Announcements of operators. Those that are over are one line each until the reader opens them. */
function Declared({ data }: { readonly data: PublicStatusQuery }) {
  const incidents = (data.declaredIncidents?.edges ?? []).map(({ node }) => node)
  if (incidents.length === 0) return null
  const isOpen = ({ endedAt }: Announcement) => endedAt === null
  return (
    <Card title="Announcements">
      <div className="grid">
        {incidents.filter(isOpen).map((incident) => (
          <section key={incident.id} className="grid" aria-label={incident.title}>
            <AnnouncementHead incident={incident} />
            <Notes incident={incident} />
          </section>
        ))}
        {incidents
          .filter((incident) => !isOpen(incident))
          .map((incident) => (
            <details key={incident.id} className="announcement">
              <summary>
                <AnnouncementHead incident={incident} />
              </summary>
              <Notes incident={incident} />
            </details>
          ))}
      </div>
    </Card>
  )
}

type IncidentProps = { readonly incident: Announcement }

function AnnouncementHead({ incident: { title, state, startedAt, endedAt, models, providers } }: IncidentProps) {
  return (
    <span className="actions">
      <Badge tone={endedAt === null ? 'warn' : 'good'}>{state}</Badge>
      <strong>{title}</strong>
      <span className="muted small">
        {[...models, ...providers].join(', ') || 'the whole market'} · <Time at={startedAt} />
        {endedAt === null ? null : `, for ${span(endedAt - startedAt)}`}
      </span>
    </span>
  )
}

function Notes({ incident: { notes, state } }: IncidentProps) {
  return (
    <ol className="facts">
      {notes.map(({ at, note, state: then }) => (
        <li key={at} style={{ display: 'contents' }}>
          <span className="muted small">
            <Time at={at} />
          </span>
          <span>
            {note} {then === state ? null : <span className="muted">({then})</span>}
          </span>
        </li>
      ))}
    </ol>
  )
}

function Incidents({ data, curl }: { readonly data: PublicStatusQuery; readonly curl: string }) {
  return (
    <Card
      title="Outages of the last 7 days"
      about={
        data.incidents?.pageInfo.hasNextPage === true
          ? `Detected from traffic: the newest ${data.incidents.edges.length} failures of offers`
          : 'Detected from traffic'
      }
      isFlush
    >
      <IncidentTable incidents={data.incidents} curl={curl} />
    </Card>
  )
}
