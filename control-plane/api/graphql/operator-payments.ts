import { invoke } from '#control-plane/operation/invoke.ts'
import type {
  DebtorView,
  DeskPaymentView,
  PaymentsState,
  StateCount,
} from '#control-plane/services/payments/operator-payments.ts'
import {
  DebtorSchema,
  DeskPaymentSchema,
  listPaymentDebtors,
  listPayments,
  PaymentsStateSchema,
  readPaymentsState,
  StateCountSchema,
  WalletPaymentStateSchema,
} from '#control-plane/services/payments/operator-payments.ts'
import type {
  DeskTransferView,
  PayoutsState,
  SellerStopView,
  TransferCount,
} from '#control-plane/services/payouts/operator-payouts.ts'
import {
  DeskTransferSchema,
  listTransfers,
  PayoutsStateSchema,
  readPayoutsState,
  SellerStopSchema,
  TransferCountSchema,
} from '#control-plane/services/payouts/operator-payouts.ts'
import { TransferStateSchema } from '#control-plane/services/payouts/payout-views.ts'
import type { DepartureHold } from '#control-plane/services/treasury/departure-hold.ts'
import { DepartureHoldSchema } from '#control-plane/services/treasury/departure-hold.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'

const State = builder.enumType('WalletPaymentState', { values: WalletPaymentStateSchema.options })

const Count = builder.objectRef<StateCount>('WalletPaymentCount').implement({
  fields: (t) => ({
    ...membersOf(t, StateCountSchema, { ints: ['count'], without: ['state'] }),
    state: t.expose('state', { type: State }),
  }),
})
const Desk = builder.objectRef<PaymentsState>('WalletPayments').implement({
  description: 'How payments by wallet stand. Amounts are micro-USD as plain digits.',
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, PaymentsStateSchema, { ints: ['hanging', 'unminedTransactions'], without: ['states'] }),
    states: t.field({ type: [Count], resolve: ({ states }) => states }),
  }),
})
const Payment = builder.objectRef<DeskPaymentView>('WalletPayment').implement({
  fields: (t) => ({
    ...membersOf(t, DeskPaymentSchema, { ids: ['rid', 'account'], without: ['state'] }),
    state: t.expose('state', { type: State }),
  }),
})
const Debtor = builder.objectRef<DebtorView>('WalletDebtor').implement({
  description: 'A wallet that owes for calls which it never paid. It is refused until the debt is forgiven.',
  fields: (t) => membersOf(t, DebtorSchema, { ints: ['payments'] }),
})

/** The longest list of operators' rows, for its cost. */
const COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  walletPaymentsState: t.field({
    type: Desk,
    complexity: { field: 1, multiplier: 10 },
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readPaymentsState, {}, options),
  }),
  walletPayments: t.field({
    type: [Payment],
    args: { state: t.arg({ type: State }), payer: t.arg.string(), isHanging: t.arg.boolean(), limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listPayments, given(args), options),
  }),
  walletDebtors: t.field({
    type: [Debtor],
    args: { limit: t.arg.int() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listPaymentDebtors, given(args), options),
  }),
}))

const TransferStateType = builder.enumType('TransferState', { values: TransferStateSchema.options })
const TransferCountType = builder.objectRef<TransferCount>('TransferCount').implement({
  fields: (t) => ({
    ...membersOf(t, TransferCountSchema, { ints: ['count'], without: ['state'] }),
    state: t.expose('state', { type: TransferStateType }),
  }),
})
const Stop = builder.objectRef<SellerStopView>('SellerStop').implement({
  description: 'A seller whom an operator does not pay.',
  fields: (t) => membersOf(t, SellerStopSchema, { ids: ['seller'] }),
})
const Held = builder.objectRef<DepartureHold>('DepartureHold').implement({
  description: 'What payouts, sweeps and draws wait for after the ledger went back in time.',
  fields: (t) => membersOf(t, DepartureHoldSchema),
})
const Treasury = builder.objectRef<PayoutsState>('Treasury').implement({
  description: 'How the treasury stands, and what is on its way out of it. Amounts are micro-USD as plain digits.',
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, PayoutsStateSchema, { without: ['departureHold', 'states', 'stops'] }),
    departureHold: t.field({ type: Held, nullable: true, resolve: ({ departureHold }) => departureHold }),
    states: t.field({ type: [TransferCountType], resolve: ({ states }) => states }),
    stops: t.field({ type: [Stop], complexity: COST, resolve: ({ stops }) => stops }),
  }),
})
export const TransferType = builder.objectRef<DeskTransferView>('TreasuryTransfer').implement({
  description: 'A payout to a seller, or a sweep to the cold address.',
  fields: (t) => ({
    ...membersOf(t, DeskTransferSchema, { ids: ['seller'], without: ['state', 'mode', 'purpose'] }),
    state: t.expose('state', { type: TransferStateType }),
    mode: t.exposeString('mode'),
    purpose: t.exposeString('purpose'),
  }),
})

builder.queryFields((t) => ({
  treasury: t.field({
    type: Treasury,
    complexity: { field: 1, multiplier: 2 },
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, readPayoutsState, {}, options),
  }),
  treasuryTransfers: t.field({
    type: [TransferType],
    args: {
      state: t.arg({ type: TransferStateType }),
      wallet: t.arg.string(),
      account: t.arg.string(),
      recipient: t.arg.string(),
      limit: t.arg.int(),
    },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listTransfers, given(args), options),
  }),
}))
