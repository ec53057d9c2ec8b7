import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageResetHealthDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { SellerHealthDocument } from '#control-plane/dashboard/data/documents/seller-health.ts'
import { daysAgo, useNow } from '#control-plane/dashboard/data/use-now.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { healthColumns } from '#control-plane/dashboard/seller/health-columns.tsx'
import type { HealthSpell } from '#control-plane/dashboard/seller/health-spells.ts'
import { foldHealth } from '#control-plane/dashboard/seller/health-spells.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
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

function Health() {
  const { days = '7', after } = useSearch({ from: '/seller/health' })
  const navigate = useNavigate({ from: '/seller/health' })
  const variables = { since: daysAgo(Number(days) - 1), after }
  const query = useScreen(SellerHealthDocument, variables, { everyMs: REFRESH_MS })
  const whole = pagesOf(SellerHealthDocument, variables, (read) => read.healthLog)
  const [reset, setReset] = useState<HealthSpell>()
  const now = useNow(REFRESH_MS)
  return (
    <Page
      title="Health"
      about="Failures of your offers, their cause, and when an offer is paused or back."
      actions={
        <Segments
          label="Days"
          value={days}
          choices={DAYS}
          onChoose={(next) => void navigate({ search: { days: next }, replace: true })}
        />
      }
    >
      <Loaded query={query}>
        {(data) => (
          <Card title="Outages and events" about="An outage is one row. Newest first. Days are UTC days" isFlush>
            <Table
              label="Health log"
              columns={columnsOf(now, setReset)}
              rows={foldHealth((data.healthLog?.edges ?? []).map(({ node }) => node))}
              keyOf={({ id }) => id}
              curl={curlOf(SellerHealthDocument, variables, true)}
              whole={{
                rows: async () => {
                  const { rows: lines, isCut } = await whole.rows()
                  return { rows: foldHealth(lines), isCut }
                },
              }}
              empty={
                <Empty title="No problems in this period">
                  <p>A failing offer is paused for a while and retried automatically. Each step appears here.</p>
                  <Link to="/seller/offers" search={{}}>
                    See your offers
                  </Link>
                </Empty>
              }
              foot={
                <Pager
                  after={after}
                  next={data.healthLog?.pageInfo.endCursor}
                  hasNext={data.healthLog?.pageInfo.hasNextPage}
                  onPage={(to) => void navigate({ search: { days, after: to } })}
                />
              }
            />
          </Card>
        )}
      </Loaded>
      {reset === undefined ? null : <Reset spell={reset} onClose={() => setReset(undefined)} />}
    </Page>
  )
}

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
