import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageResetHealthDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import type {
  SellerHealthQuery,
  SellerHealthQueryVariables,
} from '#control-plane/dashboard/data/documents/seller-health.ts'
import { SellerHealthDocument } from '#control-plane/dashboard/data/documents/seller-health.ts'
import { count, span, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { defined } from '#control-plane/dashboard/data/search-params.ts'
import { daysAgo, useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { healthColumns } from '#control-plane/dashboard/seller/health-columns.tsx'
import type { HealthSpell } from '#control-plane/dashboard/seller/health-spells.ts'
import { foldHealth } from '#control-plane/dashboard/seller/health-spells.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Pager, RowsShown } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

const REFRESH_MS = 15_000
const DAYS = [
  { value: '1', label: 'Today' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
] as const

export function HealthPage() {
  return (
    <Gate side="seller" title="Health">
      <Health />
    </Gate>
  )
}

type HealthSearch = {
  readonly days?: '1' | '7' | '30' | undefined
  readonly view?: 'log' | undefined
  readonly after?: string | undefined
}

function Health() {
  const { days = '7', view, after } = useSearch({ from: '/seller/health' })
  const navigate = useNavigate({ from: '/seller/health' })
  const since = daysAgo(Number(days) - 1)
  const variables = { since, after, withSums: true, withLog: view === 'log' }
  const query = useScreen(SellerHealthDocument, variables, { everyMs: REFRESH_MS })
  const go = (search: HealthSearch) => void navigate({ search: defined(search), replace: true })
  const [reset, setReset] = useState<HealthSpell>()
  const now = useNow(REFRESH_MS)
  const curl = curlOf(SellerHealthDocument, variables, true)
  return (
    <Page
      title="Health"
      about="Offers that fail now come first. A failing offer is paused for a while and retried automatically; buyers' calls go to the next offer."
      actions={<Segments label="Days" value={days} choices={DAYS} onChoose={(next) => go({ days: next, view })} />}
    >
      <Loaded query={query}>
        {({ offerOutages: report, healthLog }) =>
          report == null ? null : (
            <>
              <Now report={report} now={now} curl={curl} onReset={setReset} />
              <Sums report={report} days={days} since={since} />
              <Past view={view} report={report} onView={(next) => go({ days, view: next })}>
                {view === 'log' ? (
                  <Log
                    log={healthLog}
                    variables={variables}
                    now={now}
                    curl={curl}
                    onReset={setReset}
                    onPage={(to) => void navigate({ search: defined({ days, view, after: to }) })}
                  />
                ) : (
                  <ByOffer report={report} curl={curl} />
                )}
              </Past>
            </>
          )
        }
      </Loaded>
      {reset === undefined ? null : <Reset spell={reset} onClose={() => setReset(undefined)} />}
    </Page>
  )
}

type Report = NonNullable<SellerHealthQuery['offerOutages']>

function ByOffer({ report: { byOffer }, curl }: { readonly report: Report; readonly curl: string }) {
  return (
    <Table
      label="Ended outages"
      columns={OFFER_COLUMNS}
      rows={byOffer}
      most={FEW_OFFERS}
      keyOf={({ offerId }) => offerId}
      curl={curl}
      empty={<NoOutages />}
    />
  )
}

type LogProps = {
  readonly log: SellerHealthQuery['healthLog']
  readonly variables: SellerHealthQueryVariables & { readonly after: string | undefined }
  readonly now: number
  readonly curl: string
  readonly onReset: (spell: HealthSpell) => void
  readonly onPage: (after: string | undefined) => void
}

/** The health log, in which an outage is one row. A page is 100 lines of the log. */
function Log({ log, variables, now, curl, onReset, onPage }: LogProps) {
  const lines = pagesOf(SellerHealthDocument, { ...variables, withSums: false }, (read) => read.healthLog)
  const whole = {
    rows: async () => {
      const { rows, isCut } = await lines.rows()
      return { rows: foldHealth(rows), isCut }
    },
  }
  const { endCursor, hasNextPage = false } = log?.pageInfo ?? {}
  return (
    <Table
      label="Health log"
      columns={columnsOf(now, onReset)}
      rows={foldHealth((log?.edges ?? []).map(({ node }) => node))}
      keyOf={({ id }) => id}
      curl={curl}
      whole={whole}
      {...((hasNextPage || variables.after !== undefined) && {
        foot: (
          <RowsShown value={log?.edges.length ?? 0}>
            <span>Log lines</span>
            <Pager after={variables.after} next={endCursor} hasNext={hasNextPage} onPage={onPage} />
          </RowsShown>
        ),
      })}
      empty={<NoOutages />}
    />
  )
}

type PastProps = {
  readonly view: 'log' | undefined
  readonly report: Report
  readonly onView: (view: 'log' | undefined) => void
  readonly children: ReactNode
}

/** The outages that ended, by offer, or the log. */
function Past({ view, report: { byOffer, offers }, onView, children }: PastProps) {
  const order =
    offers > byOffer.length
      ? `The ${byOffer.length} of ${count(offers)} offers with the longest time down`
      : 'The longest time down first'
  return (
    <Card
      title={view === 'log' ? 'Outages and events' : 'Ended outages by offer'}
      about={`${view === 'log' ? 'An outage is one row. Newest first' : order}. Days are UTC days`}
      actions={
        <Segments
          label="Shown"
          value={view ?? 'offers'}
          choices={VIEWS}
          onChoose={(next) => onView(next === 'log' ? next : undefined)}
        />
      }
      isFlush
    >
      {children}
    </Card>
  )
}

const VIEWS = [
  { value: 'offers', label: 'By offer' },
  { value: 'log', label: 'Log' },
] as const
/** Offers that are listed at first. */
const FEW_OFFERS = 10

type NowProps = {
  readonly report: Report
  readonly now: number
  readonly curl: string
  readonly onReset: (spell: HealthSpell) => void
}

/** The offers that fail now. */
function Now({ report: { ongoing, ongoingOffers, byOffer, offers }, now, curl, onReset }: NowProps) {
  const newest = Math.max(...byOffer.map(({ lastAt }) => lastAt))
  // A list that is cut may lack the offer of the last outage.
  const last = offers > byOffer.length ? undefined : byOffer.find(({ lastAt }) => lastAt === newest)
  return ongoing.length === 0 ? (
    <Notice tone="good">
      <strong>No offer fails now.</strong>
      {last === undefined ? null : (
        <span className="small">
          Last outage: {last.model}, <Ago at={last.lastAt} now={now} />
        </span>
      )}
    </Notice>
  ) : (
    <Card
      title={ongoingOffers === 1 ? '1 offer fails now' : `${count(ongoingOffers)} offers fail now`}
      about={`${ongoingOffers > ongoing.length ? `The newest ${ongoing.length} are listed. ` : ''}A paused offer gets no calls until it is retried`}
      isFlush
    >
      <Table
        label="Failing now"
        columns={columnsOf(now, onReset)}
        rows={ongoing.map(spellOf)}
        keyOf={({ id }) => id}
        curl={curl}
        empty={null}
      />
    </Card>
  )
}

/** An ongoing outage as a row of the log. */
function spellOf({
  errorDetail,
  statusCode,
  backedOffUntil,
  backOffs,
  ...outage
}: Report['ongoing'][number]): HealthSpell {
  return {
    ...outage,
    id: outage.offerId,
    event: 'outage',
    message: `${statusCode ?? ''} ${errorDetail}`.trim(),
    failures: backOffs,
    pauses: backOffs,
    pausedUntil: backedOffUntil,
    endedAt: null,
  }
}

type SumsProps = { readonly report: Report; readonly days: string; readonly since: number }

/** The sums of the period. */
function Sums({ report, days, since }: SumsProps) {
  const { outages, offers, downMs, longestMs, causes } = report
  const [main, ...further] = causes
  return (
    <Stats
      figures={[
        {
          label: 'Ended outages',
          value: count(outages),
          hint:
            report.since > since ? (
              <>
                since <Time at={report.since} />
              </>
            ) : days === '1' ? (
              'today'
            ) : (
              `in ${days} days`
            ),
        },
        { label: 'Offers affected', value: count(offers), hint: `${span(downMs)} down in all` },
        {
          label: 'Average outage',
          value: outages === 0 ? UNKNOWN : span(downMs / outages, Math.round),
          hint: outages === 0 ? undefined : `longest ${span(longestMs)}`,
        },
        {
          label: 'Main cause',
          value: words(main?.cause ?? UNKNOWN),
          hint:
            further.length === 0
              ? undefined
              : `then ${further
                  .slice(0, 2)
                  .map(({ cause }) => words(cause))
                  .join(', ')}`,
        },
      ]}
    />
  )
}

function NoOutages() {
  return (
    <Empty title="No outages in this period">
      <p>A failing offer is paused for a while and retried automatically. Its outages show here.</p>
      <Link to="/seller/offers" search={{}}>
        See your offers
      </Link>
    </Empty>
  )
}

const OFFER_COLUMNS: readonly Column<Report['byOffer'][number]>[] = [
  {
    label: 'Offer',
    cell: ({ offerId, model }) => (
      <Link to="/seller/offers/$offer" params={{ offer: offerId }}>
        {model}
      </Link>
    ),
    text: ({ model }) => model,
  },
  { label: 'Outages', isNumber: true, cell: ({ outages }) => count(outages), text: ({ outages }) => outages },
  { label: 'Pauses', isNumber: true, cell: ({ backOffs }) => count(backOffs), text: ({ backOffs }) => backOffs },
  {
    label: 'Time down',
    phone: 'lead',
    isNumber: true,
    cell: ({ downMs }) => span(downMs),
    text: ({ downMs }) => downMs,
    unit: 'ms',
  },
  {
    label: 'Longest',
    isNumber: true,
    cell: ({ longestMs }) => span(longestMs),
    text: ({ longestMs }) => longestMs,
    unit: 'ms',
  },
  { label: 'Cause', cell: ({ causes }) => causes.map(words).join(', '), text: ({ causes }) => causes.join(' ') },
  {
    label: 'Last',
    isNumber: true,
    cell: ({ lastAt }) => <Ago at={lastAt} />,
    text: ({ lastAt }) => lastAt,
    unit: 'time',
  },
]

function columnsOf(now: number, ask: (spell: HealthSpell) => void): readonly Column<HealthSpell>[] {
  return [
    {
      label: 'Offer',
      cell: ({ offerId, model }) => (
        <Link to="/seller/offers/$offer" params={{ offer: offerId }}>
          {model}
        </Link>
      ),
      text: ({ model }) => model,
    },
    ...healthColumns(now),
    {
      label: 'Change',
      cell: (spell) =>
        spell.pausedUntil === null || spell.pausedUntil <= now ? null : (
          <Button onClick={() => ask(spell)} aria-label={`Try the offer of ${spell.model} now`}>
            Try it now
          </Button>
        ),
    },
  ]
}

function Reset({ spell, onClose }: { readonly spell: HealthSpell; readonly onClose: () => void }) {
  const say = useToast()
  const reset = useChange(PageResetHealthDocument, {
    onDone: ({ resetOfferHealth: { healthy } }) => {
      onClose()
      say(healthy ? 'The offer takes calls again.' : 'The offer is still paused.')
    },
  })
  return (
    <Confirm
      title={`Try ${spell.model} now?`}
      about="The offer takes calls again. If the provider still fails, the next pause is longer."
      lines={[{ name: 'Paused until', now: <Ago at={spell.pausedUntil} />, after: 'not paused' }]}
      action="Try it now"
      isBusy={reset.isPending}
      error={reset.error}
      onDo={() => reset.mutate({ id: spell.offerId })}
      onClose={onClose}
    />
  )
}
