import { invoke } from '#control-plane/operation/invoke.ts'
import type { Incident } from '#control-plane/services/market/incidents.ts'
import { IncidentSchema, marketIncidents } from '#control-plane/services/market/incidents.ts'
import type { RailState } from '#control-plane/services/market/rails.ts'
import { listRails, RailStateSchema } from '#control-plane/services/market/rails.ts'
import type { DeclaredIncident } from '#control-plane/services/operators/declared-incidents.ts'
import {
  DeclaredIncidentSchema,
  listDeclaredIncidents,
  MAX_NOTES,
} from '#control-plane/services/operators/declared-incidents.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const IncidentType = builder.objectRef<Incident>('Incident').implement({
  description: 'A time during which offers of a model at a provider were down. `endedAt` null: one still is.',
  fields: (t) => membersOf(t, IncidentSchema, { ints: ['offers', 'offersOnSale', 'backOffs'] }),
})

const IncidentNote = builder.objectRef<DeclaredIncident['notes'][number]>('IncidentNote').implement({
  description: 'What operators said of an incident, and the state it was in from then on.',
  fields: (t) => ({
    at: t.exposeFloat('at'),
    state: t.exposeString('state'),
    note: t.exposeString('note'),
  }),
})

export const Declared = builder.objectRef<DeclaredIncident>('DeclaredIncident').implement({
  description:
    'An incident as operators tell it: `investigating`, `identified`, `monitoring` or `resolved`. No model and no provider: the whole market.',
  fields: (t) => ({
    ...membersOf(t, DeclaredIncidentSchema),
    notes: t.field({ type: [IncidentNote], complexity: { multiplier: MAX_NOTES }, resolve: ({ notes }) => notes }),
  }),
})

const Rail = builder.objectRef<RailState>('Rail').implement({
  description: 'A way to pay: `up`, `switched_off` by operators, or `down` while no paid call can be admitted.',
  fields: (t) => membersOf(t, RailStateSchema),
})

builder.queryFields((t) => ({
  incidents: t.connection({
    type: IncidentType,
    description: 'Incidents out of real traffic, newest first: the last seven days, at most 31 at once.',
    args: { from: t.arg.float(), to: t.arg.float(), model: t.arg.id(), provider: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, { from, to, model, provider, ...args }, { ctx, actor, options }) => {
      const input = { ...given({ from, to, model, provider }), ...readPage(args) }
      return toConnection(await invoke(ctx, actor, marketIncidents, input, options), args)
    },
  }),
  declaredIncidents: t.connection({
    type: Declared,
    description: 'Incidents that operators declared, the last one first: over the last seven days, at most 31 at once.',
    args: { from: t.arg.float(), to: t.arg.float(), model: t.arg.id(), provider: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, { from, to, model, provider, ...args }, { ctx, actor, options }) => {
      const input = { ...given({ from, to, model, provider }), ...readPage(args) }
      return toConnection(await invoke(ctx, actor, listDeclaredIncidents, input, options), args)
    },
  }),
  rails: t.field({
    type: [Rail],
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listRails, {}, options),
  }),
}))
