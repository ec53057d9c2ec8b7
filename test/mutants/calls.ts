import type { Mutant } from './mutant.ts'
import { editsOf, mutant, quick, seeds, tests } from './mutant.ts'

const SETTLE_CALL = 'data-plane/pipeline/settle-call.ts'
const RELAY_WITH_FAILOVER = 'data-plane/pipeline/attempt/relay-with-failover.ts'
const QUOTE_RESOURCE = 'shared/resources/quote-resource.ts'
const BUYER_ANSWER = 'data-plane/pipeline/buyer-answer.ts'
const SEND = 'data-plane/upstream/send.ts'
const LIMITS = 'data-plane/http/connection-limits.ts'
const PROMPT = 'shared/every-prompt.ts'
const ATTEMPT = 'data-plane/pipeline/attempt/attempt.ts'

/** Mistakes in the costs, holds and records of calls. */
const COSTS: readonly Mutant[] = [
  mutant('fee_rounded_apart', quick(5), `${SETTLE_CALL}#writeEvent`, {
    'const { sellerNet, fee } = splitCharge(chargeMicro, call.feeBps)': `const { sellerNet } = splitCharge(chargeMicro, call.feeBps)
          const fee = (chargeMicro * call.feeBps) / 10_000n`,
  }),
  mutant('progress_above_delivered', quick(20), `${SETTLE_CALL}#progressEvent`, {
    "const charge = chargeOf(call, at.plan, meter(call.demand, at, 'cut'))": `const charge = {
          ...chargeOf(call, at.plan, meter(call.demand, at, 'cut')),
          chargeMicro: call.hold.grantedMicro,
        }`,
  }),
  {
    name: 'hold_without_failover_price',
    noticedBy: quick(10),
    edits: [
      ...editsOf('data-plane/pipeline/plan/plan-call.ts#planCall', {
        'quote: quoteFor(course, ranked.candidates, totalMs)':
          'quote: quoteFor(course, ranked.candidates.slice(0, 1), totalMs)',
      }),
      ...editsOf('data-plane/pipeline/plan/quote-call.ts#affordableLimit', {
        'if (chargeShare(bound.bill, kept) <= grantedMicro) return bound.maxOutputTokens':
          'return bound.maxOutputTokens',
      }),
    ],
  },
  mutant('answer_before_sync', quick(60), `${SETTLE_CALL}#settleCall`, {
    "if (settled.state === 'pending') await plane.money.journal.sync().catch(() => undefined)": '',
  }),
  mutant('failed_offer_keeps_its_cap', quick(5), `${RELAY_WITH_FAILOVER}#relayWithFailover`, {
    'await settleCap(plane.caps, plan, attempts.length - 1)': '',
  }),
  mutant('cap_of_another_attempt_given_back', quick(5), `${RELAY_WITH_FAILOVER}#relayWithFailover`, {
    'await settleCap(plane.caps, plan, attempts.length - 1)': 'await settleCap(plane.caps, plan, attempts.length)',
  }),
  mutant('serving_offer_keeps_its_cap', quick(5), `${SETTLE_CALL}#settleCall`, {
    'last !== undefined && last.plan.offer.capDailyMicro !== null': 'Math.PI === 3',
  }),
  mutant('failover_after_content', quick(5), `${RELAY_WITH_FAILOVER}#isFinal`, {
    'result.isGone || decoder.contentPieces() > 0 || ': '',
  }),
  mutant('cut_answer_is_free', quick(5), `${SETTLE_CALL}#settleCall`, {
    'const charge = chargeOf(call, last?.plan, metered)':
      "const charge = chargeOf(call, last?.plan, outcome === 'cut' ? NOTHING : metered)",
  }),
  mutant('buyer_is_told_the_list_price', quick(5), `${SETTLE_CALL}#receiptOf`, {
    '? { chargeMicro, listMicro, listInputMicro, usage, adaptedParams }':
      '? { chargeMicro: listMicro, listMicro, listInputMicro, usage, adaptedParams }',
  }),
  mutant('failed_call_keeps_its_hold', quick(5), `${SETTLE_CALL}#settleCall`, {
    'void call.payment.release(call.hold, relay.error?.code ?? outcome, text)': '',
  }),
  mutant('charge_without_a_record', quick(5), `${SETTLE_CALL}#settleCall`, {
    'plane.money.journal.capture(call.hold, text)': '',
  }),
  mutant('running_calls_are_not_brought', quick(10), 'data-plane/store/funds-recovery.ts#bringAll', {
    'await registrar.calls(openCalls.operations(node))': '',
  }),
  mutant('negative_counts_are_read', quick(5), 'shared/protocols/answers/reported-usage.ts#takeCount', {
    'Number.isSafeInteger(value) && value >= 0 &&': 'Number.isSafeInteger(value) &&',
  }),
  mutant('hold_freed_before_its_debit_is_told', quick(10), 'control-plane/services/ledger/free-hold.ts#freeHold', {
    'await seedAccount(ctx, hold.account)': '',
  }),
]

