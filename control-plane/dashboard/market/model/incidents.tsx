import { Link } from '@tanstack/react-router'
import type { Mark } from '#control-plane/dashboard/charts/marks.ts'
import type { PublicModelQuery } from '#control-plane/dashboard/data/documents/public-model.ts'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

const incidentsOf = ({ declaredIncidents }: PublicModelQuery) =>
  (declaredIncidents?.edges ?? []).map(({ node }) => node)

/** Incidents that operators declared for the model, as areas of its charts. */
export function marksOf(data: PublicModelQuery): readonly Mark[] {
  return incidentsOf(data).map(({ title, startedAt, endedAt }) => ({ name: title, from: startedAt, to: endedAt }))
}

/** The incidents of the model that are open. */
export function IncidentsOf({ data }: { readonly data: PublicModelQuery }) {
  const open = incidentsOf(data).filter(({ endedAt }) => endedAt === null)
  return open.map(({ id, title, state, startedAt }) => (
    <Notice key={id} tone="warn">
      <span>
        <strong>{title}</strong> since <Time at={startedAt} />
      </span>
      <span className="actions">
        <Badge tone="warn">{state}</Badge>
        <Link to="/status">What is known</Link>
      </span>
    </Notice>
  ))
}
