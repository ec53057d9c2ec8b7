import type { Mutant } from './mutant.ts'
import { mutant, quick, seeds, tests } from './mutant.ts'

const CLAIM_PAYMENT = 'control-plane/services/payments/claim-payment.ts'
const SETTLE_PAYMENT = 'control-plane/services/payments/settle-payment.ts'
const PAYMENT_STATES = 'control-plane/services/payments/payment-states.ts'
const BOOK_PAYMENT = 'control-plane/services/payments/book-payment.ts'
const PENDING_SETTLEMENTS = 'data-plane/pipeline/claims/pending-settlements.ts'
const X402_RAIL = 'data-plane/rails/x402/x402-rail.ts'
const CREDENTIAL = 'data-plane/rails/mpp/credential.ts'
const FINISH_PAYMENTS = 'control-plane/services/payments/finish-payments.ts'
const OWN_FACILITATOR = 'control-plane/ports/facilitator/own-facilitator.ts'
const PAYMENT_TERMS = 'control-plane/services/payments/payment-terms.ts'
const CHAIN_PAYMENTS = 'control-plane/db/chain-payments.ts'

const PAYMENT_CLAIMS_TEST = tests('services/payment-claims')

/** Mistakes in the code of payments by wallet. */
const FREQUENT: readonly Mutant[] = [
  mutant(
    'old_terms_refuse_the_first_payment',
    tests('services/other-facilitator'),
    `${PAYMENT_TERMS}#readPaymentTerms`,
    {
      'if (!stillCounts(memory.standing, now) && now - memory.silentAt > FRESH_MS) await memory.asking':
        'if (memory.standing === undefined) await memory.asking',
    },
  ),
  mutant('a_pause_closes_payments', tests('unit/payment-desk'), 'data-plane/store/payment-desk.ts', {
    'const TERMS_GOOD_MS = MINUTE': 'const TERMS_GOOD_MS = MINUTE / 4',
  }),
  mutant('payment_serves_again', quick(5, { wallets: 0.3 }), `${CLAIM_PAYMENT}#claimPayment`, {
    'return isSame(before, ask) ? claimed(before) : used(before)': 'return claimed(before)',
  }),
  mutant('payer_exposure_unbounded', quick(20, { wallets: 0.3 }), `${CLAIM_PAYMENT}#insert`, {
    "if (exposure.open + amount > payments.payerExposureMicro) return closed('payer_exposure_limit')": '',
  }),
  mutant('one_balance_for_two_payments', quick(40, { wallets: 0.3 }), `${CLAIM_PAYMENT}#insert`, {
    'if (purse !== undefined && exposure.unmoved + amount > purse.balance) {':
      'if (purse !== undefined && amount > purse.balance) {',
  }),
  mutant('upto_takes_all', quick(5, { wallets: 0.3 }), `${SETTLE_PAYMENT}#dueOf`, {
    "if (requirement['scheme'] !== 'upto') return amount": 'if (amount > 0n) return amount',
  }),
  mutant('late_charge_of_a_booked_payment_is_lost', quick(15, { wallets: 0.3 }), `${SETTLE_PAYMENT}#settlePayment`, {
    'if (payment.bookedAt !== null) await bookLateCharge(ctx, payment)': '',
  }),
  mutant('charge_after_a_release_is_lost', quick(160, { wallets: 0.3 }), `${PAYMENT_STATES}#PAYMENT_STATES`, {
    "released: { ...NOTHING, charge: 'due', appear: 'mined' }": "released: { ...NOTHING, appear: 'mined' }",
  }),
  mutant('rest_of_a_payment_is_kept', quick(5, { wallets: 0.3 }), `${BOOK_PAYMENT}#deposit`, {
    'const came = (payment.came ?? 0n) - before.came':
      'const came = (payment.came === null ? 0n : (payment.charge ?? 0n)) - before.came',
  }),
  mutant('left_charges_are_crossed_off', quick(5, { wallets: 0.3 }), `${PENDING_SETTLEMENTS}#finish`, {
    'await settleEach(again, replay.unposted(inheritance))': '',
  }),
  mutant('a-second-capture-is-forgotten', tests('unit/pending-settlements'), `${PENDING_SETTLEMENTS}#finish`, {
    'if (!left.has(rid)) over.delete(rid)': 'over.delete(left.size < 0 ? "" : rid)',
  }),
  mutant('pending_charges_are_forgotten', quick(5, { wallets: 0.3 }), `${PENDING_SETTLEMENTS}#note`, {
    'pending.add(rid)\n      return': 'return',
  }),
  mutant('unpaid_answer_goes_out', quick(40, { wallets: 0.3 }), 'data-plane/pipeline/buyer-answer.ts#endAnswer', {
    'const withheld = reply.isStarted() ? undefined : settlement.refusal':
      'const withheld = reply.isStarted() ? settlement.refusal : undefined',
  }),
  mutant('forged_payment_reaches_the_facilitator', quick(10, { wallets: 0.3 }), `${X402_RAIL}#reserve`, {
    "if (verdict === 'forged') throw paymentRefused(FORGED[scheme])": '',
  }),
  mutant('credential_not_bound_to_its_challenge', quick(20, { wallets: 0.3 }), `${CREDENTIAL}#checkCredential`, {
    '|| payload.nonce.toLowerCase() !== nonceOf(challenge)) {': ') {',
  }),
  mutant('edited_challenge_is_believed', quick(20, { wallets: 0.3 }), `${CREDENTIAL}#checkCredential`, {
    'if (!ids.isIdOf(challenge.id, facts, requestDigest) || !isSameFacts(facts, ours))':
      'if (!isSameFacts(facts, ours))',
  }),
  mutant('challenge_pays_for_another_request', quick(60, { wallets: 0.3 }), 'data-plane/rails/mpp/challenge.ts#idOf', {
    'chainId, expires, requestDigest].join': 'chainId, expires, requestDigest.slice(0, 0)].join',
  }),
  mutant('short_payment_counts_as_whole', quick(40, { wallets: 0.3 }), `${FINISH_PAYMENTS}#endOf`, {
    "? ['underpay', { ...reading, reason: UNDERPAID }]": "? ['confirm', reading]",
  }),
]

