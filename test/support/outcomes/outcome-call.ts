import { z } from 'zod'
import { until } from '#test/support/run/until.ts'
import type { Change } from './outcome-changes.ts'
import type { OutcomeMarket } from './outcome-market.ts'
import type { OutcomeRow } from './outcome-rows.ts'
import { readSound, requestOf } from './outcome-surface.ts'

/** The end of a call as its buyer sees it. */
export type Seen = {
  readonly rid: string
  readonly status: number
  readonly code: string | undefined
  readonly finishReason: string | undefined
  readonly nativeFinishReason: string | undefined
  /** The code in the error event of a stream that had begun. */
  readonly streamError: string | undefined
  readonly costMicro: number | undefined
  readonly hasContent: boolean
  readonly hasLeft: boolean
  /** True when the connection ended before the answer did. */
  readonly isBroken: boolean
  /** True when money was held, so that there is a settlement. */
  readonly isHeld: boolean
  readonly adapted: string | undefined
  /** The last state of a long job. */
  readonly jobState?: string
  /** Calls of the same model that only prepare the row. */
  readonly otherCalls: number
}

/** A key in the right format that does not exist. */
const UNKNOWN_KEY = 'inf_nonsense'
const buyers = new Map<string, string>()

async function keyOf(market: OutcomeMarket, buyer: OutcomeRow['buyer']): Promise<string | undefined> {
  if (buyer === 'nobody') return undefined
  if (buyer === 'unknown key') return UNKNOWN_KEY
  if (buyer === undefined) return market.network.sandbox.buyer_key
  const known = buyers.get(buyer)
  if (known !== undefined) return known
  const made = {
    poor: () => market.buyer(0.001),
    'short of money': () => market.buyer(0.005),
    capped: () => market.buyer(1, { cap_daily_usd: 0.00001 }),
    'capped by month': () => market.buyer(1, { cap_monthly_usd: 0.00001 }),
    'slowed down': () => market.buyer(1, { rate_limit_rpm: 1 }),
  }
  const key = await made[buyer]()
  buyers.set(buyer, key)
  return key
}

/** Makes one call by its row, to its end or until the buyer disconnects. */
export async function makeCall(market: OutcomeMarket, model: string, row: OutcomeRow): Promise<Seen> {
  const key = await keyOf(market, row.buyer)
  const request = { market, model, row, key }
  if (row.job !== undefined) return makeJob(request, row.job.buyer)
  await Promise.all(Array.from({ length: row.callsBefore ?? 0 }, () => send(request)))
  return { ...(await send(request)), otherCalls: row.callsBefore ?? 0 }
}

type Request = {
  readonly market: OutcomeMarket
  readonly model: string
  readonly row: OutcomeRow
  readonly key: string | undefined
}

async function send(request: Request): Promise<Seen> {
  const { market, model, row } = request
  const change = row.meanwhile && market.change(row.meanwhile)
  await change?.before(model)
  try {
    return await sendOnce(request, change)
  } finally {
    change?.after()
  }
}

async function sendOnce({ market, model, row, key }: Request, change: Change | undefined): Promise<Seen> {
  const controller = new AbortController()
  const before = market.received(model)
  const release = row.leaves === 'before the provider answers' ? market.hold(model) : undefined
  const { path, headers, body } = requestOf(model, row)
  const answer = fetch((row.isHasty === true ? market.hastyUrl : market.url) + path, {
    method: 'POST',
    signal: controller.signal,
    headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...row.headers },
    body,
  })
  if (row.leaves === 'before the provider answers') {
    await until('the provider has been asked', ASKED_MS, () => market.received(model) > before).finally(() => {
      controller.abort()
      release?.()
    })
    await answer.catch(() => undefined)
    return { ...GONE, rid: await newestRid(market, model) }
  }
  const response = await answer
  if (row.leaves === 'after the first token') {
    // A refusal has no end to wait for.
    if (response.status !== 200) throw new Error(`refused: ${response.status} ${await response.text()}`)
    await (row.surface === 'speech' ? response.body?.getReader().read() : firstToken(response))
    controller.abort()
    return { ...GONE, rid: response.headers.get('x-request-id') ?? '', status: 200, hasContent: true }
  }
  if (isSound(response)) return hearAnswer(response)
  const text = change === undefined ? await response.text() : await textAround(response, () => change.during(model))
  return readAnswer(response, text)
}

function isSound(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('audio/') === true
}

/** Reads a sound. Its head has the price, and the end of its connection shows whether it is whole. */
async function hearAnswer(response: Response): Promise<Seen> {
  const { bytes, isBroken } = await readSound(response)
  return {
    ...GONE,
    rid: response.headers.get('x-request-id') ?? '',
    status: response.status,
    costMicro: isBroken ? undefined : costOf(response, []),
    hasContent: bytes > 0,
    hasLeft: false,
    isBroken,
  }
}

const ASKED_MS = 5_000
const GONE: Seen = {
  rid: '',
  status: 0,
  code: undefined,
  finishReason: undefined,
  nativeFinishReason: undefined,
  streamError: undefined,
  costMicro: undefined,
  hasContent: false,
  hasLeft: true,
  isBroken: false,
  isHeld: true,
  adapted: undefined,
  otherCalls: 0,
}

