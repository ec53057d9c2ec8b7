import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageResetHealthDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { SellerHealthDocument } from '#control-plane/dashboard/data/documents/seller-health.ts'
import { count, percent, span, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { defined } from '#control-plane/dashboard/data/search-params.ts'
import { daysAgo, useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { healthColumns } from '#control-plane/dashboard/seller/health-columns.tsx'
import type { HealthSpell, OfferOutages } from '#control-plane/dashboard/seller/health-spells.ts'
import { causesOf, foldHealth, sumOutages } from '#control-plane/dashboard/seller/health-spells.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago } from '#control-plane/dashboard/ui/marks.tsx'
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
  const variables = { since: daysAgo(Number(days) - 1), after }
  const query = useScreen(SellerHealthDocument, variables, { everyMs: REFRESH_MS })
  const lines = pagesOf(SellerHealthDocument, variables, (read) => read.healthLog)
  const whole = {
    rows: async () => {
      const { rows, isCut } = await lines.rows()
      return { rows: foldHealth(rows), isCut }
    },
  }
  const go = (search: HealthSearch) => void navigate({ search: defined(search), replace: true })
  const [reset, setReset] = useState<HealthSpell>()
  const now = useNow(REFRESH_MS)
  const curl = curlOf(SellerHealthDocument, variables, true)
  return (
    <Page
      title="Health"
      about="Offers that fail now come first. A failing offer is paused for a while and retried automatically."
      actions={<Segments label="Days" value={days} choices={DAYS} onChoose={(next) => go({ days: next, view })} />}
    >
      <Loaded query={query}>
        {({ healthLog }) => {
          const spells = foldHealth((healthLog?.edges ?? []).map(({ node }) => node))
          const { endCursor, hasNextPage = false } = healthLog?.pageInfo ?? {}
          const isPart = hasNextPage || after !== undefined
          return (
            <>
              {after === undefined ? (
                <Now spells={spells} days={days} isCut={hasNextPage} now={now} curl={curl} onReset={setReset} />
              ) : null}
              <Past view={view} isPart={isPart} onView={(next) => go({ days, view: next, after })}>
                {view === 'log' ? (
                  <Table
                    label="Health log"
                    columns={columnsOf(now, setReset)}
                    rows={spells}
                    keyOf={({ id }) => id}
                    curl={curl}
                    whole={whole}
                    empty={<NoOutages />}
                  />
                ) : (
                  <Table
                    label="Ended outages"
                    columns={OFFER_COLUMNS}
                    rows={sumOutages(spells)}
                    most={FEW_OFFERS}
                    keyOf={({ offerId }) => offerId}
                    curl={curl}
                    empty={<NoOutages />}
                  />
                )}
              </Past>
              {isPart ? (
                <RowsShown value={healthLog?.edges.length ?? 0}>
                  <Pager
                    after={after}
                    next={endCursor}
                    hasNext={hasNextPage}
                    onPage={(to) => void navigate({ search: defined({ days, view, after: to }) })}
                  />
                </RowsShown>
              ) : null}
            </>
          )
        }}
      </Loaded>
      {reset === undefined ? null : <Reset spell={reset} onClose={() => setReset(undefined)} />}
    </Page>
  )
}

type PastProps = {
  readonly view: 'log' | undefined
  /** True where the table has a part of the period. */
  readonly isPart: boolean
  readonly onView: (view: 'log' | undefined) => void
  readonly children: ReactNode
}

/** The outages that ended, by offer or one by one. */
function Past({ view, isPart, onView, children }: PastProps) {
  const part = isPart ? ', of 100 lines of the log' : ''
  return (
    <Card
      title={view === 'log' ? 'Outages and events' : 'Ended outages by offer'}
      about={`${view === 'log' ? 'An outage is one row. Newest first' : 'The longest time down first'}${part}. Days are UTC days`}
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
  { value: 'log', label: 'Every outage' },
] as const
/** Offers that are listed at first. */
const FEW_OFFERS = 10

type NowProps = {
  readonly spells: readonly HealthSpell[]
  readonly days: string
  /** True where the period has more lines than these. */
  readonly isCut: boolean
  readonly now: number
  readonly curl: string
  readonly onReset: (spell: HealthSpell) => void
}

/** The offers that fail now, and the sums of the period. */
function Now({ spells, days, isCut, now, curl, onReset }: NowProps) {
  const failing = spells.filter(({ event, endedAt }) => event === 'outage' && endedAt === null)
  const offers = sumOutages(spells)
  const outages = offers.reduce((sum, one) => sum + one.outages, 0)
  const downMs = offers.reduce((sum, one) => sum + one.downMs, 0)
  const [worst] = offers
  const newest = Math.max(...offers.map(({ lastAt }) => lastAt))
  const last = offers.find(({ lastAt }) => lastAt === newest)
  const period = days === '1' ? 'today' : `in ${days} days`
  return (
    <>
      {failing.length === 0 ? (
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
          title={failing.length === 1 ? '1 offer fails now' : `${count(failing.length)} offers fail now`}
          about="A paused offer gets no calls until it is retried"
          isFlush
        >
          <Table
            label="Failing now"
            columns={columnsOf(now, onReset)}
            rows={failing}
            keyOf={({ id }) => id}
            curl={curl}
            empty={null}
          />
        </Card>
      )}
      <Stats
        figures={[
          {
            label: 'Ended outages',
            value: count(outages),
            hint: `${period}${isCut ? ', newest 100 log lines' : ''}`,
          },
          {
            label: 'Offers affected',
            value: count(offers.length),
            hint:
              outages === 0
                ? 'none'
                : `${percent((100 * offers.filter((one) => one.outages === 1).length) / offers.length, 0)} of them once`,
          },
          {
            label: 'Average outage',
            value: outages === 0 ? UNKNOWN : span(downMs / outages, Math.round),
            hint: worst === undefined ? undefined : `longest ${span(Math.max(...offers.map((one) => one.longestMs)))}`,
          },
          {
            label: 'Main cause',
            value: words(causesOf(spells)[0] ?? UNKNOWN),
            hint:
              causesOf(spells).length > 1 ? `then ${causesOf(spells).slice(1, 3).map(words).join(', ')}` : undefined,
          },
        ]}
      />
    </>
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

const OFFER_COLUMNS: readonly Column<OfferOutages>[] = [
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
  { label: 'Failures', isNumber: true, cell: ({ failures }) => count(failures), text: ({ failures }) => failures },
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
