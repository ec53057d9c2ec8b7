import type { UpstreamRequest } from '#data-plane/call.ts'
import type { Destination, UpstreamEvents } from '#data-plane/upstream/send.ts'
import { ZERO } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { chargeUsage } from '#shared/pricing.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { RelayFailure, RelayPlan } from '#test/sim/plan/relay-plan.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { violation } from '#test/sim/time/violation.ts'
import { RELAY_RESOURCE } from './lent-keys.ts'
import type { Market } from './market.ts'

/** A call on a lent key as its provider knows it. */
export type PlayedRelay = {
  readonly request: ModelRequest
  readonly plan: RelayPlan
  /** The prices at the start of the call, by which it is charged. */
  readonly prices: UnitPrices
  /** Number of keys that could not be reached, and of requests that the provider received. */
  refused: number
  sent: number
  leave(): void
}

/** The provider whose keys are lent. */
export type RelayProviders = {
  /** Notes a call. Returns the words by which the provider recognises the call. */
  expect(relay: PlayedRelay): string
  forget(words: string): void
  isAbout(request: UpstreamRequest): boolean
  /** Takes a request of a process. Returns a function that cancels the request. */
  receive(owner: SimProcess, to: Destination, request: UpstreamRequest, events: UpstreamEvents): () => void
}

type Sent = {
  readonly owner: SimProcess
  readonly events: UpstreamEvents
  readonly relay: PlayedRelay
  readonly offer: Market['lentOffers'][number]
  isOver: boolean
}

const HEADS = {
  draw: { status: 200, contentType: 'application/json', headers: {}, retryAfterMs: undefined },
  film: { status: 200, contentType: 'video/mp4', headers: {}, retryAfterMs: undefined },
} as const
const STATUSES = { server_error: 500, rate_limited: 429, rejected: 422 } as const

/** A provider that answers as each call is planned. It counts its requests: no process may send it a call twice. */
export function createRelayProviders(market: Market, fail: (error: unknown) => void): RelayProviders {
  const expected = new Map<string, PlayedRelay>()
  let count = 0

  /** Runs later, unless the request was cancelled meanwhile. */
  function after(sent: Sent, run: () => void): void {
    sent.owner.time.after(sent.relay.plan.paceMs, () => {
      if (sent.isOver) return
      try {
        run()
      } catch (error) {
        fail(error)
      }
    })
  }

  function begin(sent: Sent): void {
    const { relay, offer } = sent
    const { plan, request } = relay
    if (relay.refused < plan.refusals) {
      relay.refused += 1
      after(sent, () => breakOff(sent, 'ECONNREFUSED'))
      return
    }
    if (relay.sent > 0) throw violation('I11', `${request.rid} is sent again, on the key of ${offer.id}`)
    relay.sent += 1
    const { failure } = plan
    after(sent, () => (failure === undefined ? answer(sent) : failAtOnce(sent, failure)))
  }

  function answer(sent: Sent): void {
    const { plan } = sent.relay
    const pieces = piecesOf(plan)
    sent.events.onHead(HEADS[plan.route])
    const next = (index: number): void => {
      const piece = pieces[index]
      if (plan.ending === 'cut' && index === pieces.length - 1) {
        breakOff(sent, 'UND_ERR_SOCKET')
        return
      }
      if (piece === undefined) {
        deliver(sent)
        end(sent)
        return
      }
      const isLeft = plan.ending === 'cancelled' && index === 0
      // A buyer who disconnects from an answer that goes out as it arrives pays for the whole answer.
      if (isLeft && plan.route === 'film') deliver(sent)
      sent.events.onData(piece)
      if (isLeft) sent.relay.leave()
      // Some held answers never end. Their buyers have seen no part of them.
      if (isLeft && plan.route === 'draw' && plan.ordered % 2 === 0) return
      after(sent, () => next(index + 1))
    }
    next(0)
  }

  return {
    expect(relay) {
      const words = `relay ${++count}`
      expected.set(words, relay)
      return words
    },
    forget: (words) => void expected.delete(words),
    isAbout: ({ passedOn }) => passedOn?.sealedFor === RELAY_RESOURCE,
    receive(owner, to, { pieces = [] }, events) {
      const body = Buffer.concat([...pieces]).toString()
      const relay = expected.get(/relay \d+/.exec(body)?.[0] ?? '')
      const offer = market.lentOffers.find(({ credential }) => credential.id === to.credential.id)
      if (relay === undefined || offer === undefined) {
        throw violation('simulation', `a provider does not know this request: ${to.credential.id} ${body}`)
      }
      const sent: Sent = { owner, events, relay, offer, isOver: false }
      begin(sent)
      return () => {
        sent.isOver = true
      }
    },
  }
}

/** The bytes of an answer, in pieces. */
function piecesOf({ route, ordered, reported, pieces: count }: RelayPlan): readonly Buffer[] {
  const images = Array.from({ length: reported ?? 0 }, () => ({ url: 'x' }))
  const json = reported === undefined ? 'not JSON at all' : JSON.stringify({ status: 'done', images })
  const bytes = Buffer.from(route === 'draw' ? json : 'film'.repeat(ordered * count))
  const size = Math.ceil(bytes.length / count)
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
}

/** Notes the amount that a call owes from now on: the lower of the ordered and the reported usage. */
function deliver({ relay, offer }: Sent): void {
  const { request, plan, prices } = relay
  const images = plan.route === 'film' ? plan.ordered : Math.min(plan.reported ?? plan.ordered, plan.ordered)
  request.offer = offer.id
  request.sellerAccount = offer.sellerAccount
  request.deliveredMicro = images === 0 ? ZERO : chargeUsage(prices, { images }, offer.keptBps)
  if (request.deliveredMicro > request.heldMicro) {
    throw violation('I7', `${request.rid} delivered ${request.deliveredMicro} on a hold of ${request.heldMicro}`)
  }
}

function failAtOnce(sent: Sent, failure: RelayFailure): void {
  const { events } = sent
  switch (failure) {
    case 'reset':
      breakOff(sent, 'ECONNRESET')
      return
    case 'told':
      events.onHead(HEADS.draw)
      events.onData(Buffer.from(JSON.stringify({ status: 'failed', images: [{ url: 'x' }] })))
      end(sent)
      return
    default:
      events.onHead({ ...HEADS.draw, status: STATUSES[failure] })
      events.onData(Buffer.from('{"error":{"message":"not now"}}'))
      end(sent)
      return
  }
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
