import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorIncidentsQuery } from '#control-plane/dashboard/data/documents/operator-incidents.ts'
import { OperatorIncidentsDocument } from '#control-plane/dashboard/data/documents/operator-incidents.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { IncidentTable } from '#control-plane/dashboard/market/incident-table.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { Switches } from './switches.tsx'
import type { ShownIncident } from './tell-incident.tsx'
import { EndIncident, TellIncident } from './tell-incident.tsx'

const REFRESH_MS = 15_000

export function IncidentsPage() {
  return (
    <Gate side="operator" title="Incidents">
      <Incidents />
    </Gate>
  )
}

function Incidents() {
  const variables = {}
  const query = useScreen(OperatorIncidentsDocument, variables, { everyMs: REFRESH_MS })
  const curl = curlOf(OperatorIncidentsDocument, variables, true)
  return (
    <Page
      title="Incidents"
      about="What buyers see on the status page, what traffic shows, and the switches that stop a part of the market."
    >
      <Loaded query={query}>
        {(data) => (
          <>
            <Declared data={data} curl={curl} />
            <Card title="Detected from traffic" about="The last week" isFlush>
              <IncidentTable incidents={data.incidents} curl={curl} />
            </Card>
            <Card title="Delisted offers" about="Up to 50. Sellers see the reason" isFlush>
              <Table
                label="Delisted offers"
                columns={DELISTED_COLUMNS}
                rows={(data.anyOffers?.edges ?? []).map(({ node }) => node)}
                keyOf={({ id }) => id}
                curl={curl}
                empty={
                  <Empty title="Nothing is delisted">
                    <p>Delisted offers are listed here with the reason that sellers see.</p>
                    <Link to="/operator/offers" search={{}}>
                      Offers of the market
                    </Link>
                  </Empty>
                }
              />
            </Card>
            <Switches data={data} curl={curl} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

type Dialog = { readonly what: 'tell' | 'end'; readonly incident: ShownIncident | undefined }

function Declared({ data, curl }: { readonly data: OperatorIncidentsQuery; readonly curl: string }) {
  const [dialog, setAsked] = useState<Dialog>()
  const close = () => setAsked(undefined)
  return (
    <Card
      title="Published incidents"
      isFlush
      actions={
        <Button kind="primary" onClick={() => setAsked({ what: 'tell', incident: undefined })}>
          Declare an incident
        </Button>
      }
    >
      <Table
        label="Declared incidents"
        columns={[...TOLD_COLUMNS, changesOf(setAsked)]}
        rows={(data.declaredIncidents?.edges ?? []).map(({ node }) => node)}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No incidents in the last 7 days">
            <p>Incidents that you publish appear on the status page and on the charts of their models.</p>
            <Code label="Declare an incident" text={'npx market operator incidents declare --help'} />
          </Empty>
        }
      />
      {dialog?.what === 'tell' ? <TellIncident incident={dialog.incident} onClose={close} /> : null}
      {dialog?.what === 'end' && dialog.incident !== undefined ? (
        <EndIncident incident={dialog.incident} onClose={close} />
      ) : null}
    </Card>
  )
}

function changesOf(ask: (dialog: Dialog) => void): Column<ShownIncident> {
  return {
    label: 'Change',
    cell: (incident) =>
      incident.endedAt === null ? (
        <span className="actions" style={{ flexWrap: 'nowrap' }}>
          <Button onClick={() => ask({ what: 'tell', incident })} aria-label={`Add an update to ${incident.title}`}>
            Add update
          </Button>
          <Button onClick={() => ask({ what: 'end', incident })} aria-label={`End ${incident.title}`}>
            End
          </Button>
        </span>
      ) : (
        <span className="muted">
          ended <Time at={incident.endedAt} />
        </span>
      ),
  }
}

const TOLD_COLUMNS: readonly Column<ShownIncident>[] = [
  { label: 'Title', cell: ({ title }) => title, text: ({ title }) => title },
  {
    label: 'State',
    cell: ({ state, endedAt }) => (endedAt === null ? <Badge tone="warn">{state}</Badge> : state),
    text: ({ state }) => state,
  },
  {
    label: 'About',
    cell: ({ models, providers }) => [...models, ...providers].join(', ') || 'the whole market',
    text: ({ models }) => models.join(' '),
  },
  timeColumn('Since', ({ startedAt }) => startedAt),
  { label: 'Last note', cell: ({ notes }) => notes.at(-1)?.note ?? '', text: ({ notes }) => notes.at(-1)?.note },
]

type Delisted = NonNullable<OperatorIncidentsQuery['anyOffers']>['edges'][number]['node']

const DELISTED_COLUMNS: readonly Column<Delisted>[] = [
  {
    label: 'Model',
    phone: 'title',
    cell: ({ model, id }) => (
      <Link to="/operator/offers" search={{ model, delisted: 'yes' }} title={id}>
        {model}
      </Link>
    ),
    text: ({ model }) => model,
    file: [
      { label: 'Model', text: ({ model }) => model },
      { label: 'Offer', text: ({ id }) => id },
    ],
  },
  { label: 'Provider', cell: ({ provider }) => provider, text: ({ provider }) => provider },
  {
    label: 'Reason',
    phone: 'bare',
    cell: ({ delistedReason }) => delistedReason ?? '',
    text: ({ delistedReason }) => delistedReason,
  },
]
