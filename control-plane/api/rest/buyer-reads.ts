import { NamedSavingsSchema, nameSavings } from '#control-plane/api/buyer-synonyms.ts'
import { cancelOwnJob, listOwnJobs } from '#control-plane/services/jobs/jobs.ts'
import { listCaps } from '#control-plane/services/keys/key-caps.ts'
import { listActivity } from '#control-plane/services/usage/activity.ts'
import { listBuyerUsage, listUsageBuckets } from '#control-plane/services/usage/buyer-usage.ts'
import { exportBuyerUsage } from '#control-plane/services/usage/buyer-usage-export.ts'
import { exportStatement } from '#control-plane/services/usage/monthly-statement.ts'
import { getSavings } from '#control-plane/services/usage/savings.ts'
import { listStatements } from '#control-plane/services/usage/statements.ts'
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'v1'

/** The reads of a buyer's usage, caps, jobs and statements. */
export const BUYER_READ_ROWS: readonly RestRow[] = [
  restRow({ method: 'GET', path: '/v1/buyer/usage', tag: 'Usage', envelope, operation: listBuyerUsage }),
  restRow({ method: 'GET', path: '/v1/buyer/usage/buckets', tag: 'Usage', envelope, operation: listUsageBuckets }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/usage/export',
    tag: 'Usage',
    as: 'redirect',
    envelope,
    operation: exportBuyerUsage,
    answer: ({ url }) => ({ kind: 'redirect', location: url }),
  }),
  // OpenRouter's path for the sums of each day.
  restRow({ method: 'GET', path: '/v1/activity', tag: 'Usage', envelope, operation: listActivity }),
  restRow({ method: 'GET', path: '/v1/buyer/caps', tag: 'Usage', envelope, operation: listCaps }),
  restRow({ method: 'GET', path: '/v1/buyer/jobs', tag: 'Usage', envelope, operation: listOwnJobs }),
  restRow({
    method: 'DELETE',
    path: '/v1/buyer/jobs/:id',
    tag: 'Usage',
    refusals: [502],
    envelope,
    operation: cancelOwnJob,
  }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/savings',
    tag: 'Usage',
    envelope,
    operation: getSavings,
    body: writtenAs(NamedSavingsSchema, nameSavings),
  }),
  restRow({ method: 'GET', path: '/v1/buyer/statements', tag: 'Usage', envelope, operation: listStatements }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/statements/export',
    tag: 'Usage',
    as: 'redirect',
    envelope,
    operation: exportStatement,
    answer: ({ url }) => ({ kind: 'redirect', location: url }),
  }),
]
