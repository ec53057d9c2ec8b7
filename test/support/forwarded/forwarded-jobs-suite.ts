import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { MINUTE } from '#shared/clock.ts'
import { JOB_BINDING_MS } from '#shared/contract/lent-offers.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { queueClient } from '#test/support/market/queue-client.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { until } from '#test/support/run/until.ts'
import type { Init } from './forwarded-market.ts'
import {
  ask,
  costOf,
  json,
  KEY,
  lending,
  network,
  post,
  provider,
  queue,
  refusalOf,
  targeted,
} from './forwarded-market.ts'

/** Tests of a provider of the header style and of its queue, in the market of the forwarded calls. */
export function describeProviderH(): void {
  describe('provider-h', () => {
    const jobs: Jobs = { keys: new Map(), asked: new Set() }
    beforeEach(() => answerAsQueue(jobs))

    it('runs a model at the target of a header, with its key in the scheme of the provider', runsAModel)
    it('binds a job to its buyer and to the key that started it, and its result costs the job', bindsAJob)
    it('binds a job for 27 hours', bindsForADay)
    it('leaves a job to its first buyer when its provider reuses the id', keepsTheFirstBinding)
    it.each(['.', '..'])('refuses %s as the id of a job', takesNoDots)
    it('serves the stock client of such a queue', servesAQueueClient)
    it('finds a job again that Redis has lost, and never reports it as unknown', findsLostJobs)
    it('charges nothing for an unfinished result', chargesNothingEarly)
    it('never lets a provider send a result to a third party', sendsNoResultAway)
    it('polls jobs with a key that has left the market, until the key is destroyed', asksWithRetiredKeys)
  })
}

/** The keys that have started jobs, by job, and the polled jobs. */
type Jobs = { readonly keys: Map<string, string>; readonly asked: Set<string> }

const at = (path: string) => `${queue.origin}${path}`

function answerAsQueue({ keys: jobs, asked }: Jobs): void {
  json(200, { images: [{ url: 'x' }], seed: 1 })
  queue.answers((request, response) => {
    const { pathname } = new URL(request.url ?? '', queue.origin)
    const [, id, rest] = /requests\/([^/]+)(\/.*)?$/.exec(pathname) ?? []
    const say = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'POST') {
      const made = `req-${jobs.size + 1}`
      jobs.set(made, String(request.headers.authorization))
      const url = at(`${request.url}/requests/${made}`)
      say(200, { request_id: made, status: 'IN_QUEUE', response_url: url, status_url: `${url}/status` })
    } else if (id === undefined || jobs.get(id) !== request.headers.authorization) say(404, { detail: 'unknown' })
    else if (rest === '/status') {
      const isDone = asked.has(id)
      asked.add(id)
      say(isDone ? 200 : 202, { status: isDone ? 'COMPLETED' : 'IN_PROGRESS' })
    } else say(200, { images: [{ url: 'x' }] })
  })
}

async function runsAModel(): Promise<void> {
  const answer = await targeted(`${provider.origin}/studio/upscale`, { num_images: 2 })
  // Only one of two pictures was made: 20,000 micro-USD at 60 %.
  expect([answer.status, costOf(answer)]).toEqual([200, '12000'])
  const [heard] = provider.heard
  expect([heard?.url, heard?.text]).toEqual(['/studio/upscale', '{"num_images":2}'])
  expect(heard?.rawHeaders).toContain(`Key ${KEY}`)
  expect(heard?.rawHeaders.map((name) => name.toLowerCase())).not.toContain('x-target-url')
}

async function bindsAJob(): Promise<void> {
  const started = await targeted(at('/studio/motion'), { duration: 2 })
  const { request_id: id } = z.object({ request_id: z.string() }).parse(await started.json())
  // Two seconds at 50 micro-USD per millisecond and 60 %, taken at the submit.
  expect([started.status, costOf(started)]).toEqual([200, '60000'])
  const other = await doorsOf(network).user(1)
  const questions = (path: string, init: Init = {}) =>
    ask('/resources/provider-h', { ...init, headers: { 'x-target-url': at(`/studio/motion/requests/${id}${path}`) } })
  expect(await refusalOf(questions('/status', { key: other.buyerKey }))).toEqual([404, 'job_not_found', '0'])
  expect(
    await refusalOf(
      ask('/resources/provider-h', { headers: { 'x-target-url': at('/studio/motion/requests/req-9/status') } }),
    ),
  ).toEqual([404, 'job_not_found', '0'])
  const status = await questions('/status')
  expect([status.status, costOf(status)]).toEqual([202, '0'])
  for (const _ of [1, 2]) {
    const result = await questions('')
    expect([result.status, costOf(result)]).toEqual([200, '60000'])
  }
}

