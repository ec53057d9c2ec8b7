import type { LongMutant } from './long-mutant.ts'

const SETTLE = 'data-plane/pipeline/settle-call.ts'
const RELAY = 'data-plane/pipeline/attempt/relay-with-failover.ts'
const ANSWER = 'data-plane/pipeline/buyer-answer.ts'
const ATTEMPT = 'data-plane/pipeline/attempt/attempt.ts'

const of = (name: string, file: string, find: string, replace: string): LongMutant => {
  return { name, edits: [{ file, find, replace }], jobs: 0, mostSeeds: 10 }
}

/** Mistakes in how the ends of calls are told and kept. */
export const END_MUTANTS: readonly LongMutant[] = [
  of('cut_answer_is_told_as_failed', SETTLE, "> 0 ? 'cut' : 'failed'", "> 0 ? 'failed' : 'cut'"),
  of('leaving_is_no_end', SETTLE, "if (relay.isGone) return 'cancelled'", ''),
  of(
    'every_end_is_a_good_one',
    SETTLE,
    'if (relay.error === undefined) return',
    'if (relay.attempts.length > 0) return',
  ),
  of(
    'broken_stream_ends_well',
    ANSWER,
    'if (error !== undefined) {',
    'if (error !== undefined && last === undefined) {',
  ),
  of(
    'broken_stream_hides_its_cost',
    ANSWER,
    'last.decoder.fail(priced(error, settlement))',
    'last.decoder.fail(error)',
  ),
  of(
    'only_the_last_attempt_is_told',
    RELAY,
    'attempts.push(attemptRow(plan, result))',
    'attempts.splice(0, 9, attemptRow(plan, result))',
  ),
  of('buyer_who_left_is_served_again', RELAY, 'if (result.isGone || ', 'if ('),
  of(
    'cap_takes_less_than_the_call_may_cost',
    RELAY,
    'withOutput(bound, plan.maxOutputTokens * bound.choices)',
    'withOutput(bound, 1)',
  ),
  of(
    'broken_connection_is_a_good_end',
    ATTEMPT,
    'finish(run, { failure: wentWrong(run, () => classifyError(error, run.head !== undefined)) })',
    'finish(run, {})',
  ),
  of(
    'unreadable_answer_is_a_good_end',
    ATTEMPT,
    'if (bad) finish(run, { failure: classifyBadAnswer(bad, speakerIn(run.plane, run.job.plan, run.request)) })',
    'if (bad) finish(run, {})',
  ),
  of('charge_above_the_hold', SETTLE, 'const chargeMicro = min(due, hold.grantedMicro)', 'const chargeMicro = due'),
]
