import type { UptimePoint } from '#control-plane/dashboard/charts/uptime-cells.ts'
import { uptimeCells } from '#control-plane/dashboard/charts/uptime-cells.ts'
import { UptimeStrip } from '#control-plane/dashboard/charts/uptime-strip.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PublicStatusQuery } from '#control-plane/dashboard/data/documents/public-status.ts'
import { PublicStatusDocument } from '#control-plane/dashboard/data/documents/public-status.ts'
import { compact, count, percent } from '#control-plane/dashboard/data/format.ts'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'
import { useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { IncidentTable } from '#control-plane/dashboard/market/incident-table.tsx'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded, Notice, NotSummed } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

const HOURS = 24
const REFRESH_MS = 30_000
const RAILS: Readonly<Record<string, { readonly tone: Tone; readonly label: string }>> = {
  up: { tone: 'good', label: 'up' },
  down: { tone: 'bad', label: 'down' },
  switched_off: { tone: 'warn', label: 'switched off' },
}

export function StatusPage() {
  const variables = {}
  const query = useScreen(PublicStatusDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(PublicStatusDocument, variables)
  return (
    <Page title="Status" about="Measured on real calls. A bar with fewer than five calls is grey.">
      <Loaded query={query}>
        {(data) => (
          <>
            <Summary data={data} />
            <Declared data={data} />
            <div className="grid two">
              <Uptime
                title="Models"
                measure="Answered"
                about="Share of calls that a provider answered, of those that a provider could answer"
                totals={data.models}
                points={data.modelHours}
                curl={curl}
                isModel
              />
              <Uptime
                title="Providers"
                measure="Uptime"
                about="Share of attempts answered, minus back-off time"
                totals={data.providers}
                points={data.providerHours}
                curl={curl}
              />
            </div>
            <Incidents data={data} curl={curl} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Summary({ data }: { readonly data: PublicStatusQuery }) {
  const rails = data.rails ?? []
  const isDown = rails.some(({ state }) => state === 'down')
  const open = (data.declaredIncidents?.edges ?? []).filter(({ node }) => node.endedAt === null)
  return (
    <Notice tone={isDown ? 'bad' : open.length > 0 ? 'warn' : 'good'}>
      <strong>
        {isDown
          ? 'Paid calls cannot be admitted now.'
          : open.length > 0
            ? 'Served, with an open incident.'
            : 'All ways to pay are up.'}
      </strong>
      <span className="actions">
        {rails.map(({ rail, state }) => (
          <Badge key={rail} tone={RAILS[state]?.tone ?? 'plain'}>
            {rail} {RAILS[state]?.label ?? state}
          </Badge>
        ))}
      </span>
    </Notice>
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
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      label: title.slice(0, -1),
      cell: ({ name }) => (isModel ? <ModelLink model={name} /> : name),
      text: ({ name }) => name,
    },
    { label: `Last ${HOURS} hours`, cell: ({ name, cells }) => <UptimeStrip label={name} cells={cells} /> },
    {
      label: measure,
      isNumber: true,
      cell: ({ share, base }) => (
        <>
          {percent(share, 2)}
          <span className="sub">of {count(base)}</span>
        </>
      ),
      text: ({ share }) => share,
      unit: 'percent',
    },
    { label: 'Calls', isNumber: true, cell: ({ calls }) => compact(calls), text: ({ calls }) => calls },
  ]
  return (
    <Card title={title} about={about} isFlush>
      <Table
        label={`Uptime of ${title.toLowerCase()}`}
        columns={columns}
        rows={rows}
        most={15}
        keyOf={({ name }) => name}
        curl={curl}
        empty={
          totals === null ? (
            <NotSummed />
          ) : (
            <Empty title="No calls in the last day">
              <p>Uptime is measured on real calls alone.</p>
            </Empty>
          )
        }
      />
    </Card>
  )
}

function Declared({ data }: { readonly data: PublicStatusQuery }) {
  const incidents = (data.declaredIncidents?.edges ?? []).map(({ node }) => node)
  if (incidents.length === 0) return null
  return (
    <Card title="What operators say">
      <ul className="grid">
        {incidents.map(({ id, title, state, startedAt, endedAt, notes, models, providers }) => (
          <li key={id} className="grid">
            <div className="actions">
              <Badge tone={endedAt === null ? 'warn' : 'good'}>{state}</Badge>
              <strong>{title}</strong>
              <span className="muted small">
                {[...models, ...providers].join(', ') || 'the whole market'} · <Time at={startedAt} />
              </span>
            </div>
            <ol className="facts">
              {notes.map(({ at, note, state: then }) => (
                <li key={at} style={{ display: 'contents' }}>
                  <span className="muted small">
                    <Time at={at} />
                  </span>
                  <span>
                    {note} <span className="muted">({then})</span>
                  </span>
                </li>
              ))}
            </ol>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Incidents({ data, curl }: { readonly data: PublicStatusQuery; readonly curl: string }) {
  return (
    <Card title="Incidents of the last week" about="Out of real calls" isFlush>
      <IncidentTable incidents={data.incidents} curl={curl} />
    </Card>
  )
}