const JobAnswer = z.object({
  id: z.string(),
  status: z.string(),
  job_token: z.string().optional(),
  artifacts: z.array(z.unknown()).optional(),
  usage: z.object({ buyer_cost_micro: z.number() }).nullish(),
})
const MAX_QUESTIONS = 10

/** Submits a long job and polls or cancels it until it is over. A wallet polls with the token of the job. */
async function makeJob({ market, model, row, key }: Request, does: 'asks' | 'cancels'): Promise<Seen> {
  const { path, headers, body } = requestOf(model, row)
  const owner = key === undefined ? undefined : { authorization: `Bearer ${key}` }
  const sent = { ...headers, ...owner, ...row.headers }
  const submitted = await fetch(market.url + path, { method: 'POST', headers: sent, body })
  if (submitted.status !== 202) return readAnswer(submitted, await submitted.text())
  const { id, job_token: token = '' } = JobAnswer.parse(await submitted.json())
  const asking = { method: does === 'cancels' ? 'DELETE' : 'GET', headers: owner ?? { 'x-job-token': token } }
  for (let question = 0; question < MAX_QUESTIONS; question++) {
    const job = JobAnswer.parse(await (await fetch(`${market.url}${path}/${id}`, asking)).json())
    if (job.status === 'queued' || job.status === 'running') continue
    return {
      ...GONE,
      rid: id.slice('job_'.length),
      status: 202,
      hasLeft: false,
      hasContent: (job.artifacts ?? []).length > 0,
      costMicro: job.usage?.buyer_cost_micro,
      jobState: job.status,
    }
  }
  throw new Error('the job does not end')
}

/** The id of a call whose answer was never received. */
async function newestRid(market: OutcomeMarket, model: string): Promise<string> {
  let rid = ''
  await until('the call is booked', 10_000, async () => {
    const { rows } = await market.database.query<{ rid: string }>('select rid from settlement where model = $1', [
      model,
    ])
    rid = rows[0]?.rid ?? ''
    return rid !== ''
  })
  return rid
}

/** The text of a stream during which a change happens. */
async function textAround(response: Response, happens: () => Promise<void>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let hasHappened = false
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true })
    if (hasHappened || !text.includes('"content":"')) continue
    hasHappened = true
    await happens()
  }
  if (!hasHappened) throw new Error(`the stream ended early: ${text}`)
  return text
}

async function firstToken(response: Response): Promise<void> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader !== undefined && !/"(?:content|b64_json)":"/.test(text)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`the stream ended early: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
}

const Choice = z.object({
  finish_reason: z.string().nullish(),
  native_finish_reason: z.string().nullish(),
  message: z.object({ content: z.string().nullish() }).optional(),
  delta: z.object({ content: z.string().nullish() }).optional(),
})
const Frame = z.object({
  error: z.union([z.string(), z.object({ code: z.string(), buyer_cost_micro: z.number().optional() })]).optional(),
  choices: z.array(Choice).optional(),
  /** Vectors, and the text of a transcript. */
  data: z.array(z.unknown()).optional(),
  text: z.string().optional(),
  delta: z.string().optional(),
  b64_json: z.string().optional(),
  usage: z.object({ buyer_cost_micro: z.number() }).nullish(),
})
type Frame = z.infer<typeof Frame>

function readAnswer(response: Response, text: string): Seen {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const frames = isStream
    ? text
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => Frame.parse(JSON.parse(line.slice(6))))
    : [Frame.parse(JSON.parse(text))]
  const error = frames.map((frame) => frame.error).find((found) => found !== undefined)
  const code = typeof error === 'string' ? error : error?.code
  const choices = frames.flatMap((frame) => frame.choices ?? [])
  const finished = choices.find((choice) => typeof choice.finish_reason === 'string')
  const isRefused = response.status >= 400
  // No row is refused for its own slowness.
  if (response.status === 408) throw new Error(`refused: ${text}`)
  return {
    rid: response.headers.get('x-request-id') ?? '',
    status: response.status,
    code: isRefused ? code : undefined,
    finishReason: finished?.finish_reason ?? undefined,
    nativeFinishReason: finished?.native_finish_reason ?? undefined,
    streamError: isStream ? code : undefined,
    costMicro: costOf(response, frames),
    hasContent:
      choices.some((choice) => (choice.message?.content ?? choice.delta?.content ?? '') !== '') ||
      frames.some(
        ({ data = [], text: words = '', delta = '', b64_json: picture }) =>
          data.length > 0 || words !== '' || delta !== '' || picture !== undefined,
      ),
    hasLeft: false,
    isBroken: false,
    // A refusal before the routing has no such header.
    isHeld: !isRefused || (response.headers.get('x-mkt-marketplace-attempts') ?? '0') !== '0',
    adapted: response.headers.get('x-mkt-adapted-params') ?? undefined,
    otherCalls: 0,
  }
}

/** The charge in the answer: in the header of a whole answer, in the last chunk or error of a stream. */
function costOf(response: Response, frames: readonly Frame[]): number | undefined {
  const header = response.headers.get('x-mkt-buyer-cost-micro')
  if (header !== null) return Number(header)
  for (const { usage, error } of frames) {
    if (usage) return usage.buyer_cost_micro
    if (typeof error === 'object') return error.buyer_cost_micro
  }
  return undefined
}
