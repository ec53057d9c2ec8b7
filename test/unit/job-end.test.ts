import { expect, it } from 'vitest'
import type { Target } from '#data-plane/call.ts'
import type { Hold } from '#data-plane/payment.ts'
import { refusedEvent } from '#data-plane/pipeline/jobs/job-event.ts'
import { showJob } from '#data-plane/pipeline/jobs/show-job.ts'
import { systemClock } from '#shared/clock.ts'
import { writeJobEnd } from '#shared/contract/job-end.ts'
import { createIds } from '#shared/ids.ts'
import { chargeJob, NO_CHARGE } from '#shared/jobs.ts'
import { keptBps, microUsd, picoUsd } from '#shared/money.ts'
import { openAiVideos } from '#shared/protocols/openai/videos.ts'

const ids = createIds(systemClock)
const rid = ids.requestId()
const JOB = {
  rid,
  account: ids.make('acc'),
  keyId: null,
  wallet: null,
  rail: 'credit',
  payment: null,
  model: 'sandbox/job',
  provider: 'sample',
  servedBy: 'marketplace',
  attempts: [],
  createdAt: 0,
  wire: 'video',
  asked: { seconds: null, size: null },
  adaptedParams: [],
}
const END = {
  event: '{}',
  state: 'succeeded',
  artifacts: [{ url: 'https://files.test/a', contentType: 'video/mp4', access: 'lasting' }],
  error: null,
  endedAt: 0,
}

/** Asks about a job whose end is recorded and not booked. `settle` is the settlement by its rail. */
function ask(
  settle: () => Promise<unknown>,
  stored: object = { job: JOB, end: END, isBooked: false },
  isCancel = false,
) {
  const steps: string[] = []
  const plane = {
    calls: {
      clock: { now: () => 0, monotonic: () => 0 },
      site: {},
      money: {
        journal: { capture: () => steps.push('journal'), sync: async () => steps.push('sync') },
        events: { captured: () => steps.push('announced'), usage: () => steps.push('announced') },
      },
    },
    jobs: {
      find: async () => stored,
      markBooked: async () => void steps.push('marked'),
    },
    rails: new Map([
      [
        'credit',
        {
          settle: async () => {
            const settled = await settle()
            steps.push('settled')
            return settled
          },
        },
      ],
    ]),
    limits: { bindingMs: 1 },
    files: {
      show: () => {
        steps.push('files')
        return []
      },
    },
    tokenOf: () => 'token',
  }
  const shownAs = ({ state }: { readonly state: string }) => (state === 'succeeded' ? 'the result' : state)
  const route = { wire: { name: 'video', shown: shownAs }, rails: [] }
  const head = { params: { id: `job_${rid}` }, headers: { 'x-job-token': 'token' }, startedAt: 0 }
  return { shown: showJob(plane as never, route as never, head as never, isCancel), steps }
}

it('the result of a job is shown and marked once it is booked, and not before', async () => {
  let settle = (_settled: unknown) => {}
  const { shown, steps } = ask(() => new Promise((resolve) => (settle = resolve)))
  const told = shown.then(({ text }) => steps.push(text))
  await new Promise(setImmediate)
  expect(steps).toEqual(['journal'])
  settle({ state: 'pending', booking: 'by-name' })
  await told
  expect(steps.filter((step) => step !== 'announced')).toEqual([
    'journal',
    'settled',
    'sync',
    'marked',
    'files',
    'the result',
  ])
})

it('a job whose end was never booked shows nothing, and is booked at the next poll', async () => {
  const { shown, steps } = ask(() => Promise.reject(new Error('neither the rail nor the disk')))
  await expect(shown).rejects.toThrow('neither')
  expect(steps).toEqual(['journal'])
})

it('a job that cannot be polled runs until a worker ends it, and cannot be cancelled', async () => {
  const stored = { job: { ...JOB, baseUrl: null, apiFormat: null, credential: null }, isStopped: false }
  const never = () => Promise.reject(new Error('nobody settles'))
  expect((await ask(never, stored).shown).text).toBe('running')
  await expect(ask(never, stored, true).shown).rejects.toMatchObject({ code: 'conflict' })
})

it("the event of a wallet's failed call names the wallet beside its account, so that a restored ledger can book the event", () => {
  const now = 1
  const wallet = `0x${'a1'.repeat(20)}`
  const paid = { account: ids.make('acc'), keyId: null, rail: 'x402-exact', grantedMicro: microUsd(20_000) } as const
  const target = { endpoint: 'video', id: 'a-film', requested: 'a-film', price: { version: 'v1' } } as Target
  const call = { target, wire: 'video', startedAt: now, attempts: [] }
  const eventOf = (record: Hold['record']) => {
    const hold = { ...paid, rid, wallet, record }
    return refusedEvent({ ...call, hold }, { code: 'upstream_error', node: 'node-1', now })
  }
  const record = { network: 'eip155:8453', scheme: 'exact' }
  expect(eventOf(record)).toMatchObject({ account: paid.account, wallet, payment: record })
  // A key of the wallet pays with the credit of its account.
  expect(eventOf(null)).not.toHaveProperty('wallet')
})

it('the cost that a provider reports for a film is the cost at its end, also for a film that failed', () => {
  const terms = {
    unitPrices: { milliseconds: picoUsd(100_000_000n) },
    keptBps: keptBps(5_000),
    bound: { milliseconds: 4_000 },
    quoteMicro: microUsd(1_000_000n),
  }
  const answer = (changes: object) => ({
    status: 200,
    text: JSON.stringify({
      id: 'v1',
      status: 'completed',
      seconds: '4',
      usage: { cost_in_usd_ticks: 4_000_000_000 },
      ...changes,
    }),
  })
  const chargeOf = (changes: object) => {
    const job = openAiVideos.read(answer(changes), 'v1')
    return job && chargeJob(terms, job)
  }
  expect(chargeOf({})).toMatchObject({ listMicro: 400_000n, chargeMicro: 200_000n, ownCost: 400_000_000_000n })
  expect(chargeOf({ status: 'failed' })).toMatchObject({ chargeMicro: 0n, ownCost: 400_000_000_000n })
  for (const wrong of [{ cost_in_usd_ticks: -1 }, 'free', null])
    expect(chargeOf({ usage: wrong })).not.toHaveProperty('ownCost')
})

it('the event of an end has the cost that the provider reported for the job', () => {
  const submit = { feeBps: keptBps(500), keptBps: keptBps(5_000), rid, startedAt: 0 }
  const end = { outcome: 'succeeded', errorCode: null, now: 1 }
  const write = (charge: object) =>
    JSON.parse(writeJobEnd(submit as never, { ...end, charge: { ...NO_CHARGE, ...charge } } as never))
  expect(write({ ownCost: picoUsd(7n) })).toMatchObject({ ownCostPico: '7' })
  expect(write({})).not.toHaveProperty('ownCostPico')
})
