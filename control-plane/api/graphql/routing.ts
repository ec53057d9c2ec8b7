import {
  RoutingPolicySchema,
  RoutingSimulationSchema,
  SimulatedModelSchema,
  SimulatedSideSchema,
  simulateRouting,
} from '#control-plane/services/routing/simulate-routing.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Side = objectOf('SimulatedSide', SimulatedSideSchema, {
  description:
    'The result of the replayed calls under one policy. `ttftMs` is the median time to the first token at the chosen providers.',
  ints: ['served', 'unserved', 'timed'],
})

const OfModel = objectOf('SimulatedModel', SimulatedModelSchema, {
  description:
    'The same calls by model. Models that the policy changes come first, then those with the most calls, then by name.',
  ints: ['calls', 'presentUnserved', 'policyUnserved'],
})

const Simulation = objectOf('RoutingSimulation', RoutingSimulationSchema, {
  description:
    'An estimate of the cost of past calls under another policy, on the present book. Amounts are whole micro-USD, instants Unix milliseconds.',
  ints: ['calls', 'comparedCalls'],
  types: { present: Side, policy: Side, byModel: OfModel },
  costs: { byModel: LIST_COST },
  descriptions: {
    present: "Under the account's present policy.",
    policy: 'Under the policy of the input.',
  },
})

const Policy = inputOf('RoutingPolicyInput', RoutingPolicySchema, {
  description:
    'The routing preferences of calls, in place of those of the account. `sort` is `price`, `latency` or `throughput`.',
  ints: ['minDiscountPct'],
})

builder.queryFields((t) => ({
  routingSimulation: t.field({
    type: Simulation,
    ...fieldOf(simulateRouting, { types: { policy: Policy.type } }),
  }),
}))
