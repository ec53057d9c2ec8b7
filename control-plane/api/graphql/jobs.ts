import { BuyerJobSchema } from '#control-plane/services/jobs/job-view.ts'
import { cancelOwnJob, listOwnJobs } from '#control-plane/services/jobs/jobs.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const Choice = builder.enumType('JobChoice', {
  values: ['any', 'running', 'succeeded', 'failed', 'cancelled'] as const,
})

export const JobType = objectOf('Job', BuyerJobSchema, {
  description: 'A long job. Amounts are micro-USD as plain digits, instants Unix milliseconds.',
  authScopes: { buyer: true },
  ints: ['artifacts'],
  types: { state: 'JobState' },
})

builder.queryFields((t) => ({
  jobs: t.connection({
    type: JobType,
    ...pageOf(listOwnJobs, { types: { state: Choice } }),
  }),
}))

builder.mutationFields((t) => ({
  cancelJob: t.field({
    type: JobType,
    ...fieldOf(cancelOwnJob),
  }),
}))
