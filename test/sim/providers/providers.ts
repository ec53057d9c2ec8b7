import type { MarketOffer, UpstreamRequest } from '#data-plane/call.ts'
import type { Destination, Upstream, UpstreamEvents } from '#data-plane/upstream/send.ts'
import type { MicroUsd } from '#shared/money.ts'
import { ZERO } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { chargeUsage } from '#shared/pricing.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { CallPlan, Failure } from '#test/sim/plan/call-plan.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { JobProviders } from './job-providers.ts'
import type { Market } from './market.ts'
import type { RelayProviders } from './relay-providers.ts'

/** A call as the simulated providers know it. */
export type PlayedCall = {
  readonly request: ModelRequest
  readonly plan: CallPlan
  /** The prices at the start of the call, by which it is charged. */
  readonly prices: UnitPrices
  /** Number of its requests that providers have received. */
  attempts: number
  leave(): void
}

export type Providers = {
  /** Notes a call. Returns the words by which providers recognise the call. */
  expect(call: PlayedCall): string
  /** New words, for a later call. */
  expectWords(): string
  /** Notes a call by these words. Of several calls with the same words, one is served. */
  expectAs(words: string, call: PlayedCall): void
  forget(words: string, call: PlayedCall): void
  /** The providers of long jobs, and those of lent keys. */
  readonly jobs: JobProviders
  readonly relays: RelayProviders
  /** Sends the requests of a process, in place of sockets. */
  upstreamOf(owner: SimProcess): Upstream
}

/** A request at a provider. */
type Sent = {
  readonly owner: SimProcess
  readonly events: UpstreamEvents
  readonly offer: MarketOffer
  readonly call: PlayedCall
  readonly inputTokens: number
  readonly limit: number
  isOver: boolean
}

const BYTES_A_TOKEN = 4
const JSON_TYPE = 'application/json'

/** Providers that answer as each call is planned. They obey the limits of their requests. */
export function createProviders(
  market: Market,
  { jobs, relays }: Pick<Providers, 'jobs' | 'relays'>,
  fail: (error: unknown) => void,
): Providers {
  const calls = new Map<string, readonly PlayedCall[]>()
  let count = 0
  const newWords = () => `call ${++count}`
  const expectAs = (words: string, call: PlayedCall) => void calls.set(words, [...(calls.get(words) ?? []), call])

  function receive(owner: SimProcess, to: Destination, request: UpstreamRequest, events: UpstreamEvents): Sent {
    const content = /call \d+ [.]*/.exec(request.body)?.[0] ?? ''
    const named = calls.get(wordsOf(content)) ?? []
    const call = named.find(({ request }) => request.state === 'running') ?? named[0]
    const offer = market.offers.find(({ baseUrl }) => baseUrl === to.baseUrl)
    const limit = Number(/"max_(?:completion_)?tokens":(\d+)/.exec(request.body)?.[1] ?? Number.NaN)
    if (call === undefined || offer === undefined || Number.isNaN(limit)) {
      throw violation('simulation', `a provider does not know this request: ${to.baseUrl} ${request.body}`)
    }
    const inputTokens = Math.ceil(content.length / BYTES_A_TOKEN)
    return { owner, events, offer, call, inputTokens, limit, isOver: false }
  }

  return {
    jobs,
    relays,
    expect(call) {
      const words = newWords()
      expectAs(words, call)
      return words
    },
    expectWords: newWords,
    expectAs,
    forget(words, call) {
      const others = (calls.get(words) ?? []).filter((other) => other !== call)
      if (others.length > 0) calls.set(words, others)
      else calls.delete(words)
    },
    upstreamOf: (owner) => ({
      holdsKey: () => false,
      send(to, request, _options, events) {
        let sent: Sent | undefined
        let giveUp: (() => void) | undefined
        try {
          if (jobs.isAbout(request)) giveUp = jobs.receive(owner, to, request, events)
          else if (relays.isAbout(request)) giveUp = relays.receive(owner, to, request, events)
          else {
            sent = receive(owner, to, request, events)
            begin(sent)
          }
        } catch (error) {
          fail(error)
        }
        return {
          abort() {
            if (sent !== undefined) sent.isOver = true
            giveUp?.()
          },
          // Bytes under way arrive in spite of a pause. Buyers of this world pause for less than any buffer holds.
          pause: () => undefined,
          resume: () => undefined,
        }
      },
      close: () => Promise.resolve(),
    }),
  }

  function begin(sent: Sent): void {
    const { call, offer } = sent
    const { request, plan } = call
    if (request.deliveredMicro > 0n) {
      throw violation('I11', `${request.rid} is sent on to ${offer.id} after content of ${request.offer}`)
    }
    const failure = plan.failures[call.attempts]
    call.attempts += 1
    if (failure !== undefined) after(sent, plan.paceMs, () => failBefore(sent, failure))
    else if (plan.isStreamed) after(sent, plan.paceMs, () => stream(sent))
    else after(sent, plan.paceMs * plan.pieces.length, () => answerWhole(sent))
  }

  /** Runs later, unless the request was cancelled meanwhile. */
  function after(sent: Sent, ms: number, run: () => void): void {
    sent.owner.time.after(ms, () => {
      if (sent.isOver) return
      try {
        run()
      } catch (error) {
        fail(error)
      }
    })
  }

  function stream(sent: Sent): void {
    const { call, events, limit } = sent
    const { plan } = call
    let tokens = 0
    events.onHead({ status: 200, contentType: 'text/event-stream', headers: {}, retryAfterMs: undefined })
    const next = (index: number): void => {
      const piece = Math.min(limit - tokens, plan.pieces[index] ?? 0)
      if (piece <= 0) {
        endStream(sent, tokens)
        return
      }
      tokens += piece
      deliver(sent, tokens)
      sendInHalves(sent, frame({ delta: { content: 'word'.repeat(piece) }, finish_reason: null }))
      if (plan.ending === 'cancelled' && index === 0) call.leave()
      after(sent, plan.paceMs, () => next(index + 1))
    }
    next(0)
  }

  function endStream(sent: Sent, tokens: number): void {
    if (sent.call.plan.ending === 'cut') {
      breakOff(sent, 'UND_ERR_SOCKET')
      return
    }
    const reason = tokens === sent.limit ? 'length' : 'stop'
    const usage = usageOf(sent, tokens)
    send(sent, frame({ delta: {}, finish_reason: reason }))
    send(sent, `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`)
    end(sent)
  }

  function answerWhole(sent: Sent): void {
    const { call, events, limit } = sent
    const { plan } = call
    // The provider goes on, because it does not know about the client.
    if (plan.ending === 'cancelled') call.leave()
    const tokens = Math.min(
      limit,
      plan.pieces.reduce((sum, piece) => sum + piece, 0),
    )
    const message = { role: 'assistant', content: 'word'.repeat(tokens) }
    const body = JSON.stringify({
      id: 'answer',
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: tokens === limit ? 'length' : 'stop' }],
      usage: usageOf(sent, tokens),
    })
    events.onHead({ status: 200, contentType: JSON_TYPE, headers: {}, retryAfterMs: undefined })
    if (plan.ending === 'cut') {
      send(sent, body.slice(0, body.length / 2))
      breakOff(sent, 'UND_ERR_SOCKET')
      return
    }
    deliver(sent, tokens)
    sendInHalves(sent, body)
    end(sent)
  }
}

