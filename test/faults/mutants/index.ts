import type { Mutant } from '#test/faults/harness/build.ts'

/** Mistakes that somebody could make in the code, each with the row that must fail because of it. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'ack-without-commit',
    file: 'control-plane/services/booking/ingest.ts',
    find: 'ctx.ledger.transact((trx) => bookCalls(trx, events, batch.source))',
    replace: `(async () => {
      let booked
      await ctx.ledger.transact(async (trx) => {
        booked = await bookCalls(trx, events, batch.source)
        throw new Error('nobody commits')
      }).catch(() => undefined)
      return booked
    })()`,
    caughtBy: 'F19',
  },
  {
    name: 'no-journal-replay',
    file: 'data-plane/store/funds-recovery.ts',
    find: '      await bringCaptures(ports, registrar)\n',
    replace: '\n',
    caughtBy: 'F11',
  },
  {
    name: 'capture-counts-again',
    file: 'shared/contract/money-scripts/settle.ts',
    find: `  if st=='captured' or st=='posted' then
    if H.used~=used then return 'X:'..H.used end
    if not H.late or (H.pa and tonumber(H.pa)<tonumber(H.late)) then return 'K' end
    return 'L'
  end`,
    replace: '',
    caughtBy: 'F17',
  },
  {
    name: 'nobody-waits-at-the-end',
    file: 'data-plane/http/drain.ts',
    find: 'await untilIdle(config.drainMs, () => calls.ending.isDue)',
    replace: 'await untilIdle(0, () => true)',
    caughtBy: 'F43',
  },
  {
    name: 'key-in-the-log',
    file: 'data-plane/store/buyer-keys.ts',
    find: "      const digest = hash('sha256', key, 'base64')\n",
    replace: "      const digest = hash('sha256', key, 'base64')\n      console.log('key', key)\n",
    caughtBy: 'N03',
  },
  {
    name: 'payment-serves-again',
    file: 'control-plane/services/payments/claim-payment.ts',
    find: 'const name = { network, asset: asset.toLowerCase(), payer, nonce }',
    replace: 'const name = { network, asset: asset.toLowerCase(), payer, nonce: nonce + ask.rid }',
    caughtBy: 'F35b',
  },
  {
    name: 'nobody-settles-later',
    file: 'data-plane/pipeline/claims/pending-settlements.ts',
    find: '(text) => isAll || due.has(ridOf(text)))',
    replace: '() => isAll && !isAll)',
    caughtBy: 'F35b',
  },
  {
    name: 'overpayment-is-kept',
    file: 'control-plane/services/payments/book-payment.ts',
    find: 'const came = (payment.came ?? 0n) - before.came',
    replace: 'const came = (payment.came === null ? 0n : (payment.charge ?? 0n)) - before.came',
    caughtBy: 'F35b',
  },
  {
    name: 'relay-is-sent-again',
    file: 'data-plane/pipeline/attempt/relay-with-failover.ts',
    find: "return result.isSent || result.failure?.fault === 'buyer'",
    replace: "return result.failure?.fault === 'buyer'",
    caughtBy: 'N06',
  },
  {
    name: 'half-a-relay-is-charged',
    file: 'data-plane/pipeline/settle-call.ts',
    find: "(isPaidWhole(demand) && outcome === 'cut')",
    replace: "(isPaidWhole(demand) && outcome === 'cut' && demand.kind === 'model')",
    caughtBy: 'N06',
  },
  {
    name: 'submits-without-a-journal',
    file: 'data-plane/pipeline/capture-job-event.ts',
    find: 'calls.journal.capture(subject, event)',
    replace: '',
    caughtBy: 'N07a',
  },
  {
    name: 'lost-jobs-stay-lost',
    file: 'control-plane/services/jobs/restore-jobs.ts',
    find: 'await jobBook.restore({ ...record, ...told }, standing, now)',
    replace: 'void [told, standing]',
    caughtBy: 'N07a',
  },
  {
    name: 'a-lost-job-does-not-exist',
    file: 'data-plane/store/jobs.ts',
    find: "if (standing === 'unknown') throw recordsMissing()",
    replace: '',
    caughtBy: 'N07a',
  },
  {
    name: 'a-list-is-short-while-records-are-missing',
    file: 'data-plane/store/jobs.ts',
    find: 'if (restoredTo !== JOBS_RESTORED.all || !isSure()) throw recordsMissing()',
    replace: '',
    caughtBy: 'N07a',
  },
]
