import type { LongMutant } from './long-mutant.ts'
import type { ProductMutant } from './product-mutants.ts'

const CLAIM = 'control-plane/services/payments/claim-payment.ts'
const SETTLE = 'control-plane/services/payments/settle-payment.ts'
const BOOK = 'control-plane/services/payments/book-payment.ts'
const STATES = 'control-plane/services/payments/payment-states.ts'
const PENDING = 'data-plane/pipeline/claims/pending-settlements.ts'
const ANSWER = 'data-plane/pipeline/buyer-answer.ts'
const FINISH = 'control-plane/services/payments/finish-payments.ts'
const X402 = 'data-plane/rails/x402/x402-rail.ts'
const CREDENTIAL = 'data-plane/rails/mpp/credential.ts'
const CHALLENGE = 'data-plane/rails/mpp/challenge.ts'
const FACILITATOR = 'control-plane/ports/facilitator/own-facilitator.ts'

const mutant = (name: string, file: string, find: string, replace: string) =>
  ({ name, edits: [{ file, find, replace }] }) as const

/** Mistakes on the way of payments by wallet. */
export const PAYMENT_MUTANTS = [
  mutant(
    'payment_serves_again',
    CLAIM,
    'return isSame(before, ask) ? claimed(before) : used(before)',
    'return claimed(before)',
  ),
  mutant(
    'payer_exposure_unbounded',
    CLAIM,
    "if (exposure.open + amount > payments.payerExposureMicro) return closed('payer_exposure_limit')",
    '',
  ),
  mutant(
    'one_balance_for_two_payments',
    CLAIM,
    'if (purse !== undefined && exposure.unmoved + amount > purse.balance) {',
    'if (purse !== undefined && amount > purse.balance) {',
  ),
  mutant(
    'upto_takes_all',
    SETTLE,
    "if (requirement['scheme'] !== 'upto') return amount",
    'if (amount > 0n) return amount',
  ),
  mutant(
    'late_charge_of_a_booked_payment_is_lost',
    SETTLE,
    'if (payment.bookedAt !== null) await bookLateCharge(ctx, payment)',
    '',
  ),
  mutant(
    'charge_after_a_release_is_lost',
    STATES,
    "released: { ...NOTHING, charge: 'due', appear: 'mined' }",
    "released: { ...NOTHING, appear: 'mined' }",
  ),
  mutant(
    'rest_of_a_payment_is_kept',
    BOOK,
    'const came = (payment.came ?? 0n) - before.came',
    'const came = (payment.came === null ? 0n : (payment.charge ?? 0n)) - before.came',
  ),
  mutant('left_charges_are_crossed_off', PENDING, 'await settleEach(again, replay.unposted(inheritance))', ''),
  mutant('pending_charges_are_forgotten', PENDING, 'pending.add(rid)\n      return', 'return'),
  mutant(
    'unpaid_answer_goes_out',
    ANSWER,
    'const withheld = reply.isStarted() ? undefined : settlement.refusal',
    'const withheld = reply.isStarted() ? settlement.refusal : undefined',
  ),
  mutant(
    'forged_payment_reaches_the_facilitator',
    X402,
    "if (verdict === 'forged') throw paymentRefused(FORGED[scheme])",
    '',
  ),
  mutant(
    'credential_not_bound_to_its_challenge',
    CREDENTIAL,
    '|| payload.nonce.toLowerCase() !== nonceOf(challenge)) {',
    ') {',
  ),
  mutant(
    'edited_challenge_is_believed',
    CREDENTIAL,
    'if (!ids.isIdOf(challenge.id, told, requestDigest) || !isSameFacts(told, ours))',
    'if (!isSameFacts(told, ours))',
  ),
  mutant(
    'challenge_pays_for_another_request',
    CHALLENGE,
    'chainId, expires, requestDigest].join',
    'chainId, expires, requestDigest.slice(0, 0)].join',
  ),
  mutant(
    'short_payment_counts_as_whole',
    FINISH,
    "? ['underpay', { ...found, reason: UNDERPAID }]",
    "? ['confirm', found]",
  ),
] as const satisfies readonly ProductMutant[]

export type PaymentMutantName = (typeof PAYMENT_MUTANTS)[number]['name']

/** Mutants that take a rarer meeting of faults. Only the long run tries them. */
export const RARE_PAYMENT_MUTANTS: readonly LongMutant[] = [
  mutant('write_off_is_final', STATES, "written_off: { ...NOTHING, appear: 'mined' }", 'written_off: NOTHING'),
  mutant(
    'late_money_is_the_platforms',
    BOOK,
    'const back = more >= 0n ? 0n : -more > came ? came : -more',
    'const back = before.isWrittenOff ? came : 0n',
  ),
  mutant(
    'late_money_is_all_the_payers',
    BOOK,
    'const back = more >= 0n ? 0n : -more > came ? came : -more',
    'const back = 0n',
  ),
  mutant('short_payment_is_no_payment', FINISH, 'if (moved === 0n) {', 'if (moved < (payment.due ?? 0n)) {'),
  mutant('platform_stands_in_for_what_came', BOOK, '(charge ?? 0n) - (came ?? 0n) : 0n', '(charge ?? 0n) : 0n'),
  mutant(
    'failed_transfer_is_mined',
    FACILITATOR,
    "status === 'reverted'\n          ?",
    'status !== status\n          ?',
  ),
  mutant(
    'refusal_is_believed_unseen',
    SETTLE,
    "if (outcome.state === 'refused') return (await takenByOthers(ctx, payment)) ?? outcome",
    "if (outcome.state === 'refused') return outcome",
  ),
  mutant(
    'second_charge_keeps_its_heir',
    SETTLE,
    "await trx.insertConflicts([{ rid, payloadHash, event, source: 'payment' }])",
    "throw new AppError('conflict', { cause: payloadHash })",
  ),
].map((made) => ({ ...made, jobs: 0, wallets: 0.6, mostSeeds: 150 }))