/** The words of a content by which its call is recognised. */
function wordsOf(content: string): string {
  return content.split(' ', 2).join(' ')
}

/** Notes the delivered amount before any process can charge it. */
function deliver({ call, offer, inputTokens }: Sent, tokens: number): void {
  const { request, prices } = call
  request.offer = offer.id
  request.sellerAccount = offer.sellerAccount
  request.deliveredMicro = costOf(prices, { input: inputTokens, output: tokens }, offer)
  if (request.deliveredMicro > request.heldMicro) {
    throw violation('I7', `${request.rid} delivered ${request.deliveredMicro} on a hold of ${request.heldMicro}`)
  }
}

function costOf(prices: UnitPrices, usage: { input: number; output: number }, { keptBps }: MarketOffer): MicroUsd {
  return usage.output === 0 ? ZERO : chargeUsage(prices, usage, keptBps)
}

/**
 * Some inputs come with an impossible count of cached tokens. Subtracted from the input, the count would raise the
 * bill.
 */
const ABSURD_EVERY = 7

/** Some providers count far more output than they deliver. */
const OVERSTATED_EVERY = 23
const OVERSTATED_TOKENS = 100_000

function usageOf({ inputTokens, call }: Sent, tokens: number) {
  call.request.isOverstated = inputTokens % OVERSTATED_EVERY === 0
  const output = call.request.isOverstated ? tokens + OVERSTATED_TOKENS : tokens
  return {
    prompt_tokens: inputTokens,
    completion_tokens: output,
    total_tokens: inputTokens + output,
    ...(inputTokens % ABSURD_EVERY === 0 && { prompt_tokens_details: { cached_tokens: -500 } }),
  }
}

function frame(choice: object): string {
  return `data: ${JSON.stringify({ id: 'answer', choices: [{ index: 0, ...choice }] })}\n\n`
}

function send({ events, isOver }: Sent, text: string): void {
  if (!isOver) events.onData(Buffer.from(text))
}

/** Sends the text in two parts, because a network cuts bytes anywhere. */
function sendInHalves(sent: Sent, text: string): void {
  const middle = Math.floor(text.length / 2)
  send(sent, text.slice(0, middle))
  send(sent, text.slice(middle))
}

function end(sent: Sent): void {
  if (sent.isOver) return
  sent.isOver = true
  sent.events.onEnd()
}

function breakOff(sent: Sent, code: string): void {
  if (sent.isOver) return
  sent.isOver = true
  sent.events.onError(Object.assign(new Error(code), { code }), code !== 'ECONNREFUSED')
}

const STATUSES = { server_error: 500, overloaded: 503, rate_limited: 429 } as const

function failBefore(sent: Sent, failure: Failure): void {
  const { events, call } = sent
  const contentType = call.plan.isStreamed ? 'text/event-stream' : JSON_TYPE
  switch (failure) {
    case 'refused':
      breakOff(sent, 'ECONNREFUSED')
      return
    case 'cut':
      events.onHead({ status: 200, contentType, headers: {}, retryAfterMs: undefined })
      breakOff(sent, 'UND_ERR_SOCKET')
      return
    case 'empty':
      events.onHead({ status: 200, contentType, headers: {}, retryAfterMs: undefined })
      if (call.plan.isStreamed) send(sent, `${frame({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`)
      else send(sent, JSON.stringify({ choices: [{ index: 0, message: { content: '' }, finish_reason: 'stop' }] }))
      end(sent)
      return
    case 'malformed':
      events.onHead({ status: 200, contentType, headers: {}, retryAfterMs: undefined })
      send(sent, call.plan.isStreamed ? 'data: {nothing\n\n' : '{nothing')
      end(sent)
      return
    default:
      events.onHead({
        status: STATUSES[failure],
        contentType: JSON_TYPE,
        headers: {},
        retryAfterMs: failure === 'rate_limited' ? 1_000 : undefined,
      })
      send(sent, '{"error":{"message":"not now"}}')
      end(sent)
      return
  }
}