async function bindsForADay(): Promise<void> {
  const { rid, question } = await submitMotion()
  const Binding = z.looseObject({ rid: z.string(), boundAt: z.number() })
  const names = await lending.redis.keys(moneyKeys.jobBinding('provider-h', '*'))
  const read = async (name: string) => Binding.parse(JSON.parse((await lending.redis.get(name)) ?? '{}'))
  const bindings = await Promise.all(names.map(async (name) => ({ name, ...(await read(name)) })))
  const name = bindings.find((binding) => binding.rid === rid)?.name ?? ''
  const left = await lending.redis.pttl(name)
  expect([left > JOB_BINDING_MS - MINUTE, left <= JOB_BINDING_MS]).toEqual([true, true])
  const age = async (ms: number) => {
    const binding = await read(name)
    await lending.redis.set(name, JSON.stringify({ ...binding, boundAt: binding.boundAt - ms }), 'KEEPTTL')
  }
  await age(JOB_BINDING_MS - MINUTE)
  expect((await question('/status')).status).toBe(202)
  await age(MINUTE)
  expect(await refusalOf(question('/status'))).toEqual([404, 'job_not_found', '0'])
}

async function keepsTheFirstBinding(): Promise<void> {
  const { id, rid, question } = await submitMotion()
  queue.answers((request, response) => {
    const body = request.method === 'POST' ? { request_id: id } : { status: 'IN_PROGRESS' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const other = await doorsOf(network).user(1)
  for (const key of [other.buyerKey, network.sandbox.buyer_key]) {
    const again = await targeted(at('/studio/motion'), { duration: 2 }, { key })
    expect(await again.clone().text()).not.toContain(id)
    expect(await refusalOf(Promise.resolve(again))).toEqual([502, 'upstream_error', '0'])
  }
  expect((await question('/status')).status).toBe(200)
  expect(await refusalOf(question('/status', { key: other.buyerKey }))).toEqual([404, 'job_not_found', '0'])
  // The submit of the first job stands, and nothing of the second is held.
  const bindings = await lending.redis.keys(moneyKeys.jobBinding('provider-h', '*'))
  const bound = await Promise.all(bindings.map((name) => lending.redis.get(name)))
  expect(bound.filter((text) => text?.includes(rid ?? '') === true)).toHaveLength(1)
  const Standing = z.looseObject({ held_usdc: z.string(), credit_balance_usdc: z.string() })
  const standing = Standing.parse(await (await ask('/v1/buyer/me', { key: other.buyerKey })).json())
  expect([standing.held_usdc, standing.credit_balance_usdc].map(Number)).toEqual([0, 1_000_000])
}

async function takesNoDots(id: string): Promise<void> {
  queue.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ request_id: id }))
  })
  expect(await refusalOf(targeted(at('/studio/motion'), { duration: 2 }))).toEqual([502, 'upstream_error', '0'])
}

