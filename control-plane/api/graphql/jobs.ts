import { invoke } from '#control-plane/operation/invoke.ts'
import type { BuyerJob } from '#control-plane/services/buyers/jobs.ts'
import { listOwnJobs } from '#control-plane/services/buyers/jobs.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const State = builder.enumType('JobState', { values: ['running', 'succeeded', 'failed', 'cancelled'] as const })
const Choice = builder.enumType('JobChoice', { values: ['running', 'any'] as const })

const Job = builder.objectRef<BuyerJob>('Job').implement({
  description: 'A long job. Amounts are micro-USD as plain digits, instants Unix milliseconds.',
  authScopes: { buyer: true },
  fields: (t) => ({
    id: t.exposeID('id'),
    model: t.exposeString('model'),
    provider: t.exposeString('provider', { nullable: true }),
    endpoint: t.exposeString('endpoint'),
    keyId: t.exposeID('keyId', { nullable: true }),
    state: t.expose('state', { type: State }),
    submittedAt: t.exposeFloat('submittedAt'),
    deadlineAt: t.exposeFloat('deadlineAt'),
    endedAt: t.exposeFloat('endedAt', { nullable: true }),
    quoteMicro: t.exposeString('quoteMicro'),
    chargeMicro: t.exposeString('chargeMicro', { nullable: true }),
  }),
})

builder.queryFields((t) => ({
  jobs: t.connection({
    type: Job,
    description: 'Long jobs of the caller, newest first.',
    args: { state: t.arg({ type: Choice }) },
    complexity: costOfPage,
    resolve: async (_root, { state, ...args }, { ctx, actor, options }) =>
      toConnection(await invoke(ctx, actor, listOwnJobs, { ...given({ state }), ...readPage(args) }, options), args),
  }),
}))