/** Mistakes that show only when rare faults meet. */
const RARE: readonly Mutant[] = [
  mutant('write_off_is_final', seeds(150, { wallets: 0.6 }), `${PAYMENT_STATES}#PAYMENT_STATES`, {
    "written_off: { ...NOTHING, appear: 'mined' }": 'written_off: NOTHING',
  }),
  mutant('late_money_is_the_platforms', seeds(150, { wallets: 0.6 }), `${BOOK_PAYMENT}#deposit`, {
    'const back = more >= 0n ? 0n : -more > came ? came : -more': 'const back = before.isWrittenOff ? came : 0n',
  }),
  mutant('late_money_is_all_the_payers', seeds(150, { wallets: 0.6 }), `${BOOK_PAYMENT}#deposit`, {
    'const back = more >= 0n ? 0n : -more > came ? came : -more': 'const back = 0n',
  }),
  mutant('short_payment_is_no_payment', seeds(150, { wallets: 0.6 }), `${FINISH_PAYMENTS}#look`, {
    'if (moved === 0n) {': 'if (moved < (payment.due ?? 0n)) {',
  }),
  mutant('platform_stands_in_for_what_came', seeds(150, { wallets: 0.6 }), `${BOOK_PAYMENT}#missingOf`, {
    '(charge ?? 0n) - (came ?? 0n) : 0n': '(charge ?? 0n) : 0n',
  }),
  mutant('failed_transfer_is_mined', seeds(150, { wallets: 0.6 }), `${OWN_FACILITATOR}#followUp`, {
    "status === 'reverted'\n          ?": 'status !== status\n          ?',
  }),
  mutant('refusal_is_believed_unseen', seeds(150, { wallets: 0.6 }), `${SETTLE_PAYMENT}#settle`, {
    "if (outcome.state === 'refused') return (await takenByOthers(ctx, payment)) ?? outcome":
      "if (outcome.state === 'refused') return outcome",
  }),
  mutant('second_charge_keeps_its_heir', seeds(150, { wallets: 0.6 }), `${SETTLE_PAYMENT}#noteCharge`, {
    "await trx.insertConflicts([{ rid, payloadHash, event, source: 'payment' }])":
      "throw new AppError('conflict', { cause: payloadHash })",
  }),
]

/** Mistakes in the bounds of open and unpaid amounts of contracts. */
const CONTRACTS: readonly Mutant[] = [
  mutant('one-contract-takes-the-share-of-all', PAYMENT_CLAIMS_TEST, `${CLAIM_PAYMENT}#isBeyond`, {
    '  if (own > limit / PAYER_SHARE) return true\n': '  void PAYER_SHARE\n',
  }),
  mutant('new-contracts-take-the-share-of-known-ones', PAYMENT_CLAIMS_TEST, `${CLAIM_PAYMENT}#isBeyond`, {
    '  if (own > 0n && unsettled > limit / UNSETTLED_SHARE) return true\n': '  void [unsettled, UNSETTLED_SHARE]\n',
  }),
  mutant('new-contracts-close-the-way-of-known-ones', PAYMENT_CLAIMS_TEST, `${CLAIM_PAYMENT}#isBeyond`, {
    'if (own > 0n && unsettled': 'if (unsettled',
  }),
  mutant('contracts-with-a-history-have-no-limit', PAYMENT_CLAIMS_TEST, `${CLAIM_PAYMENT}#isBeyond`, {
    '  return all > limit\n': '  return all < 0n\n',
  }),
  mutant(
    'what-others-settled-speaks-for-a-new-contract',
    PAYMENT_CLAIMS_TEST,
    `${CHAIN_PAYMENTS}#readContractExposure`,
    {
      "where payer = exposed.payer and state = 'confirmed'": "where state = 'confirmed'",
    },
  ),
  mutant('a-history-has-no-end', PAYMENT_CLAIMS_TEST, `${CHAIN_PAYMENTS}#readContractExposure`, {
    [`order by changed_at desc limit \${MOST_SETTLED}`]: 'order by changed_at desc',
  }),
  mutant('what-contracts-left-unpaid-is-forgotten', PAYMENT_CLAIMS_TEST, `${CHAIN_PAYMENTS}#readContractExposure`, {
    [`union all select payer, \${LOSS} from chain_payment where is_contract and \${IS_LOST}`]: `union all select payer, \${LOSS} from chain_payment where is_contract and \${IS_LOST} and false`,
  }),
  mutant('a-claim-of-a-contract-adds-nothing', PAYMENT_CLAIMS_TEST, `${CHAIN_PAYMENTS}#readContractExposure`, {
    [`union all select \${payer}, \${amount}\n`]: `union all select \${payer}, \${amount} where false\n`,
  }),
  mutant('gas-of-open-payments-is-free', PAYMENT_CLAIMS_TEST, `${CHAIN_PAYMENTS}#readContractExposure`, {
    [`sum(greatest(micro, \${LEAST_LOSS_MICRO}))`]: 'sum(micro)',
  }),
]

/** Mistakes in the code of payments. */
export const PAYMENT_MUTANTS: readonly Mutant[] = [...FREQUENT, ...RARE, ...CONTRACTS]