/** Mistakes in the code of calls on lent keys. */
const RELAYS: readonly Mutant[] = [
  mutant('dearer_of_quote_and_report', quick(5, { relays: 0.3 }), `${QUOTE_RESOURCE}#chargeableUnits`, {
    'billFor(good, reported) < billFor(good, quoted) ? reported : quoted':
      'billFor(good, reported) > billFor(good, quoted) ? reported : quoted',
  }),
  mutant('failed_relay_is_charged', quick(5, { relays: 0.3 }), `${SETTLE_CALL}#isWorthless`, {
    "const isWorthless = outcome === 'failed' || (": 'const isWorthless = (',
  }),
  mutant('broken_relay_is_charged', quick(5, { relays: 0.3 }), `${SETTLE_CALL}#meter`, {
    "(isPaidWhole(demand) && outcome === 'cut')":
      "(isPaidWhole(demand) && outcome === 'cut' && demand.kind === 'model')",
  }),
  mutant('relay_is_sent_again', quick(5, { relays: 0.3 }), `${RELAY_WITH_FAILOVER}#isFinal`, {
    "return result.isSent || result.failure?.fault === 'buyer'": "return result.failure?.fault === 'buyer'",
  }),
  mutant('part_of_a_held_answer_is_charged', quick(5, { relays: 0.3 }), 'data-plane/wires/forward/decoder.ts#ending', {
    'contentBytes: passing.isOver || passing.pieces > 0 ?': 'contentBytes: passing.isOver || passing.bytes > 0 ?',
  }),
]

/** Mistakes in the reports and records of the ends of calls. */
const ENDS: readonly Mutant[] = [
  mutant('cut_answer_is_told_as_failed', seeds(10), `${SETTLE_CALL}#outcomeOf`, {
    "> 0 ? 'cut' : 'failed'": "> 0 ? 'failed' : 'cut'",
  }),
  mutant('leaving_is_no_end', seeds(10), `${SETTLE_CALL}#outcomeOf`, {
    "if (relay.isGone) return 'cancelled'": '',
  }),
  mutant('every_end_is_a_good_one', seeds(10), `${SETTLE_CALL}#outcomeOf`, {
    'if (relay.error === undefined) return': 'if (relay.attempts.length > 0) return',
  }),
  mutant('broken_stream_ends_well', seeds(10), `${BUYER_ANSWER}#endAnswer`, {
    'if (error !== undefined) {': 'if (error !== undefined && last === undefined) {',
  }),
  mutant('broken_stream_hides_its_cost', seeds(10), `${BUYER_ANSWER}#endAnswer`, {
    'last.decoder.fail(withReceipt(error, settlement))': 'last.decoder.fail(error)',
  }),
  mutant('only_the_last_attempt_is_told', seeds(10), `${RELAY_WITH_FAILOVER}#relayWithFailover`, {
    'attempts.push(attemptRow(plan, result))': 'attempts.splice(0, 9, attemptRow(plan, result))',
  }),
  mutant('buyer_who_left_is_served_again', seeds(10), `${RELAY_WITH_FAILOVER}#isFinal`, {
    'if (result.isGone || ': 'if (',
  }),
  mutant('cap_takes_less_than_the_call_may_cost', seeds(10), `${RELAY_WITH_FAILOVER}#takeCap`, {
    'withOutput(bound, plan.maxOutputTokens * bound.choices)': 'withOutput(bound, 1)',
  }),
  mutant('broken_connection_is_a_good_end', seeds(10), `${ATTEMPT}#takeError`, {
    'finish(run, { failure: wentWrong(run, () => classifyError(error, run.head !== undefined)) })': 'finish(run, {})',
  }),
  mutant('unreadable_answer_is_a_good_end', seeds(10), `${ATTEMPT}#takeEnd`, {
    'if (bad) finish(run, { failure: classifyBadAnswer(bad, speakerIn(run.plane, run.job.plan, run.request)) })':
      'if (bad) finish(run, {})',
  }),
  mutant('charge_above_the_hold', seeds(10), `${SETTLE_CALL}#chargeOf`, {
    'const chargeMicro = min(due, hold.grantedMicro)': 'const chargeMicro = due',
  }),
]

