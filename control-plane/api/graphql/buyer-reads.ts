import { invoke } from '#control-plane/operation/invoke.ts'
import type { UsageBucket, UsageFigures, UsageItem } from '#control-plane/services/buyers/buyer-usage.ts'
import {
  listBuyerUsage,
  listUsageBuckets,
  UsageBucketSchema,
  UsageItemSchema,
} from '#control-plane/services/buyers/buyer-usage.ts'
import { exportBuyerUsage } from '#control-plane/services/buyers/buyer-usage-export.ts'
import type { Latency } from '#control-plane/services/buyers/latency.ts'
import { getLatency } from '#control-plane/services/buyers/latency.ts'
import type { Savings, SavingsFigures } from '#control-plane/services/buyers/savings.ts'
import { getSavings, SavingsSchema } from '#control-plane/services/buyers/savings.ts'
import type { StatementLine } from '#control-plane/services/buyers/statements.ts'
import { listStatements, StatementLineSchema } from '#control-plane/services/buyers/statements.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const UsageCall = builder.objectRef<UsageItem>('UsageCall').implement({
  description: 'A booked call. Amounts are whole micro-USD, instants Unix milliseconds.',
  fields: (t) => membersOf(t, UsageItemSchema, { ints: ['ttftMs', 'durationMs'] }),
})

const Bucket = builder.objectRef<UsageBucket & UsageFigures>('UsageBucket').implement({
  description: 'Calls of one UTC hour, day or month, by one more thing where that was asked for.',
  fields: (t) => membersOf(t, UsageBucketSchema),
})

const SavingsOfModel = builder.objectRef<SavingsFigures & { readonly model: string }>('SavingsOfModel').implement({
  fields: (t) => membersOf(t, SavingsSchema.shape.byModel.unwrap().element),
})

const SavingsBucket = builder.objectRef<SavingsFigures & { readonly bucket: number }>('SavingsBucket').implement({
  description: 'Spending of one UTC hour, day or month, which begins at `bucket`.',
  fields: (t) => membersOf(t, SavingsSchema.shape.buckets.unwrap().element),
})

const SavingsType = builder.objectRef<Savings>('Savings').implement({
  description: 'Spending beside the reference prices, in whole micro-USD.',
  fields: (t) => ({
    ...membersOf(t, SavingsSchema),
    byModel: t.field({
      type: [SavingsOfModel],
      complexity: { field: 1, multiplier: 50 },
      resolve: (savings) => savings.byModel,
    }),
    buckets: t.field({
      type: [SavingsBucket],
      complexity: { field: 1, multiplier: 50 },
      resolve: (savings) => savings.buckets,
    }),
  }),
})

const PercentilesType = builder.objectRef<NonNullable<Latency['durationMs']>>('Percentiles').implement({
  description: 'Milliseconds that half, and that nineteen of twenty calls did not pass.',
  fields: (t) => ({ p50: t.exposeInt('p50'), p95: t.exposeInt('p95') }),
})

const LatencyType = builder.objectRef<Latency>('Latency').implement({
  description: 'How long the newest successful calls of a period took, at most 20,000 of them.',
  fields: (t) => ({
    since: t.exposeFloat('since'),
    calls: t.exposeInt('calls'),
    timed: t.exposeInt('timed', { description: 'Streamed calls: only they have a time to the first token.' }),
    ttftMs: t.field({ type: PercentilesType, nullable: true, resolve: ({ ttftMs }) => ttftMs }),
    durationMs: t.field({ type: PercentilesType, nullable: true, resolve: ({ durationMs }) => durationMs }),
  }),
})

const Line = builder.objectRef<StatementLine>('StatementLine').implement({
  description: 'A line of the ledger with the balance after it, in whole micro-USD.',
  fields: (t) => membersOf(t, StatementLineSchema),
})

const Link = builder.objectRef<ExportLink>('ExportLink').implement({
  description: 'Where a file can be had without a key, and until when.',
  fields: (t) => ({ url: t.exposeString('url'), expiresAt: t.exposeFloat('expiresAt') }),
})

const UsageWindow = builder.inputType('UsageWindow', {
  description: 'A period that ends now, or ends of a window in Unix milliseconds.',
  fields: (t) => ({ period: t.string(), from: t.float(), to: t.float() }),
})

const UsageFilter = builder.inputType('UsageFilter', {
  fields: (t) => ({
    ...{ period: t.string(), from: t.float(), to: t.float() },
    model: t.string(),
    keyId: t.string(),
    provider: t.string(),
    endpoint: t.string(),
    outcome: t.string(),
    servedBy: t.string(),
  }),
})

/** The fields that are set. Null counts as left out. */
function given(fields: object | null | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value != null))
}

builder.queryFields((t) => ({
  usage: t.connection({
    type: UsageCall,
    args: { filter: t.arg({ type: UsageFilter }) },
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) =>
      toConnection(
        await invoke(ctx, actor, listBuyerUsage, { ...given(args.filter), ...readPage(args) }, options),
        args,
      ),
  }),
  usageBuckets: t.field({
    type: [Bucket],
    args: { filter: t.arg({ type: UsageFilter }), interval: t.arg.string(), groupBy: t.arg.string() },
    complexity: { field: 1, multiplier: 50 },
    resolve: async (_root, { filter, ...by }, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listUsageBuckets, { ...given(filter), ...given(by) }, options)).buckets,
  }),
  usageExport: t.field({
    type: Link,
    args: { filter: t.arg({ type: UsageFilter }) },
    resolve: (_root, { filter }, { ctx, actor, options }) =>
      invoke(ctx, actor, exportBuyerUsage, given(filter), options),
  }),
  savings: t.field({
    type: SavingsType,
    args: { period: t.arg.string() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getSavings, given(args), options),
  }),
  latency: t.field({
    type: LatencyType,
    args: { period: t.arg.string() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getLatency, given(args), options),
  }),
  statements: t.connection({
    type: Line,
    args: { window: t.arg({ type: UsageWindow }) },
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) =>
      toConnection(
        await invoke(ctx, actor, listStatements, { ...given(args.window), ...readPage(args) }, options),
        args,
      ),
  }),
}))
