import { invoke } from '#control-plane/operation/invoke.ts'
import type { DepositView } from '#control-plane/services/deposits/deposit-views.ts'
import { DepositViewSchema } from '#control-plane/services/deposits/deposit-views.ts'
import type { DepositWay } from '#control-plane/services/deposits/open-deposit.ts'
import {
  DepositWaySchema,
  listOwnDeposits,
  openDeposit,
  signDeposit,
} from '#control-plane/services/deposits/open-deposit.ts'
import type { MoveView, StrayTokenView } from '#control-plane/services/deposits/operator-moves.ts'
import {
  listStrays,
  listTreasuryMoves,
  MoveKindSchema,
  MoveViewSchema,
  StrayTokenSchema,
} from '#control-plane/services/deposits/operator-moves.ts'
import type { Reconciliation } from '#control-plane/services/deposits/reconcile.ts'
import { ReconciliationSchema, readReconciliations } from '#control-plane/services/deposits/reconcile.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const State = builder.enumType('DepositState', { values: DepositViewSchema.shape.status.options })
const Method = builder.enumType('DepositMethod', { values: DepositViewSchema.shape.method.options })

const DepositType = builder.objectRef<DepositView>('Deposit').implement({
  description: 'USDC that came to an account, or is to come. The amount is micro-USD as plain digits.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, DepositViewSchema, { ids: ['id'], without: ['status', 'method'] }),
    status: t.expose('status', { type: State }),
    method: t.expose('method', { type: Method }),
  }),
})

const Way = builder.objectRef<DepositWay>('DepositWay').implement({
  description: 'How an account is funded.',
  authScopes: { buyer: true },
  fields: (t) => ({
    ...membersOf(t, DepositWaySchema, { ints: ['chainId', 'confirmations'], without: ['deposit'] }),
    deposit: t.field({ type: DepositType, nullable: true, resolve: ({ deposit }) => deposit }),
  }),
})

builder.queryFields((t) => ({
  deposits: t.connection({
    type: DepositType,
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) =>
      toConnection(await invoke(ctx, actor, listOwnDeposits, readPage(args), options), args),
  }),
}))

builder.mutationFields((t) => ({
  openDeposit: t.field({
    type: Way,
    args: { amountUsd: t.arg.string(), sender: t.arg.string(), idempotencyKey: t.arg.string() },
    resolve: (_root, { idempotencyKey, ...args }, { ctx, actor, options }) =>
      invoke(ctx, actor, openDeposit, given(args), withKey(options, idempotencyKey)),
  }),
  signDeposit: t.field({
    type: DepositType,
    args: { id: t.arg.id({ required: true }), signature: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, signDeposit, args, options),
  }),
}))

const Kind = builder.enumType('TreasuryMoveKind', { values: MoveKindSchema.options })
const MoveType = builder.objectRef<MoveView>('TreasuryMove').implement({
  description: 'A transfer to or from the treasury, as the chain shows it.',
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, MoveViewSchema, { ints: ['place'], without: ['kind', 'direction'] }),
    kind: t.expose('kind', { type: Kind }),
    direction: t.exposeString('direction'),
  }),
})
const StrayType = builder.objectRef<StrayTokenView>('StrayToken').implement({
  description: 'A token that is not ours and was sent to the treasury all the same.',
  authScopes: { operator: true },
  fields: (t) => membersOf(t, StrayTokenSchema),
})

const SumType = builder.objectRef<Reconciliation['sums'][number]>('TreasurySum').implement({
  description: 'What came to the treasury or left it, of one kind.',
  fields: (t) => ({
    ...membersOf(t, ReconciliationSchema.shape.sums.unwrap().element, {
      ints: ['count'],
      without: ['kind', 'direction'],
    }),
    kind: t.expose('kind', { type: Kind }),
    direction: t.exposeString('direction'),
  }),
})
const ReconciliationType = builder.objectRef<Reconciliation>('TreasuryReconciliation').implement({
  description: 'A comparison of the treasury on the chain, its transfers, and the books.',
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, ReconciliationSchema, { without: ['sums', 'mismatches'] }),
    mismatches: t.exposeStringList('mismatches'),
    sums: t.field({ type: [SumType], complexity: { field: 10 }, resolve: ({ sums }) => sums }),
  }),
})

/** The longest list of operators' rows, for its cost. */
const COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  treasuryMoves: t.field({
    type: [MoveType],
    args: { kind: t.arg({ type: Kind }), direction: t.arg.string(), limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listTreasuryMoves, given(args), options),
  }),
  strayTokens: t.field({
    type: [StrayType],
    args: { limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listStrays, given(args), options),
  }),
  treasuryReconciliations: t.field({
    type: [ReconciliationType],
    complexity: { field: 1, multiplier: 20 },
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readReconciliations, {}, options),
  }),
}))
