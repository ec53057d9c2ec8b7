import type { Mutant } from './mutant.ts'
import { mutant, row } from './mutant.ts'

const JOBS = 'data-plane/store/jobs.ts'

/** Mistakes that rows of real processes notice. */
export const PROCESS_MUTANTS: readonly Mutant[] = [
  mutant('ack-without-commit', row('F19'), 'control-plane/services/booking/ingest.ts#transact', {
    'ctx.ledger.transact(run)': `(async () => {
      let booked: Result | undefined
      await ctx.ledger.transact(async (trx) => {
        booked = await run(trx)
        throw new Error('nobody commits')
      }).catch(() => undefined)
      return booked
    })()`,
  }),
  mutant('no-journal-replay', row('F11'), 'data-plane/store/funds-recovery.ts#bringAll', {
    '      await bringCaptures(ports, registrar)\n': '\n',
  }),
  mutant('capture-counts-again', row('F17'), 'shared/contract/money-scripts/settle.ts', {
    [`  if st=='captured' or st=='posted' then
    if H.used~=used then return 'X:'..H.used end
    if not H.late or (H.pa and tonumber(H.pa)<tonumber(H.late)) then return 'K' end
    return 'L'
  end`]: '',
  }),
  mutant('nobody-waits-at-the-end', row('F43'), 'data-plane/http/drain.ts#drainCalls', {
    'await untilIdle(config.drainMs, () => calls.process.ending.isDue)': 'await untilIdle(0, () => true)',
  }),
  mutant('key-in-the-log', row('N03'), 'data-plane/store/buyer-keys.ts#identify', {
    "      const digest = hash('sha256', key, 'base64')\n":
      "      const digest = hash('sha256', key, 'base64')\n      console.log('key', key)\n",
  }),
  mutant('payment-serves-again', row('F35b'), 'control-plane/services/payments/claim-payment.ts#claimPayment', {
    'const name = { network, asset: asset.toLowerCase(), payer, nonce }':
      'const name = { network, asset: asset.toLowerCase(), payer, nonce: nonce + ask.rid }',
  }),
  mutant('nobody-settles-later', row('F35b'), 'data-plane/pipeline/claims/pending-settlements.ts#finish', {
    '(text) => isAll || due.has(ridOf(text)))': '() => isAll && !isAll)',
  }),
  mutant('overpayment-is-kept', row('F35b'), 'control-plane/services/payments/book-payment.ts#deposit', {
    'const came = (payment.came ?? 0n) - before.came':
      'const came = (payment.came === null ? 0n : (payment.charge ?? 0n)) - before.came',
  }),
  mutant('relay-is-sent-again', row('N06'), 'data-plane/pipeline/attempt/relay-with-failover.ts#isFinal', {
    "return result.isSent || result.failure?.fault === 'buyer'": "return result.failure?.fault === 'buyer'",
  }),
  mutant('half-a-relay-is-charged', row('N06'), 'data-plane/pipeline/settle-call.ts#meter', {
    "(isPaidWhole(demand) && outcome === 'cut')":
      "(isPaidWhole(demand) && outcome === 'cut' && demand.kind === 'model')",
  }),
  mutant('submits-without-a-journal', row('N07a'), 'data-plane/pipeline/capture-job-event.ts#captureJobEvent', {
    'money.journal.capture(subject, event)': '',
  }),
  mutant('lost-jobs-stay-lost', row('N07a'), 'control-plane/services/jobs/restore-jobs.ts#restore', {
    'await jobBook.restore({ ...record, ...buyersPart }, standing, now)': 'void [buyersPart, standing]',
  }),
  mutant('a-lost-job-does-not-exist', row('N07a'), `${JOBS}#find`, {
    "if (standing === 'unknown') throw recordsMissing()": '',
  }),
  mutant('a-list-is-short-while-records-are-missing', row('N07a'), `${JOBS}#createJobs`, {
    'if (restoredTo !== JOBS_RESTORED.all || !isSure()) throw recordsMissing()': '',
  }),
]
