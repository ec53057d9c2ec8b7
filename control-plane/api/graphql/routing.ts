import { invoke } from '#control-plane/operation/invoke.ts'
import type {
  RoutingSimulation,
  SimulatedModel,
  SimulatedSide,
} from '#control-plane/services/buyers/simulate-routing.ts'
import {
  RoutingSimulationSchema,
  SimulatedModelSchema,
  SimulatedSideSchema,
  simulateRouting,
} from '#control-plane/services/buyers/simulate-routing.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'

const Side = builder.objectRef<SimulatedSide>('SimulatedSide').implement({
  description:
    'What would become of the replayed calls under one policy. `ttftMs` is the median of what the chosen providers need to the first token.',
  fields: (t) => membersOf(t, SimulatedSideSchema, { ints: ['served', 'unserved', 'timed'] }),
})

const OfModel = builder.objectRef<SimulatedModel>('SimulatedModel').implement({
  description:
    'The same calls by model. Models that the policy changes come first, then those with the most calls, then by name.',
  fields: (t) => membersOf(t, SimulatedModelSchema, { ints: ['calls', 'presentUnserved', 'policyUnserved'] }),
})

const Simulation = builder.objectRef<RoutingSimulation>('RoutingSimulation').implement({
  description:
    'An estimate of what calls of the past would have cost under another policy, on the book of now. Amounts are whole micro-USD, instants Unix milliseconds.',
  fields: (t) => ({
    ...membersOf(t, RoutingSimulationSchema, { ints: ['calls', 'comparedCalls'] }),
    present: t.field({
      type: Side,
      description: "Under the account's policy of now.",
      resolve: ({ present }) => present,
    }),
    policy: t.field({
      type: Side,
      description: 'Under the policy that was asked about.',
      resolve: ({ policy }) => policy,
    }),
    byModel: t.field({
      type: [OfModel],
      complexity: { field: 1, multiplier: 50 },
      resolve: ({ byModel }) => byModel,
    }),
  }),
})

const Policy = builder.inputType('RoutingPolicyInput', {
  description:
    'What calls may ask of their offers. It stands in place of the preferences of the account. `sort` is `price`, `latency` or `throughput`.',
  fields: (t) => ({
    minDiscountPct: t.int(),
    providersOnly: t.stringList(),
    providersBlocked: t.stringList(),
    providerOrder: t.stringList(),
    allowUntrusted: t.boolean(),
    sort: t.string(),
  }),
})

builder.queryFields((t) => ({
  routingSimulation: t.field({
    type: Simulation,
    description:
      'Replays the newest 10,000 calls of the last `24h`, or of `yesterday` in UTC, that offers of sellers served.',
    args: { policy: t.arg({ type: Policy, required: true }), window: t.arg.string() },
    resolve: (_root, { policy, window }, { ctx, actor, options }) =>
      invoke(ctx, actor, simulateRouting, { policy: given(policy), ...given({ window }) }, options),
  }),
}))
