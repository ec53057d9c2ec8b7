import { nameSavings } from '#control-plane/api/buyer-synonyms.ts'
import { cancelOwnJob, listOwnJobs } from '#control-plane/services/jobs/jobs.ts'
import { listCaps } from '#control-plane/services/keys/key-caps.ts'
import { listBuyerUsage, listUsageBuckets } from '#control-plane/services/usage/buyer-usage.ts'
import { exportBuyerUsage } from '#control-plane/services/usage/buyer-usage-export.ts'
import { getLatency } from '#control-plane/services/usage/latency.ts'
import { exportStatement } from '#control-plane/services/usage/monthly-statement.ts'
import { getSavings } from '#control-plane/services/usage/savings.ts'
import { listStatements } from '#control-plane/services/usage/statements.ts'
import { listWebhookDeliveries, testWebhook } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import {
  changeWebhook,
  createWebhook,
  getWebhook,
  listBuyerWebhooks,
  removeWebhook,
  rotateWebhookSecret,
} from '#control-plane/services/webhooks/webhooks.ts'
import { mutationOf, queryOf, router } from './procedure.ts'
import { withSecret } from './secrets.ts'

/** A buyer's usage, payments and savings. */
export const usage = router({
  list: queryOf(listBuyerUsage),
  buckets: queryOf(listUsageBuckets),
  latency: queryOf(getLatency),
  export: queryOf(exportBuyerUsage),
})

export const job = router({
  list: queryOf(listOwnJobs),
  cancel: mutationOf(cancelOwnJob),
})

export const cap = router({
  list: queryOf(listCaps),
})

export const savings = router({
  get: queryOf(getSavings, nameSavings),
})

export const statement = router({
  list: queryOf(listStatements),
  export: queryOf(exportStatement),
})

export const webhook = router({
  create: mutationOf(createWebhook, withSecret),
  list: queryOf(listBuyerWebhooks),
  get: queryOf(getWebhook),
  update: mutationOf(changeWebhook),
  remove: mutationOf(removeWebhook),
  rotateSecret: mutationOf(rotateWebhookSecret, withSecret),
  test: mutationOf(testWebhook),
  deliveries: queryOf(listWebhookDeliveries),
})
