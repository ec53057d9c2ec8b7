import { ReleasedHoldSchema, releaseOpenHold } from '#control-plane/services/controls/open-holds.ts'
import { ClearedHoldSchema, clearHold, runInvariantsNow } from '#control-plane/services/gate/money-watch.ts'
import { GrantSchema, grantCredit } from '#control-plane/services/ledger/ledger.ts'
import {
  adjustLedger,
  BookedMoveSchema,
  readTransaction,
  refundFiat,
} from '#control-plane/services/ledger/ledger-operations.ts'
import { reverseTransaction } from '#control-plane/services/ledger/reversal.ts'
import { FoundTransactionSchema, searchLedger } from '#control-plane/services/ledger/search-ledger.ts'
import { findSubjects, SubjectSchema } from '#control-plane/services/support/find-subject.ts'
import { readSupportAccount, SupportAccountSchema } from '#control-plane/services/support/read-account.ts'
import { readSupportCall, SupportCallSchema } from '#control-plane/services/support/read-call.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { Hold, Run } from './operator-desk.ts'
import { LIST_COST } from './page.ts'

/** Reads and changes with which operators help a customer. */

const Subject = objectOf('SupportSubject', SubjectSchema, {
  description: 'A record that a search of support found, and the account of the record.',
  types: { kind: 'SupportSubjectKind' },
  ids: ['account'],
})
const Attempt = objectOf('SupportAttempt', SupportCallSchema.shape.attempts.unwrap().element, { ints: ['status'] })
const Call = objectOf('SupportCall', SupportCallSchema, {
  description: 'A call of any account, with the shares of its seller and the market. Micro-USD as plain digits.',
  ids: ['rid', 'account', 'sellerAccount', 'offer'],
  ints: ['feeBps'],
  types: { attempts: Attempt },
})
const Account = objectOf('SupportAccount', SupportAccountSchema, {
  description: 'A customer: balances, masked keys, and the newest calls and payments. Micro-USD as plain digits.',
  authScopes: { operator: true },
  ids: ['buyerAccount', 'sellerAccount', 'user', 'workspace', 'organization'],
  types: {
    keys: objectOf('SupportKey', SupportAccountSchema.shape.keys.unwrap().element, { types: { type: 'AnyKeyType' } }),
    calls: Call,
    entries: objectOf('SupportEntry', SupportAccountSchema.shape.entries.unwrap().element),
    deposits: objectOf('SupportDeposit', SupportAccountSchema.shape.deposits.unwrap().element),
    holds: Hold,
    payouts: objectOf('SupportPayout', SupportAccountSchema.shape.payouts.unwrap().element),
  },
  costs: {
    keys: { field: 1, multiplier: 25 },
    calls: { field: 1, multiplier: 25 },
    entries: { field: 1, multiplier: 25 },
    deposits: { field: 1, multiplier: 25 },
    holds: LIST_COST,
    payouts: { field: 1, multiplier: 25 },
  },
})
const Cleared = objectOf('ClearedPayoutHold', ClearedHoldSchema)
const Line = objectOf('BookedLine', BookedMoveSchema.shape.lines.unwrap().element, { ids: ['account'] })
const Booked = objectOf('BookedTransaction', BookedMoveSchema, {
  description: 'A transaction of the ledger as it was booked. Lines are signed micro-USD as plain digits.',
  types: { lines: Line },
})
const Read = objectOf('LedgerTransaction', BookedMoveSchema.omit({ isRepeat: true }), {
  description: 'The lines under a ledger key or request id, in signed micro-USD as plain digits.',
  types: { lines: Line },
})
const FoundTransaction = objectOf('FoundTransaction', FoundTransactionSchema, {
  description: 'A transaction of the ledger with its entries, in signed micro-USD as plain digits.',
  authScopes: { operator: true },
  types: {
    lines: objectOf('FoundLedgerLine', FoundTransactionSchema.shape.lines.unwrap().element, { ids: ['account'] }),
  },
  costs: { lines: { field: 1, multiplier: 5 } },
})
const Granted = objectOf('CreditGrant', GrantSchema, { ids: ['account'] })
const Released = objectOf('ReleasedHold', ReleasedHoldSchema, { ids: ['rid'] })

builder.queryFields((t) => ({
  supportSubjects: t.field({ type: [Subject], complexity: LIST_COST, ...fieldOf(findSubjects) }),
  supportAccount: t.field({ type: Account, ...fieldOf(readSupportAccount, { ids: ['account'] }) }),
  supportCall: t.field({ type: Call, ...fieldOf(readSupportCall) }),
  ledgerTransactions: t.connection({ type: FoundTransaction, ...pageOf(searchLedger, { ids: ['account'] }) }),
  ledgerTransaction: t.field({ type: Read, ...fieldOf(readTransaction) }),
}))

const GrantSource = builder.enumType('CreditSource', { values: grantCredit.input.shape.source.unwrap().options })
const RefundKind = builder.enumType('RefundKind', { values: refundFiat.input.shape.kind.unwrap().options })
const Direction = builder.enumType('MoveDirection', { values: adjustLedger.input.shape.direction.options })
const Counter = builder.enumType('CounterAccount', { values: adjustLedger.input.shape.counter.unwrap().options })

builder.mutationFields((t) => ({
  grantCredit: t.field({
    type: Granted,
    ...fieldOf(grantCredit, { ids: ['account'], texts: ['amountUsd'], types: { source: GrantSource } }),
  }),
  refundPayment: t.field({
    type: Booked,
    ...fieldOf(refundFiat, { ids: ['account'], texts: ['amountUsd'], types: { kind: RefundKind } }),
  }),
  adjustLedger: t.field({
    type: Booked,
    ...fieldOf(adjustLedger, {
      ids: ['account'],
      texts: ['amountUsd'],
      types: { direction: Direction, counter: Counter },
    }),
  }),
  reverseTransaction: t.field({ type: Booked, ...fieldOf(reverseTransaction) }),
  releaseHold: t.field({ type: Released, ...fieldOf(releaseOpenHold, { ids: ['rid'] }) }),
  clearPayoutHold: t.field({ type: Cleared, ...fieldOf(clearHold, { ids: ['id'] }) }),
  runInvariants: t.field({ type: Run, ...fieldOf(runInvariantsNow) }),
}))
