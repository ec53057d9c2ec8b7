import { DepositViewSchema } from '#control-plane/services/deposits/deposit-views.ts'
import {
  DepositWaySchema,
  listOwnDeposits,
  openDeposit,
  signDeposit,
} from '#control-plane/services/deposits/open-deposit.ts'
import {
  listStrays,
  listTreasuryMoves,
  MoveKindSchema,
  MoveViewSchema,
  StrayTokenSchema,
} from '#control-plane/services/deposits/operator-moves.ts'
import { ReconciliationSchema, readReconciliations } from '#control-plane/services/deposits/reconcile.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const Deposit = objectOf('Deposit', DepositViewSchema, {
  description: 'A deposit of USDC to an account, received or expected. The amount is micro-USD as plain digits.',
  authScopes: { buyer: true },
  types: { status: 'DepositState', method: 'DepositMethod' },
})

const Way = objectOf('DepositWay', DepositWaySchema, {
  description: 'The ways to fund an account.',
  authScopes: { buyer: true },
  ints: ['chainId', 'confirmations'],
  types: { deposit: Deposit },
})

builder.queryFields((t) => ({
  deposits: t.connection({ type: Deposit, ...pageOf(listOwnDeposits) }),
}))

builder.mutationFields((t) => ({
  openDeposit: t.field({ type: Way, ...fieldOf(openDeposit, { texts: ['amountUsd'] }) }),
  signDeposit: t.field({ type: Deposit, ...fieldOf(signDeposit) }),
}))

const Kind = builder.enumType('TreasuryMoveKind', { values: MoveKindSchema.options })
const Move = objectOf('TreasuryMove', MoveViewSchema, {
  description: 'A transfer to or from the treasury, as the chain shows it.',
  authScopes: { operator: true },
  ints: ['place'],
  types: { kind: Kind },
})
const Stray = objectOf('StrayToken', StrayTokenSchema, {
  description: 'A transfer to the treasury of a token that the market does not take.',
  authScopes: { operator: true },
})

const Sum = objectOf('TreasurySum', ReconciliationSchema.shape.sums.unwrap().element, {
  description: 'The transfers to or from the treasury of one kind.',
  ints: ['count'],
  types: { kind: Kind },
})
const Reconciliation = objectOf('TreasuryReconciliation', ReconciliationSchema, {
  description: 'A comparison of the treasury on the chain, its transfers, and the books.',
  authScopes: { operator: true },
  types: { sums: Sum },
  costs: { sums: { field: 10 } },
})

builder.queryFields((t) => ({
  treasuryMoves: t.field({
    type: [Move],
    complexity: LIST_COST,
    ...fieldOf(listTreasuryMoves, { types: { kind: Kind } }),
  }),
  strayTokens: t.field({ type: [Stray], complexity: LIST_COST, ...fieldOf(listStrays) }),
  treasuryReconciliations: t.field({
    type: [Reconciliation],
    complexity: { field: 1, multiplier: 20 },
    ...fieldOf(readReconciliations),
  }),
}))
