import type { PublicStatusQuery } from '#control-plane/dashboard/data/documents/public-status.ts'
import { span, words } from '#control-plane/dashboard/data/format.ts'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import type { FoldedIncident } from './folded-incidents.ts'
import { foldIncidents } from './folded-incidents.ts'

type Incidents = PublicStatusQuery['incidents']

const COLUMNS: readonly Column<FoldedIncident>[] = [
  { label: 'Model', cell: ({ model }) => model, text: ({ model }) => model },
  { label: 'Provider', cell: ({ provider }) => provider, text: ({ provider }) => provider, phone: 'bare' },
  { label: 'Cause', cell: ({ cause }) => (cause === null ? 'unknown' : words(cause)), text: ({ cause }) => cause },
  timeColumn('Since', ({ startedAt }) => startedAt, { phone: 'bare' }),
  { label: 'Outages', isNumber: true, cell: ({ times }) => times, text: ({ times }) => times },
  {
    label: 'Offers down',
    isNumber: true,
    cell: ({ offers, offersOnSale }) => `${offers} of ${offersOnSale}`,
    text: ({ offers }) => offers,
  },
  {
    label: 'Down for',
    isNumber: true,
    cell: ({ downMs, endedAt }) => (endedAt === null ? <Badge tone="bad">still down</Badge> : span(downMs)),
    text: ({ downMs }) => downMs,
    unit: 'ms',
    phone: 'lead',
  },
]

/** Outages that the market found in its calls. Outages that follow each other closely share one line. */
export function IncidentTable({ incidents, curl }: { readonly incidents: Incidents; readonly curl: string }) {
  return (
    <Table
      label="Incidents"
      columns={COLUMNS}
      rows={foldIncidents((incidents?.edges ?? []).map(({ node }) => node))}
      most={10}
      keyOf={({ id }) => id}
      curl={curl}
      empty={
        incidents === null ? (
          <Empty title="Not known yet">
            <p>The failures of this period are not counted yet.</p>
          </Empty>
        ) : (
          <Empty title="No outages">
            <p>A provider that stops answering shows up here within minutes.</p>
          </Empty>
        )
      }
    />
  )
}
