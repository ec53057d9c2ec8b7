import {
  discardPoisoned,
  listContradictions,
  listPoisoned,
  readPoisoned,
  resolveContradiction,
  retryPoisoned,
} from '#control-plane/services/booking/poison-and-conflicts.ts'
import { acceptChain } from '#control-plane/services/deposits/accept-chain.ts'
import { assignDeparture } from '#control-plane/services/deposits/assign-departure.ts'
import { awaitFormerTreasury } from '#control-plane/services/deposits/await-treasury.ts'
import { fundTreasury } from '#control-plane/services/deposits/fund-treasury.ts'
import { listOwnDeposits, openDeposit, signDeposit } from '#control-plane/services/deposits/open-deposit.ts'
import { assignMove, listStrays, listTreasuryMoves } from '#control-plane/services/deposits/operator-moves.ts'
import { readReconciliations, reconcileNow } from '#control-plane/services/deposits/reconcile.ts'
import { readTreasuryChain } from '#control-plane/services/deposits/replaced-chain.ts'
import { retireFormerTreasury } from '#control-plane/services/deposits/retire-treasury.ts'
import { withdrawCapital } from '#control-plane/services/deposits/withdraw-capital.ts'
import { repostJournals } from '#control-plane/services/gate/ledger-restores.ts'
import {
  clearHold,
  explainShortfall,
  readInvariants,
  readShortfall,
  runInvariantsNow,
} from '#control-plane/services/gate/money-watch.ts'
import {
  adjustLedger,
  readTransaction,
  recordFiatDeposit,
  refundFiat,
} from '#control-plane/services/ledger/ledger-operations.ts'
import { reverseTransaction } from '#control-plane/services/ledger/reversal.ts'
import { searchLedger } from '#control-plane/services/ledger/search-ledger.ts'
import {
  forgiveDebt,
  listPaymentDebtors,
  listPayments,
  readPaymentsState,
} from '#control-plane/services/payments/operator-payments.ts'
import {
  cancelTransfer,
  drainNow,
  holdTransfer,
  listTransfers,
  readPayoutsState,
  releaseTransfer,
  startSeller,
  stopSeller,
} from '#control-plane/services/payouts/operator-payouts.ts'
import { mutationOf, queryOf, router } from './procedure.ts'

/** Buyers' deposits, and operators' operations on money: payments, cases for a person, and the checker's findings. */

export const deposit = router({
  open: mutationOf(openDeposit),
  sign: mutationOf(signDeposit),
  list: queryOf(listOwnDeposits),
  assign: mutationOf(assignMove),
  recordFiat: mutationOf(recordFiatDeposit),
})

export const refund = router({
  fiat: mutationOf(refundFiat),
})

export const ledger = router({
  adjust: mutationOf(adjustLedger),
  reverse: mutationOf(reverseTransaction),
  read: queryOf(readTransaction),
  search: queryOf(searchLedger, ({ items, nextToken }) => ({ items, nextToken })),
})

export const poison = router({
  list: queryOf(listPoisoned),
  read: queryOf(readPoisoned),
  retry: mutationOf(retryPoisoned),
  discard: mutationOf(discardPoisoned),
})

export const conflict = router({
  list: queryOf(listContradictions),
  resolve: mutationOf(resolveContradiction),
})

export const shortfall = router({
  read: queryOf(readShortfall),
  explain: mutationOf(explainShortfall),
})

export const invariants = router({
  read: queryOf(readInvariants),
  run: mutationOf(runInvariantsNow),
})

export const journal = router({
  repost: mutationOf(repostJournals),
})

export const payoutHold = router({
  clear: mutationOf(clearHold),
})

export const payouts = router({
  state: queryOf(readPayoutsState),
  list: queryOf(listTransfers),
  drain: mutationOf(drainNow),
  hold: mutationOf(holdTransfer),
  release: mutationOf(releaseTransfer),
  cancel: mutationOf(cancelTransfer),
  stopSeller: mutationOf(stopSeller),
  startSeller: mutationOf(startSeller),
})

export const treasury = router({
  fund: mutationOf(fundTreasury),
  moves: queryOf(listTreasuryMoves),
  strays: queryOf(listStrays),
  reconciliations: queryOf(readReconciliations),
  reconcile: mutationOf(reconcileNow),
  withdraw: mutationOf(withdrawCapital),
  payout: mutationOf(assignDeparture),
  chain: queryOf(readTreasuryChain),
  acceptChain: mutationOf(acceptChain),
  retire: mutationOf(retireFormerTreasury),
  await: mutationOf(awaitFormerTreasury),
})

export const payments = router({
  state: queryOf(readPaymentsState),
  list: queryOf(listPayments),
  debtors: queryOf(listPaymentDebtors),
  forgive: mutationOf(forgiveDebt),
})
