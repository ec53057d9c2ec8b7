import { listBuyerUsage, listUsageBuckets } from '#control-plane/services/buyers/buyer-usage.ts'
import { exportBuyerUsage } from '#control-plane/services/buyers/buyer-usage-export.ts'
import { listOwnJobs } from '#control-plane/services/buyers/jobs.ts'
import { getSavings } from '#control-plane/services/buyers/savings.ts'
import { listStatements } from '#control-plane/services/buyers/statements.ts'
import { listCaps } from '#control-plane/services/keys/key-caps.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

const envelope = 'v1'
/** The ends of a window may be Unix milliseconds. */
const numbers = ['from', 'to']

/** A buyer's usage, payments and savings. */
export const BUYER_READ_ROWS: readonly RestRow[] = [
  restRow({ method: 'GET', path: '/v1/buyer/usage', envelope, operation: listBuyerUsage, numbers }),
  restRow({ method: 'GET', path: '/v1/buyer/usage/buckets', envelope, operation: listUsageBuckets, numbers }),
  restRow({
    method: 'GET',
    path: '/v1/buyer/usage/export',
    envelope,
    operation: exportBuyerUsage,
    numbers,
    answer: ({ url }) => ({ kind: 'redirect', location: url }),
  }),
  restRow({ method: 'GET', path: '/v1/buyer/caps', envelope, operation: listCaps }),
  restRow({ method: 'GET', path: '/v1/buyer/jobs', envelope, operation: listOwnJobs }),
  restRow({ method: 'GET', path: '/v1/buyer/savings', envelope, operation: getSavings }),
  restRow({ method: 'GET', path: '/v1/buyer/statements', envelope, operation: listStatements, numbers }),
]
