/** A mistake in the product's code: changed places of its files. */
export type ProductMutant = {
  readonly name: string
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[]
}

const PLAN = 'data-plane/pipeline/plan/plan-call.ts'
const QUOTE = 'data-plane/pipeline/plan/quote-call.ts'
const RELAY = 'data-plane/pipeline/attempt/relay-with-failover.ts'
const SETTLE = 'data-plane/pipeline/settle-call.ts'
const SUBMIT = 'data-plane/pipeline/jobs/submit-job.ts'
const FIND = 'data-plane/pipeline/jobs/find-job-provider.ts'
const SHOW = 'data-plane/pipeline/jobs/show-job.ts'
const BOOK_EVENT = 'data-plane/pipeline/capture-job-event.ts'
const FREE = 'control-plane/services/ledger/free-hold.ts'
const END = 'control-plane/services/booking/book-job-event.ts'

export const PRODUCT_MUTANTS = [
  {
    name: 'fee_rounded_apart',
    edits: [
      {
        file: SETTLE,
        find: 'const { sellerNet, fee } = splitCharge(chargeMicro, call.feeBps)',
        replace: `const { sellerNet } = splitCharge(chargeMicro, call.feeBps)
          const fee = (chargeMicro * call.feeBps) / 10_000n`,
      },
    ],
  },
  {
    name: 'progress_above_delivered',
    edits: [
      {
        file: SETTLE,
        find: "const charge = chargeOf(call, at.plan, meter(call.demand, at, 'cut'))",
        replace: `const charge = {
          ...chargeOf(call, at.plan, meter(call.demand, at, 'cut')),
          chargeMicro: call.hold.grantedMicro,
        }`,
      },
    ],
  },
  {
    name: 'hold_without_failover_price',
    edits: [
      {
        file: PLAN,
        find: 'quote: quoteFor(course, ranked.candidates, totalMs)',
        replace: 'quote: quoteFor(course, ranked.candidates.slice(0, 1), totalMs)',
      },
      {
        file: QUOTE,
        find: 'if (chargeShare(bound.bill, kept) <= grantedMicro) return bound.maxOutputTokens',
        replace: 'return bound.maxOutputTokens',
      },
    ],
  },
  {
    name: 'answer_before_sync',
    edits: [
      {
        file: SETTLE,
        find: "if (settled.state === 'pending') await plane.journal.sync().catch(() => undefined)",
        replace: '',
      },
    ],
  },
  {
    name: 'failed_offer_keeps_its_cap',
    edits: [{ file: RELAY, find: 'await settleCap(plane, plan, attempts.length - 1)', replace: '' }],
  },
  {
    name: 'cap_of_another_attempt_given_back',
    edits: [
      {
        file: RELAY,
        find: 'await settleCap(plane, plan, attempts.length - 1)',
        replace: 'await settleCap(plane, plan, attempts.length)',
      },
    ],
  },
  {
    name: 'serving_offer_keeps_its_cap',
    edits: [
      { file: SETTLE, find: 'last !== undefined && last.plan.offer.capDailyMicro !== null', replace: 'Math.PI === 3' },
    ],
  },
  {
    name: 'failover_after_content',
    edits: [{ file: RELAY, find: 'result.isGone || decoder.contentPieces() > 0 || ', replace: '' }],
  },
  {
    name: 'cut_answer_is_free',
    edits: [
      {
        file: SETTLE,
        find: 'const charge = chargeOf(call, last?.plan, metered)',
        replace: "const charge = chargeOf(call, last?.plan, outcome === 'cut' ? NOTHING : metered)",
      },
    ],
  },
  {
    name: 'buyer_is_told_the_list_price',
    edits: [
      {
        file: SETTLE,
        find: '? { chargeMicro, listMicro, listInputMicro, usage, adaptedParams }',
        replace: '? { chargeMicro: listMicro, listMicro, listInputMicro, usage, adaptedParams }',
      },
    ],
  },
  {
    name: 'failed_call_keeps_its_hold',
    edits: [
      {
        file: SETTLE,
        find: 'void call.payment.release(call.hold, relay.error?.code ?? outcome, text)',
        replace: '',
      },
    ],
  },
  {
    name: 'charge_without_a_record',
    edits: [{ file: SETTLE, find: 'plane.journal.capture(call.hold, text)', replace: '' }],
  },
  {
    name: 'failed_job_keeps_its_hold',
    edits: [{ file: SUBMIT, find: 'void payment.release(hold, error.code, event)', replace: '' }],
  },
  {
    name: 'job_without_a_record',
    edits: [{ file: BOOK_EVENT, find: 'calls.journal.capture(subject, event)', replace: '' }],
  },
  {
    name: 'running_calls_are_not_brought',
    edits: [
      {
        file: 'data-plane/store/funds-recovery.ts',
        find: 'await registrar.calls(openCalls.operations(node))',
        replace: '',
      },
    ],
  },
  {
    name: 'job_takes_of_no_cap',
    edits: [
      {
        file: FIND,
        find: 'if (!(await calls.offerCaps.take(offer, take, quote, limits.askMs + TAKE_SLACK_MS))) {',
        replace: 'if (Math.PI === 3) {',
      },
    ],
  },
  {
    name: 'job_goes_to_the_dearest_first',
    edits: [
      {
        file: FIND,
        find: 'for (const offer of turn.offers) {',
        replace: 'for (const offer of turn.offers.toReversed()) {',
      },
    ],
  },
  {
    name: 'job_end_is_said_anew',
    edits: [
      {
        file: SHOW,
        find: 'const end = await plane.jobs.end(rid, endOf(plane, job, over))',
        replace: 'const end = endOf(plane, job, over)',
      },
    ],
  },
  {
    name: 'failed_job_is_charged',
    edits: [
      {
        file: 'shared/jobs.ts',
        find: "if (state !== 'succeeded') return",
        replace: "if (state === 'cancelled') return",
      },
    ],
  },
  {
    name: 'job_end_is_booked_twice',
    edits: [
      {
        file: END,
        find: "if (end.bookedAt !== null) return { fate: 'repeat'",
        replace: "if (Math.PI === 3) return { fate: 'repeat'",
      },
    ],
  },
  {
    name: 'failed_job_stays_in_escrow',
    edits: [
      {
        file: END,
        find: 'if (job === undefined) return { fate:',
        replace: "if (job === undefined || read.event.outcome === 'failed') return { fate:",
      },
    ],
  },
  {
    name: 'job_deadline_ignored',
    edits: [
      {
        file: 'control-plane/services/jobs/attend-job.ts',
        find: "if (isLate(job, askedAt)) return 'overdue'",
        replace: '',
      },
    ],
  },
  {
    name: 'rest_of_a_quote_is_kept',
    edits: [
      {
        file: END,
        find: '{ account: job.account, amount: back - toShortfall },',
        replace: '{ account: PLATFORM_ACCOUNTS.fee, amount: back - toShortfall },',
      },
    ],
  },
  {
    name: 'negative_counts_are_read',
    edits: [
      {
        file: 'shared/protocols/answers/reported-usage.ts',
        find: 'Number.isSafeInteger(value) && value >= 0 &&',
        replace: 'Number.isSafeInteger(value) &&',
      },
    ],
  },
  {
    name: 'hold_freed_before_its_debit_is_told',
    edits: [{ file: FREE, find: 'await seedAccount(ctx, hold.account)', replace: '' }],
  },
] as const satisfies readonly ProductMutant[]

export type ProductMutantName = (typeof PRODUCT_MUTANTS)[number]['name']
