import type { PublicStatusQuery } from '#control-plane/dashboard/data/documents/public-status.ts'
import { span, words } from '#control-plane/dashboard/data/format.ts'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

type Incidents = PublicStatusQuery['incidents']
type Incident = NonNullable<Incidents>['edges'][number]['node']

const COLUMNS: readonly Column<Incident>[] = [
  {
    label: 'Since',
    cell: ({ startedAt }) => <Time at={startedAt} />,
    text: ({ startedAt }) => startedAt,
    unit: 'time',
  },
  { label: 'Model', cell: ({ model }) => model, text: ({ model }) => model },
  { label: 'Provider', cell: ({ provider }) => provider, text: ({ provider }) => provider },
  { label: 'Cause', cell: ({ cause }) => (cause === null ? 'unknown' : words(cause)), text: ({ cause }) => cause },
  {
    label: 'Offers',
    isNumber: true,
    cell: ({ offers, offersOnSale }) => `${offers} of ${offersOnSale}`,
    text: ({ offers }) => offers,
  },
  {
    label: 'Lasted',
    isNumber: true,
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? <Badge tone="bad">still down</Badge> : span(endedAt - startedAt),
    text: ({ endedAt }) => endedAt,
    unit: 'time',
  },
]

/** Incidents that were found out of real calls. */
export function IncidentTable({ incidents, curl }: { readonly incidents: Incidents; readonly curl: string }) {
  return (
    <Table
      label="Incidents"
      columns={COLUMNS}
      rows={(incidents?.edges ?? []).map(({ node }) => node)}
      most={15}
      keyOf={({ id }) => id}
      curl={curl}
      empty={
        incidents === null ? (
          <Empty title="Not known yet">
            <p>The failures of this time are being looked through.</p>
          </Empty>
        ) : (
          <Empty title="Nothing went down">
            <p>When offers of a model back off, it is told here.</p>
          </Empty>
        )
      }
    />
  )
}