/** Mistakes of timers after a stall of the process, and with connections that are opened ahead. */
const STALLS: readonly Mutant[] = [
  mutant('body_is_cut_before_it_is_read', tests('unit/connection-limits'), `${PROMPT}#everyPrompt`, {
    'if (passedMs > lateMs)': 'if (passedMs > 100 * lateMs)',
  }),
  mutant('stall_is_time_of_the_sender', tests('unit/connection-limits'), `${LIMITS}#watchSlowBodies`, {
    'stalledMs += passedMs': 'stalledMs += passedMs - passedMs',
  }),
  mutant('unused_connection_is_answered', tests('unit/broken-requests'), 'shared/broken-requests.ts', {
    'code === LATE_HEAD && socket.bytesRead === 0': 'code === LATE_HEAD && socket.bytesRead === -1',
  }),
  mutant('idle_connection_closes_as_announced', tests('unit/idle-connections'), 'shared/idle-connections.ts', {
    'overdue.get(socket) === socket.bytesRead': 'overdue.get(socket) !== -1',
  }),
  mutant('idle_connection_never_closes', tests('unit/idle-connections'), 'shared/idle-connections.ts', {
    'overdue.get(socket) === socket.bytesRead': 'overdue.get(socket) === -1',
  }),
  mutant('stall_ends_calls', tests('unit/ticker'), `${PROMPT}#everyPrompt`, {
    'if (passedMs > lateMs) onStall?.(passedMs)': 'if (passedMs > lateMs && onStall !== undefined) onStall(passedMs)',
  }),
]

const RESENDS_NOTICED = tests('unit/upstream-resend')

/** Mistakes with a request whose idle connection was closed as it left. Its seller may pay for each sending. */
const RESENDS: readonly Mutant[] = [
  mutant('new_connection_is_tried_again', RESENDS_NOTICED, `${SEND}#wasStale`, {
    'socket === undefined || readBefore === 0 || ': 'socket === undefined || ',
  }),
  mutant('begun_answer_is_asked_for_again', RESENDS_NOTICED, `${SEND}#wasStale`, {
    ' || socket.bytesRead !== readBefore': '',
  }),
  mutant('long_work_is_asked_for_again', RESENDS_NOTICED, `${SEND}#wasStale`, {
    ' && clock.monotonic() - writtenAt <= STALE_CLOSE_MS': '',
  }),
  mutant('request_takes_another_idle_connection', RESENDS_NOTICED, `${SEND}#createUpstream`, {
    'freshAgent.dispatch(': 'agent.dispatch(',
  }),
  {
    name: 'request_is_sent_until_it_arrives',
    edits: [
      ...editsOf(`${SEND}#createUpstream`, { 'freshAgent.dispatch(': 'agent.dispatch(' }),
      ...editsOf(`${SEND}#takeError`, { 'sending.resend = undefined': 'sending.readBefore = 0' }),
    ],
    noticedBy: RESENDS_NOTICED,
  },
  mutant('job_is_sent_twice', RESENDS_NOTICED, 'data-plane/pipeline/attempt/ask-provider.ts#askProvider', {
    '{ firstByteMs: limitMs }': '{ firstByteMs: limitMs, mayResend: true }',
  }),
  mutant('forwarded_call_is_sent_twice', RESENDS_NOTICED, `${SEND}#createUpstream`, {
    'options.mayResend === true && passedOn === undefined': 'options.mayResend === true',
  }),
]

/** Mistakes in the code of calls. */
export const CALL_MUTANTS: readonly Mutant[] = [...COSTS, ...RELAYS, ...ENDS, ...STALLS, ...RESENDS]
