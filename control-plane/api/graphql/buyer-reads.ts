import { z } from 'zod'
import { ExportLinkSchema } from '#control-plane/services/exports/export-link.ts'
import {
  listBuyerUsage,
  listUsageBuckets,
  UsageBucketSchema,
  UsageFilterFields,
  UsageItemSchema,
} from '#control-plane/services/usage/buyer-usage.ts'
import { exportBuyerUsage } from '#control-plane/services/usage/buyer-usage-export.ts'
import { getLatency, LatencySchema, PercentilesSchema } from '#control-plane/services/usage/latency.ts'
import { exportStatement } from '#control-plane/services/usage/monthly-statement.ts'
import { getSavings, SavingsSchema } from '#control-plane/services/usage/savings.ts'
import { listStatements, StatementLineSchema } from '#control-plane/services/usage/statements.ts'
import { WindowFields } from '#control-plane/services/usage/usage-window.ts'
import { builder } from './builder.ts'
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const UsageCall = objectOf('UsageCall', UsageItemSchema, {
  description: 'A booked call. Amounts are whole micro-USD, instants Unix milliseconds.',
  ints: ['ttftMs', 'durationMs'],
})

const Bucket = objectOf('UsageBucket', UsageBucketSchema, {
  description: 'Calls of one UTC hour, day or month, and of one group if the query names a grouping.',
})

const SavingsInBucket = objectOf('SavingsBucket', SavingsSchema.shape.buckets.unwrap().element, {
  description: 'Spending of one UTC hour, day or month, which begins at `bucket`.',
})

const Savings = objectOf('Savings', SavingsSchema, {
  description: 'Spending, compared with the list prices, in whole micro-USD.',
  types: { byModel: 'SavingsOfModel', buckets: SavingsInBucket },
  costs: { byModel: LIST_COST, buckets: LIST_COST },
})

const Percentiles = objectOf('Percentiles', PercentilesSchema, {
  description: 'The median and the 95th percentile, in milliseconds.',
  ints: ['p50', 'p95'],
})

const Latency = objectOf('Latency', LatencySchema, {
  description: 'The duration of the newest successful calls of a period, at most 20,000.',
  ints: ['calls', 'timed'],
  types: { ttftMs: Percentiles, durationMs: Percentiles },
  descriptions: { timed: 'The number of streamed calls. Only these have a time to the first token.' },
})

const Line = objectOf('StatementLine', StatementLineSchema, {
  description: 'A line of the ledger with the balance after it, in whole micro-USD.',
})

const Link = objectOf('ExportLink', ExportLinkSchema, {
  description: 'A link to a file that opens without a key, and the end of the link.',
})

const UsageWindow = inputOf('UsageWindow', z.strictObject(WindowFields), {
  description: 'A period that ends now, or the bounds of a window in Unix milliseconds.',
  isOptional: true,
})

const UsageFilter = inputOf('UsageFilter', z.strictObject(UsageFilterFields), { isOptional: true, texts: ['keyId'] })

const StatementFormat = builder.enumType('StatementFormat', { values: ['csv', 'pdf'] as const })

builder.queryFields((t) => ({
  usage: t.connection({ type: UsageCall, ...pageOf(listBuyerUsage, { groups: { filter: UsageFilter } }) }),
  usageBuckets: t.field({
    type: [Bucket],
    complexity: LIST_COST,
    ...fieldOf(listUsageBuckets, { groups: { filter: UsageFilter }, ints: ['top'] }, ({ buckets }) => buckets),
  }),
  usageExport: t.field({
    type: Link,
    ...fieldOf(exportBuyerUsage, { groups: { filter: UsageFilter }, without: ['format'] }),
  }),
  statementExport: t.field({ type: Link, ...fieldOf(exportStatement, { types: { format: StatementFormat } }) }),
  savings: t.field({ type: Savings, ...fieldOf(getSavings) }),
  latency: t.field({ type: Latency, ...fieldOf(getLatency) }),
  statements: t.connection({ type: Line, ...pageOf(listStatements, { groups: { window: UsageWindow } }) }),
}))