async function servesAQueueClient(): Promise<void> {
  const { buyer_key: key, api_base_url: base } = network.sandbox
  const place = { proxy: `${base}/resources/provider-h`, key, run: provider.origin, queue: queue.origin }
  const { client, costs } = queueClient(place)
  const states: string[] = []
  const { data } = await client.subscribe('studio/motion', {
    input: { duration: 2 },
    pollInterval: 1,
    onQueueUpdate: ({ status }) => void states.push(status),
  })
  expect([data, states]).toEqual([{ images: [{ url: 'x' }] }, ['IN_PROGRESS', 'COMPLETED']])
  // The submit takes the quote, polls are free, and the result has the cost of the job.
  expect(costs).toEqual(['60000', '0', '0', '60000'])
  expect(queue.heard.map(({ method, url }) => `${method} ${url.replace(/req-\d+/, 'req')}`)).toEqual([
    'POST /studio/motion',
    'GET /studio/motion/requests/req/status?logs=0',
    'GET /studio/motion/requests/req/status?logs=0',
    'GET /studio/motion/requests/req',
  ])
  const made = await client.run('studio/upscale', { input: { num_images: 2 } })
  expect([made.data, costs.at(-1)]).toEqual([{ images: [{ url: 'x' }], seed: 1 }, '12000'])
  const { request_id: requestId } = await client.queue.submit('studio/motion', { input: { duration: 2 } })
  await client.queue.cancel('studio/motion', { requestId })
  expect([queue.heard.at(-1)?.method, costs.at(-1)]).toEqual(['PUT', '0'])
  const refused = client.queue.status('studio/motion', { requestId: 'of-nobody' })
  await expect(refused).rejects.toMatchObject({ status: 404, body: { error: { code: 'job_not_found' } } })
}

async function chargesNothingEarly(): Promise<void> {
  const { question } = await submitMotion()
  queue.answers((_request, response) => response.writeHead(202).end('{"detail":"in progress"}'))
  const early = await question('')
  expect([early.status, costOf(early)]).toEqual([202, '0'])
  queue.answers((_request, response) => response.writeHead(200).end('{"status":"FAILED"}'))
  const failed = await question('/status')
  expect([failed.status, costOf(failed)]).toEqual([200, '0'])
}

async function findsLostJobs(): Promise<void> {
  const { rid, question } = await submitMotion()
  const { redis } = lending
  await redis.del(moneyKeys.job(rid ?? ''), moneyKeys.jobsRestored, ...(await redis.keys('job-binding:*')))
  const refused = await question('/status')
  expect(refused.headers.get('retry-after')).toBe('2')
  expect(await refusalOf(Promise.resolve(refused))).toEqual([503, 'service_unavailable', '0'])
  let status = 503
  await until('the job is there again', 20_000, async () => {
    status = (await question('/status')).status
    return status !== 503
  })
  expect(status).toBe(202)
  const result = await question('')
  expect([result.status, costOf(result)]).toEqual([200, '60000'])
}

async function sendsNoResultAway(): Promise<void> {
  for (const query of ['fal_webhook=https://me.example', 'webhook=x', 'webhook_url=', 'fal_webhook=a&fal_webhook=b']) {
    const answer = targeted(`${queue.origin}/studio/motion?${query}`, { duration: 2 })
    expect(await refusalOf(answer)).toEqual([403, 'platform_route_refused', '0'])
  }
  const film = { model: 'reel-1', prompt: 'x', seconds: '2', webhook_url: ['https://me.example'] }
  expect(await refusalOf(post('/resources/provider-p1/v1/videos', film))).toEqual([403, 'platform_route_refused', '0'])
  expect([queue.heard, provider.heard]).toEqual([[], []])
}

async function asksWithRetiredKeys(): Promise<void> {
  const { question } = await submitMotion()
  await lending.retire('provider-h', false)
  expect(await refusalOf(targeted(at('/studio/motion'), { duration: 2 }))).toEqual([404, 'no_resource_offer', '0'])
  expect((await question('/status')).status).toBe(202)
  const result = await question('')
  expect([result.status, costOf(result)]).toEqual([200, '60000'])
  await lending.retire('provider-h', true)
  await until('the data plane has forgotten the key', 10_000, async () => (await question('')).status === 410)
  const gone = await question('')
  expect(await gone.clone().text()).toContain('The lender has destroyed the key that started the job.')
  expect(await refusalOf(Promise.resolve(gone))).toEqual([410, 'gone', '0'])
  await lending.lend('provider-h', [{ key: KEY }])
}

/** Starts a job of two seconds, and polls it at the end of its path. */
async function submitMotion() {
  const started = await targeted(at('/studio/motion'), { duration: 2 })
  const { request_id: id } = z.object({ request_id: z.string() }).parse(await started.json())
  const target = (path: string) => ({ 'x-target-url': at(`/studio/motion/requests/${id}${path}`) })
  const question = (path: string, init: Init = {}) => ask('/resources/provider-h', { ...init, headers: target(path) })
  return { id, rid: started.headers.get('x-request-id'), question }
}
