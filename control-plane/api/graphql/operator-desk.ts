import {
  ConflictViewSchema,
  listContradictions,
  listPoisoned,
  PoisonViewSchema,
} from '#control-plane/services/booking/poison-and-conflicts.ts'
import { listNodes, NodeViewSchema } from '#control-plane/services/controls/nodes.ts'
import { HoldViewSchema, listOpenHolds } from '#control-plane/services/controls/open-holds.ts'
import {
  FeatureViewSchema,
  LimitViewSchema,
  listFeatures,
  listRateLimits,
} from '#control-plane/services/controls/operator-controls.ts'
import { listPlaneSettings, PlaneSettingSchema } from '#control-plane/services/controls/plane-settings.ts'
import { listQueues, QueueViewSchema } from '#control-plane/services/controls/queues.ts'
import {
  DifferenceViewSchema,
  HoldOfPayoutsSchema,
  MoneyStateSchema,
  RunViewSchema,
  readInvariants,
  readShortfall,
  ShortfallReportSchema,
  ShortfallRowSchema,
} from '#control-plane/services/gate/money-watch.ts'
import {
  OperatorFiguresSchema,
  PeriodFiguresSchema,
  readOperatorFigures,
} from '#control-plane/services/market/operator-figures.ts'
import { readSnapshot, SnapshotViewSchema } from '#control-plane/services/snapshot/operator-snapshot.ts'
import { FEATURE_NAMES } from '#shared/contract/features.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Finding = objectOf('MoneyDifference', DifferenceViewSchema, {
  description: 'A difference between two records of the same money.',
  without: ['detail'],
})
const HeldPayouts = objectOf('PayoutHoldInForce', HoldOfPayoutsSchema, {
  without: ['clearedAt', 'clearedBy', 'clearReason'],
})
const Checked = objectOf('InvariantFinding', RunViewSchema.shape.findings.unwrap().element, {
  description: 'The verdict on an invariant of the ledger.',
  types: { state: 'InvariantVerdict' },
})
export const Run = objectOf('InvariantRun', RunViewSchema, { types: { findings: Checked } })
const Money = objectOf('MoneyState', MoneyStateSchema, {
  description: 'The last runs of the money checker, the present differences, and the holds on payouts.',
  authScopes: { operator: true },
  types: { runs: Run, differences: Finding, payoutHolds: HeldPayouts },
})

const ShortfallLine = objectOf('ShortfallLine', ShortfallRowSchema, { ids: ['tx', 'account'] })
const Shortfall = objectOf('Shortfall', ShortfallReportSchema, {
  authScopes: { operator: true },
  types: { lines: ShortfallLine },
})

const Queue = objectOf('Queue', QueueViewSchema)
const Process = objectOf('DataPlaneProcess', NodeViewSchema, {
  fields: (t) => ({
    version: t.string({ nullable: true, resolve: ({ report }) => report?.version ?? null }),
    models: t.int({ nullable: true, resolve: ({ report }) => report?.models ?? null }),
    offers: t.int({ nullable: true, resolve: ({ report }) => report?.offers ?? null }),
    openCalls: t.int({ nullable: true, resolve: ({ report }) => report?.load?.openCalls ?? null }),
    maxOpenCalls: t.int({
      nullable: true,
      description: 'Open calls at which the process refuses more.',
      resolve: ({ report }) => report?.load?.maxOpenCalls ?? null,
    }),
    loopDelayMs: t.float({
      nullable: true,
      description: 'The delay of the event loop in the last second, 99th percentile.',
      resolve: ({ report }) => report?.load?.delayMs ?? null,
    }),
    maxLoopDelayMs: t.float({
      nullable: true,
      description: 'The delay at which the process refuses calls.',
      resolve: ({ report }) => report?.load?.maxDelayMs ?? null,
    }),
  }),
})
export const Hold = objectOf('OpenHold', HoldViewSchema, {
  description: 'Credit set aside for a call that runs. Micro-USD as plain digits.',
  ids: ['rid', 'account'],
  without: ['keyId'],
})
const Snapshot = objectOf('SnapshotState', SnapshotViewSchema, {
  authScopes: { operator: true },
  fields: (t) => ({
    documents: t.int({ resolve: ({ documents }) => documents.length }),
    behind: t.stringList({
      description: 'Documents that differ from the tables.',
      resolve: ({ documents }) => documents.filter(({ isCurrent }) => !isCurrent).map(({ name }) => name),
    }),
  }),
})
export const FeatureName = builder.enumType('FeatureName', { values: FEATURE_NAMES })
export const Feature = objectOf('Feature', FeatureViewSchema, { types: { name: FeatureName } })
const Limit = objectOf('RateLimit', LimitViewSchema, { ints: ['perKey', 'perWallet'], without: ['changedBy'] })
const Poison = objectOf('PoisonedEvent', PoisonViewSchema, {
  ids: ['payloadHash', 'rid'],
  without: ['lastSeenAt', 'resolution', 'resolutionReason', 'resolvedBy', 'source'],
})
const Conflict = objectOf('ConflictingEvent', ConflictViewSchema, {
  ids: ['payloadHash', 'rid'],
  without: ['event', 'resolutionReason', 'resolvedBy'],
})

