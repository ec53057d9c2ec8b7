import type { KeptCases } from './kept-cases.ts'
import type { Mutant } from './mutants.ts'
import type { PaymentMutantName } from './payment-mutants.ts'
import { PAYMENT_MUTANTS } from './payment-mutants.ts'
import { JOB_SHARE } from './plan.ts'
import type { ProductMutantName } from './product-mutants.ts'
import type { RelayMutantName } from './relay-mutants.ts'
import { RELAY_MUTANTS } from './relay-mutants.ts'
import type { Hunt } from './runner.ts'

const OPERATIONS = 300
/** Each mutant has to be noticed within so many seeds. */
export const MOST_SEEDS: Readonly<Record<Mutant | ProductMutantName | PaymentMutantName | RelayMutantName, number>> = {
  insert_without_conflict: 10,
  ack_without_version: 40,
  expire_without_state: 20,
  capture_ignores_expired: 100,
  seed_without_version: 200,
  grant_above_available: 40,
  ack_before_commit: 60,
  cap_outside_script: 20,
  fee_rounded_apart: 5,
  progress_above_delivered: 20,
  hold_without_failover_price: 10,
  answer_before_sync: 60,
  failed_offer_keeps_its_cap: 5,
  cap_of_another_attempt_given_back: 5,
  serving_offer_keeps_its_cap: 5,
  failover_after_content: 5,
  cut_answer_is_free: 5,
  buyer_is_told_the_list_price: 5,
  failed_call_keeps_its_hold: 5,
  charge_without_a_record: 5,
  failed_job_keeps_its_hold: 5,
  job_without_a_record: 5,
  running_calls_are_not_brought: 10,
  job_takes_of_no_cap: 5,
  job_goes_to_the_dearest_first: 10,
  job_end_is_said_anew: 10,
  failed_job_is_charged: 5,
  job_end_is_booked_twice: 40,
  failed_job_stays_in_escrow: 5,
  job_deadline_ignored: 5,
  rest_of_a_quote_is_kept: 5,
  negative_counts_are_read: 5,
  hold_freed_before_its_debit_is_told: 10,
  dearer_of_quote_and_report: 5,
  failed_relay_is_charged: 5,
  broken_relay_is_charged: 5,
  relay_is_sent_again: 5,
  part_of_a_held_answer_is_charged: 5,
  payment_serves_again: 5,
  payer_exposure_unbounded: 20,
  one_balance_for_two_payments: 40,
  upto_takes_all: 5,
  late_charge_of_a_booked_payment_is_lost: 15,
  charge_after_a_release_is_lost: 160,
  rest_of_a_payment_is_kept: 5,
  left_charges_are_crossed_off: 5,
  pending_charges_are_forgotten: 5,
  unpaid_answer_goes_out: 40,
  forged_payment_reaches_the_facilitator: 10,
  credential_not_bound_to_its_challenge: 20,
  edited_challenge_is_believed: 20,
  challenge_pays_for_another_request: 60,
  short_payment_counts_as_whole: 40,
}

/** Long jobs among the operations, for mutants in their code. The others are looked for in runs of calls alone. */
const JOB_SHARES: ReadonlyMap<string, number> = new Map([
  ['failed_job_keeps_its_hold', JOB_SHARE],
  ['job_without_a_record', JOB_SHARE],
  ['job_takes_of_no_cap', JOB_SHARE],
  ['job_goes_to_the_dearest_first', JOB_SHARE],
  ['job_end_is_said_anew', 0.2],
  ['failed_job_is_charged', JOB_SHARE],
  ['job_end_is_booked_twice', JOB_SHARE],
  ['failed_job_stays_in_escrow', JOB_SHARE],
  ['job_deadline_ignored', JOB_SHARE],
  ['rest_of_a_quote_is_kept', JOB_SHARE],
])

/** Calls that wallets pay for among the operations, for mutants on their way. */
const MANY_WALLETS = 0.3
const OF_PAYMENTS: ReadonlySet<string> = new Set(PAYMENT_MUTANTS.map(({ name }) => name))

/** Calls on lent keys among the operations, for mutants on theirs. */
const MANY_RELAYS = 0.3
const OF_RELAYS: ReadonlySet<string> = new Set(RELAY_MUTANTS.map(({ name }) => name))

/** The plans in which a mutant is looked for: the small one that showed it before, then those of its seeds. */
export function huntOf(mutant: string, most: number, kept: KeptCases): Hunt {
  const wallets = OF_PAYMENTS.has(mutant) ? MANY_WALLETS : 0
  const relays = OF_RELAYS.has(mutant) ? MANY_RELAYS : 0
  const shares = { relays, jobs: JOB_SHARES.get(mutant) ?? 0, wallets }
  return { operations: OPERATIONS, most, kept: kept.get(mutant), shares }
}
