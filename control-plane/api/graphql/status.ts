import {
  DeclaredIncidentSchema,
  listDeclaredIncidents,
  MAX_NOTES,
} from '#control-plane/services/incidents/declared-incidents.ts'
import { IncidentSchema, marketIncidents } from '#control-plane/services/incidents/incidents.ts'
import { listRails, RailStateSchema } from '#control-plane/services/market/rails.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const Incident = objectOf('Incident', IncidentSchema, {
  description:
    'A time during which offers of a model at a provider were down. `endedAt` is null while an offer is still down.',
  ints: ['offers', 'offersOnSale', 'backOffs'],
})

const IncidentNote = objectOf('IncidentNote', DeclaredIncidentSchema.shape.notes.unwrap().element, {
  description: 'A note of operators on an incident, and the state of the incident from then on.',
})

export const Declared = objectOf('DeclaredIncident', DeclaredIncidentSchema, {
  description:
    'An incident that operators declared: `investigating`, `identified`, `monitoring` or `resolved`. Without a model and a provider it concerns the whole market.',
  types: { notes: IncidentNote },
  costs: { notes: { multiplier: MAX_NOTES } },
})

const Rail = objectOf('Rail', RailStateSchema, {
  description: 'A way to pay: `up`, `switched_off` by operators, or `down` while no paid call can be admitted.',
})

builder.queryFields((t) => ({
  incidents: t.connection({
    type: Incident,
    ...pageOf(marketIncidents, { ids: ['model'] }, (page) => page),
  }),
  declaredIncidents: t.connection({
    type: Declared,
    ...pageOf(listDeclaredIncidents, { ids: ['model'] }),
  }),
  rails: t.field({ type: [Rail], ...fieldOf(listRails) }),
}))
