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
import {
  DeskTransferSchema,
  listTransfers,
  PayoutsStateSchema,
  readPayoutsState,
  SellerStopSchema,
  TransferCountSchema,
} from '#control-plane/services/payouts/operator-payouts.ts'
import { TransferStateSchema } from '#control-plane/services/payouts/payout-views.ts'
import { DepartureHoldSchema } from '#control-plane/services/treasury/departure-hold.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'

const State = builder.enumType('WalletPaymentState', { values: WalletPaymentStateSchema.options })

const Count = objectOf('WalletPaymentCount', StateCountSchema, { ints: ['count'], types: { state: State } })
const Desk = objectOf('WalletPayments', PaymentsStateSchema, {
  description: 'The state of payments by wallet. Amounts are micro-USD as plain digits.',
  authScopes: { operator: true },
  ints: ['hanging', 'unminedTransactions'],
  types: { states: Count },
})
const Payment = objectOf('WalletPayment', DeskPaymentSchema, { ids: ['rid', 'account'], types: { state: State } })
const Debtor = objectOf('WalletDebtor', DebtorSchema, {
  description: 'A wallet that owes for calls which it never paid. It is refused until the debt is forgiven.',
  ints: ['payments'],
})

builder.queryFields((t) => ({
  walletPaymentsState: t.field({
    type: Desk,
    complexity: { field: 1, multiplier: 10 },
    ...fieldOf(readPaymentsState),
  }),
  walletPayments: t.field({
    type: [Payment],
    complexity: LIST_COST,
    ...fieldOf(listPayments, { types: { state: State } }),
  }),
  walletDebtors: t.field({ type: [Debtor], complexity: LIST_COST, ...fieldOf(listPaymentDebtors) }),
}))

const TransferState = builder.enumType('TransferState', { values: TransferStateSchema.options })
const TransferCount = objectOf('TransferCount', TransferCountSchema, {
  ints: ['count'],
  types: { state: TransferState },
})
const Stop = objectOf('SellerStop', SellerStopSchema, {
  description: 'A seller whom an operator does not pay.',
  ids: ['seller'],
})
const Held = objectOf('DepartureHold', DepartureHoldSchema, {
  description: 'The conditions for which payouts, sweeps and draws wait after a restore of the ledger.',
})
const Treasury = objectOf('Treasury', PayoutsStateSchema, {
  description:
    'The balance of the treasury, and the transfers on their way out of it. Amounts are micro-USD as plain digits.',
  authScopes: { operator: true },
  types: { departureHold: Held, states: TransferCount, stops: Stop },
  costs: { stops: LIST_COST },
})
export const TransferType = objectOf('TreasuryTransfer', DeskTransferSchema, {
  description: 'A payout to a seller, or a sweep to the cold address.',
  ids: ['seller'],
  types: { state: TransferState },
})

builder.queryFields((t) => ({
  treasury: t.field({ type: Treasury, complexity: { field: 1, multiplier: 2 }, ...fieldOf(readPayoutsState) }),
  treasuryTransfers: t.field({
    type: [TransferType],
    complexity: LIST_COST,
    ...fieldOf(listTransfers, { types: { state: TransferState } }),
  }),
}))
