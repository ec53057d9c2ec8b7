import { invoke } from '#control-plane/operation/invoke.ts'
import type { BuyerJob } from '#control-plane/services/buyers/job-view.ts'
import { BuyerJobSchema } from '#control-plane/services/buyers/job-view.ts'
import { cancelOwnJob, listOwnJobs } from '#control-plane/services/buyers/jobs.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const State = builder.enumType('JobState', { values: ['running', 'succeeded', 'failed', 'cancelled'] as const })
const Choice = builder.enumType('JobChoice', { values: ['running', 'any'] as const })

export const JobType = builder.objectRef<BuyerJob>('Job').implement({
  description: 'A long job. Amounts are micro-USD as plain digits, instants Unix milliseconds.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, BuyerJobSchema, { ints: ['artifacts'], without: ['state'] }),
    state: t.expose('state', { type: State }),
  }),
})

builder.queryFields((t) => ({
  jobs: t.connection({
    type: JobType,
    description: 'Long jobs of the caller, newest first.',
    args: { state: t.arg({ type: Choice }) },
    complexity: costOfPage,
    resolve: async (_root, { state, ...args }, { ctx, actor, options }) =>
      toConnection(await invoke(ctx, actor, listOwnJobs, { ...given({ state }), ...readPage(args) }, options), args),
  }),
}))

builder.mutationFields((t) => ({
  cancelJob: t.field({
    type: JobType,
    description: 'Asks the provider to cancel a long job of the caller. One that had finished stays finished.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, cancelOwnJob, { id }, options),
  }),
}))
