import { microUsd, splitCharge } from '#shared/money.ts'
import type { LedgerTables } from '#test/sim/ledger/ledger-tables.ts'
import { FEE_BPS } from '#test/sim/providers/market.ts'
import { paymentTransactions } from './payment-checks.ts'

/**
 * Compares the balances of the platform and the sellers with the sums of the settlements. The entries of a transaction
 * sum to zero, so the buyers' sum is right when these are right.
 */
export function bookMistakes(tables: LedgerTables): string[] {
  const due = new Map<string, bigint>()
  const owe = (account: string, amount: bigint) => void due.set(account, (due.get(account) ?? 0n) + amount)
  const sold = new Map<string, bigint>()
  for (const { charge, sellerAccount, offer } of tables.settlements.values()) {
    const { sellerNet, fee } = splitCharge(microUsd(charge), FEE_BPS)
    owe('acc_platform_fee', fee)
    if (sellerAccount !== null) owe(sellerAccount, sellerNet)
    if (offer !== null && sellerNet > 0n) sold.set(offer, (sold.get(offer) ?? 0n) + sellerNet)
  }
  const booked = new Map<string, bigint>()
  for (const { account, amount } of tables.entries) booked.set(account, (booked.get(account) ?? 0n) + amount)
  const mistakes: string[] = []
  for (const [account, amount] of due) {
    const has = booked.get(account) ?? 0n
    if (has !== amount) mistakes.push(`I8: ${account} has ${has} instead of ${amount}`)
  }
  for (const offer of new Set([...sold.keys(), ...tables.earned.keys()])) {
    const [earned = 0n, due = 0n] = [tables.earned.get(offer), sold.get(offer)]
    if (earned !== due) mistakes.push(`I19: ${offer} has earned ${due}, and ${earned} may be paid out`)
  }
  const short = jobShortfall(tables)
  if (short.booked !== short.due) mistakes.push(`I24: jobs are short of ${-short.booked} instead of ${-short.due}`)
  return mistakes
}

/** The platform's booked part in long jobs, and the correct part: the cost beyond the payments of the buyers. */
function jobShortfall(tables: LedgerTables): { booked: bigint; due: bigint } {
  const { entries, jobs, settlements } = tables
  const ofPayments = paymentTransactions(tables)
  let booked = 0n
  for (const { tx, account, amount } of entries) {
    const isOfCall = (settlements.has(tx) && !jobs.has(tx)) || ofPayments.has(tx)
    if (account === 'acc_platform_shortfall' && !isOfCall) booked += amount
  }
  let due = 0n
  for (const { rid, paid, quote } of jobs.values()) {
    const cost = settlements.get(rid)?.charge ?? quote
    if (cost > paid) due -= cost - paid
  }
  return { booked, due }
}