const Period = objectOf('PeriodFigures', PeriodFiguresSchema, {
  ints: [
    'calls',
    'chargedCalls',
    'answeredBase',
    'buyers',
    'sellers',
    'failedCalls',
    'chargedFailures',
    'freeCalls',
    'countedCalls',
    'overheadCalls',
  ],
})
const Figures = objectOf('OperatorFigures', OperatorFiguresSchema, {
  description: 'The market in a period and in the period before it. Amounts are micro-USD as plain digits.',
  authScopes: { operator: true },
  types: {
    present: Period,
    before: Period,
    errors: objectOf('ErrorCount', OperatorFiguresSchema.shape.errors.unwrap().element, { ints: ['calls'] }),
  },
  costs: { errors: LIST_COST },
})

const Setting = objectOf('PlaneSetting', PlaneSettingSchema, {
  description: 'A setting of a process. The value of a secret is never shown, nor its length.',
  authScopes: { operator: true },
  types: { plane: 'SettingPlane', state: 'SettingState', subject: 'SettingSubject', unit: 'SettingUnit' },
})

const MONEY_COST = { field: 1, multiplier: 20 }

builder.queryFields((t) => ({
  moneyState: t.field({ type: Money, complexity: MONEY_COST, ...fieldOf(readInvariants) }),
  shortfall: t.field({ type: Shortfall, complexity: MONEY_COST, ...fieldOf(readShortfall) }),
  operatorFigures: t.field({ type: Figures, complexity: { field: 1, multiplier: 2 }, ...fieldOf(readOperatorFigures) }),
  planeSettings: t.field({ type: [Setting], complexity: LIST_COST, ...fieldOf(listPlaneSettings) }),
  queues: t.field({ type: [Queue], ...fieldOf(listQueues) }),
  dataPlaneProcesses: t.field({ type: [Process], complexity: LIST_COST, ...fieldOf(listNodes) }),
  openHolds: t.field({ type: [Hold], complexity: LIST_COST, ...fieldOf(listOpenHolds, { ids: ['account'] }) }),
  snapshotState: t.field({ type: Snapshot, ...fieldOf(readSnapshot) }),
  features: t.field({ type: [Feature], ...fieldOf(listFeatures) }),
  rateLimits: t.field({ type: [Limit], ...fieldOf(listRateLimits) }),
  poisonedEvents: t.field({ type: [Poison], complexity: LIST_COST, ...fieldOf(listPoisoned, { without: ['show'] }) }),
  conflictingEvents: t.field({
    type: [Conflict],
    complexity: LIST_COST,
    ...fieldOf(listContradictions, { without: ['show'] }),
  }),
}))
