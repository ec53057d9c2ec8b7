import { invoke } from '#control-plane/operation.ts'
import type { Incident } from '#control-plane/services/market/incidents.ts'
import { marketIncidents } from '#control-plane/services/market/incidents.ts'
import type { RailState } from '#control-plane/services/market/rails.ts'
import { listRails } from '#control-plane/services/market/rails.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const IncidentType = builder.objectRef<Incident>('Incident').implement({
  description: 'A time during which offers of a model at a provider were down. `endedAt` null: one still is.',
  fields: (t) => ({
    id: t.exposeID('id'),
    model: t.exposeString('model'),
    provider: t.exposeString('provider'),
    startedAt: t.exposeFloat('startedAt'),
    endedAt: t.exposeFloat('endedAt', { nullable: true }),
    offers: t.exposeInt('offers'),
    offersOnSale: t.exposeInt('offersOnSale'),
    backOffs: t.exposeInt('backOffs'),
    cause: t.exposeString('cause', { nullable: true }),
  }),
})

const Rail = builder.objectRef<RailState>('Rail').implement({
  description: 'A way to pay: `up`, `switched_off` by operators, or `down` while no paid call can be admitted.',
  fields: (t) => ({
    rail: t.exposeString('rail'),
    state: t.exposeString('state'),
  }),
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
  rails: t.field({
    type: [Rail],
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listRails, {}, options),
  }),
}))
