import { invoke } from '#control-plane/operation/invoke.ts'
import type { QueueCounts } from '#control-plane/ports/desk/desk.ts'
import type { MoneyState, ShortfallReport, ShortfallRow } from '#control-plane/services/money/money-watch.ts'
import {
  DifferenceViewSchema,
  HoldOfPayoutsSchema,
  RunViewSchema,
  readInvariants,
  readShortfall,
  ShortfallReportSchema,
  ShortfallRowSchema,
} from '#control-plane/services/money/money-watch.ts'
import type { ConflictView, PoisonView } from '#control-plane/services/money/usage-review.ts'
import {
  ConflictViewSchema,
  listContradictions,
  listPoisoned,
  PoisonViewSchema,
} from '#control-plane/services/money/usage-review.ts'
import type { FeatureView, LimitView } from '#control-plane/services/operators/operator-controls.ts'
import {
  FeatureViewSchema,
  LimitViewSchema,
  listFeatures,
  listRateLimits,
} from '#control-plane/services/operators/operator-controls.ts'
import type { HoldView, NodeView } from '#control-plane/services/operators/operator-desk.ts'
import {
  HoldViewSchema,
  listNodes,
  listOpenHolds,
  listQueues,
  QueueViewSchema,
} from '#control-plane/services/operators/operator-desk.ts'
import type { SnapshotView } from '#control-plane/services/operators/operator-snapshot.ts'
import { readSnapshot } from '#control-plane/services/operators/operator-snapshot.ts'
import { FEATURE_NAMES } from '#shared/contract/features.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'

const Finding = builder.objectRef<MoneyState['differences'][number]>('MoneyDifference').implement({
  description: 'Something that two records of the same money do not agree on.',
  fields: (t) => membersOf(t, DifferenceViewSchema, { without: ['detail'] }),
})
const Run = builder.objectRef<MoneyState['runs'][number]>('InvariantRun').implement({
  fields: (t) => membersOf(t, RunViewSchema),
})
const HeldPayouts = builder.objectRef<MoneyState['payoutHolds'][number]>('PayoutHoldInForce').implement({
  fields: (t) => membersOf(t, HoldOfPayoutsSchema, { without: ['clearedAt', 'clearedBy', 'clearReason'] }),
})
const Money = builder.objectRef<MoneyState>('MoneyState').implement({
  description: 'The last runs of the money checker, what differs now, and what payouts wait for.',
  authScopes: { operator: true },
  fields: (t) => ({
    runs: t.field({ type: [Run], resolve: ({ runs }) => runs }),
    differences: t.field({ type: [Finding], resolve: ({ differences }) => differences }),
    payoutHolds: t.field({ type: [HeldPayouts], resolve: ({ payoutHolds }) => payoutHolds }),
  }),
})

const ShortfallLine = builder.objectRef<ShortfallRow>('ShortfallLine').implement({
  fields: (t) => membersOf(t, ShortfallRowSchema, { ids: ['tx', 'account'] }),
})
const Shortfall = builder.objectRef<ShortfallReport>('Shortfall').implement({
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, ShortfallReportSchema),
    lines: t.field({ type: [ShortfallLine], resolve: ({ lines }) => lines }),
  }),
})

const Queue = builder.objectRef<QueueCounts>('Queue').implement({
  fields: (t) => membersOf(t, QueueViewSchema),
})
const NodeType = builder.objectRef<NodeView>('DataPlaneProcess').implement({
  fields: (t) => ({
    node: t.exposeString('node'),
    isAlive: t.exposeBoolean('isAlive'),
    isMember: t.exposeBoolean('isMember'),
    lastSeenAt: t.exposeFloat('lastSeenAt', { nullable: true }),
    version: t.string({ nullable: true, resolve: ({ report }) => report?.version ?? null }),
    models: t.int({ nullable: true, resolve: ({ report }) => report?.models ?? null }),
    offers: t.int({ nullable: true, resolve: ({ report }) => report?.offers ?? null }),
  }),
})
const Hold = builder.objectRef<HoldView>('OpenHold').implement({
  description: 'Credit set aside for a call that runs. Micro-USD as plain digits.',
  fields: (t) => membersOf(t, HoldViewSchema, { ids: ['rid', 'account'], without: ['keyId'] }),
})
const Snapshot = builder.objectRef<SnapshotView>('SnapshotState').implement({
  authScopes: { operator: true },
  fields: (t) => ({
    isWhole: t.exposeBoolean('isWhole'),
    bytes: t.exposeFloat('bytes'),
    accounts: t.exposeFloat('accounts'),
    documents: t.int({ resolve: ({ documents }) => documents.length }),
    behind: t.stringList({
      description: 'Documents that are not what the tables say.',
      resolve: ({ documents }) => documents.filter(({ isCurrent }) => !isCurrent).map(({ name }) => name),
    }),
  }),
})
export const FeatureName = builder.enumType('FeatureName', { values: FEATURE_NAMES })
export const Feature = builder.objectRef<FeatureView>('Feature').implement({
  fields: (t) => ({
    ...membersOf(t, FeatureViewSchema, { without: ['name'] }),
    name: t.expose('name', { type: FeatureName }),
  }),
})
const Limit = builder.objectRef<LimitView>('RateLimit').implement({
  fields: (t) => membersOf(t, LimitViewSchema, { ints: ['perKey', 'perWallet'], without: ['changedBy'] }),
})
const Poison = builder.objectRef<PoisonView>('PoisonedEvent').implement({
  fields: (t) =>
    membersOf(t, PoisonViewSchema, {
      ids: ['payloadHash', 'rid'],
      without: ['lastSeenAt', 'resolution', 'resolutionReason', 'resolvedBy', 'source'],
    }),
})
const Conflict = builder.objectRef<ConflictView>('ConflictingEvent').implement({
  fields: (t) =>
    membersOf(t, ConflictViewSchema, {
      ids: ['payloadHash', 'rid'],
      without: ['event', 'resolutionReason', 'resolvedBy'],
    }),
})

/** The longest list of operators' rows, for its cost. */
const COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  moneyState: t.field({
    type: Money,
    complexity: { field: 1, multiplier: 20 },
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readInvariants, {}, options),
  }),
  shortfall: t.field({
    type: Shortfall,
    complexity: { field: 1, multiplier: 20 },
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readShortfall, {}, options),
  }),
  queues: t.field({
    type: [Queue],
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listQueues, {}, options),
  }),
  dataPlaneProcesses: t.field({
    type: [NodeType],
    complexity: COST,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listNodes, {}, options),
  }),
  openHolds: t.field({
    type: [Hold],
    args: { account: t.arg.id(), limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listOpenHolds, given(args), options),
  }),
  snapshotState: t.field({
    type: Snapshot,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readSnapshot, {}, options),
  }),
  features: t.field({
    type: [Feature],
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listFeatures, {}, options),
  }),
  rateLimits: t.field({
    type: [Limit],
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listRateLimits, {}, options),
  }),
  poisonedEvents: t.field({
    type: [Poison],
    args: { limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listPoisoned, given(args), options),
  }),
  conflictingEvents: t.field({
    type: [Conflict],
    args: { limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listContradictions, given(args), options),
  }),
}))
