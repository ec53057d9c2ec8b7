import type { Incoming, RawRequest, RequestHead } from '#data-plane/call.ts'
import type { Payer, Quote } from '#data-plane/payment.ts'
import type { AnyRail, Payment } from '#data-plane/rails/rail.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import { AppError } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
import { unitsOfBody, WORK_UNITS } from '#shared/refused-work.ts'
import type { CallPlane, CallRoute, CallSite } from './call-plane.ts'

/** The ways to pay on a path, and its answer to a request without a credential. */
export type Entrance = Pick<CallRoute, 'rails' | 'withoutCredential' | 'extensions'>

/** The count of a request in its payer's limits, from its arrival to the end of its answer. */
export type Visit = {
  /** The name under which it is counted in flight; undefined before the count. */
  scope: string | undefined
  /** The name and rate of its last count. A refusal shows that standing, too. */
  asked: { readonly scope: string; readonly perMinute: number } | undefined
  standing: RateStanding | undefined
  /** True once the caller has an account. A refusal before that is charged to its network address. */
  isKnown: boolean
  readonly incoming: Incoming
}

/** A request with its body and its payer. The payer is absent on a path that asks for its price first. */
export type Guest = {
  readonly raw: RawRequest
  readonly payment: Payment | undefined
  readonly payer: Payer | undefined
}

/** A guest with a credential. */
export type PayingGuest = Guest & { readonly payment: Payment; readonly payer: Payer }

type Ports = Pick<CallPlane, 'site' | 'market' | 'rates' | 'refusedWork'>

export function openVisit(incoming: Incoming): Visit {
  return { scope: undefined, asked: undefined, standing: undefined, isKnown: false, incoming }
}

/**
 * The entrance of calls, long jobs and local answers. It reads the credential in the head, identifies the payer, reads
 * the body, and then counts the call against the payer's rate and calls in flight. It reads no body of a sender who is
 * refused, has used up the rate, or is a stranger whose network address has used up its refused work. A guest without a
 * payment is returned only when a rail of the path has a price to ask for; see {@link demandOf}.
 *
 * Throws AppError: `authentication_required`, `payment_required`, the refusals of the rail and the body,
 * `rate_limited`, `too_many_in_flight`.
 */
export async function enter(ports: Ports, door: Entrance, visit: Visit): Promise<Guest> {
  const { incoming } = visit
  const payment = recognize(door, incoming.head)
  if (payment === undefined) {
    ports.refusedWork.refuseSpent(incoming.head.peer())
    if (door.withoutCredential === 'reject') throw new AppError('authentication_required')
    if (!door.rails.some(hasPrice)) throw paymentDemand(demandOf(ports.site, door, incoming.head, undefined))
    return { raw: await incoming.read(), payment, payer: undefined }
  }
  const payer = await payment.identify()
  // Any client can claim the name of a wallet.
  visit.isKnown = payer.account !== null
  if (!visit.isKnown) ports.refusedWork.refuseSpent(incoming.head.peer())
  const { limits } = ports.market()
  const perMinute = payer.ratePerMinute ?? limits.keyRatePerMinute
  const scope = scopeOf(payer)
  visit.asked = { scope, perMinute }
  ports.rates.refuseSpent(scope, perMinute)
  const raw = await incoming.read()
  visit.standing = ports.rates.enter(scope, perMinute, limits.keyInFlight)
  visit.scope = scope
  return { raw, payment, payer }
}

/** True for a guest who can be asked to pay. */
export function isPaying(guest: Guest): guest is PayingGuest {
  return guest.payment !== undefined && guest.payer !== undefined
}

/** True for a request without a credential and a body. Crawlers search for paid paths in this way. */
export function isProbe({ payment, raw }: Guest): boolean {
  return payment === undefined && raw.method !== 'GET' && raw.body.length === 0 && raw.stream === undefined
}

/** The quote for a probe: the least price, because there is nothing to price. */
export const PROBE: Pick<Quote, 'wantMicro' | 'minMicro'> = { wantMicro: ZERO, minMicro: ZERO }

/** Removes a request from the count in flight. Does nothing for a request that was never counted. */
export function leave({ rates }: Ports, { scope }: Visit): void {
  if (scope !== undefined) rates.leave(scope)
}

/** A large refused body counts as one call, and as one more for each of these bytes. */
const BYTES_A_CALL = 262_144

/**
 * Settles the cost of a refusal before any provider was called: a part of the payer's rate, and of the refused work of
 * the network address of a caller without an account. A 503 costs nothing, because the market is at fault. A large body
 * costs by its bytes, because reading it is unpaid work. Returns the refusal to send, which is `rate_limited` for an
 * address that has used up its limit.
 */
export function settleRefusal(ports: Ports, visit: Visit, error: AppError, attempts: number): AppError {
  if (attempts > 0) return error
  settleRate(ports, visit, error)
  const { isKnown, incoming } = visit
  if (isKnown || error.status === 503 || error.code === 'rate_limited') return error
  const isBadPayment = error.detail['payment_error'] !== undefined
  const units = isBadPayment ? WORK_UNITS.payment : unitsOfBody(incoming.largeBytes())
  return ports.refusedWork.charge(incoming.head.peer(), units) ?? error
}

function settleRate({ rates }: Ports, visit: Visit, { status }: AppError): void {
  const { scope, asked, incoming } = visit
  if (status === 503) {
    if (scope !== undefined) rates.giveBack(scope)
  } else {
    const bytes = incoming.largeBytes()
    if (asked === undefined || bytes === 0) return
    rates.charge(asked.scope, Math.floor(bytes / BYTES_A_CALL) + (scope === undefined ? 1 : 0))
  }
  // The standing from the entrance is outdated.
  visit.standing = undefined
}

/** The payer's standing, also after a refusal by its limit. */
export function standingOf({ rates }: Ports, { standing, asked }: Visit): RateStanding | undefined {
  return standing ?? (asked && rates.look(asked.scope, asked.perMinute))
}

/** The first rail of the path that recognises a credential in the head, with its proof. */
export function recognize({ rails }: Pick<Entrance, 'rails'>, head: RequestHead): Payment | undefined {
  for (const rail of rails) {
    const payment = rail.recognize(head)
    if (payment !== undefined) return payment
  }
  return undefined
}

/** The name under which the calls of one payer are counted: its key, or its account or wallet when there is no key. */
export function scopeOf({ countedAs, keyId, account, wallet }: Payer): string {
  return countedAs ?? keyId ?? account ?? wallet ?? ''
}

function hasPrice({ challenge }: AnyRail): boolean {
  return challenge !== null
}

/** The part of a 402 document that depends on this call, and the rails' headers. */
export type PaymentDemand = {
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
  readonly headers: Readonly<Record<string, string>>
  readonly extensions: Readonly<Record<string, unknown>>
  readonly resource: { readonly url: string; readonly description: string; readonly mimeType: string }
}

/** The demand of every rail of the path for this call. Without a quote there is no demand yet. */
export function demandOf(
  addresses: Addresses,
  { rails, extensions }: Pick<Entrance, 'rails' | 'extensions'>,
  head: RequestHead | RawRequest,
  quote: Pick<Quote, 'wantMicro' | 'minMicro'> | undefined,
): PaymentDemand {
  const challenges =
    quote === undefined || !('body' in head) ? [] : rails.flatMap((rail) => rail.challenge?.(quote, head) ?? [])
  const accepts = challenges.flatMap((challenge) => challenge.accepts)
  const shownExtensions = accepts.length === 0 ? undefined : extensions
  return {
    accepts,
    headers: Object.assign({}, ...challenges.map(({ headers }) => headers)),
    extensions: Object.assign({}, shownExtensions, ...challenges.map((challenge) => challenge.extensions ?? {})),
    resource: {
      url: askedUrl(addresses, head),
      description: 'Inference, paid by the request',
      mimeType: 'application/json',
    },
  }
}

/** `payment_required` with a demand. */
export function paymentDemand(demand: PaymentDemand): AppError {
  return new AppError('payment_required', { detail: demand })
}

/** Adds the demand to the refusal of a payment, so that its payer may pay anew. Other errors stay as they are. */
export function withDemand(error: unknown, demand: () => PaymentDemand): unknown {
  if (!(error instanceof AppError) || error.code !== 'payment_required') return error
  const { payment_error: reason, is_final: isFinal, headers = {}, ...detail } = error.detail
  if (reason === undefined) return error
  const all = demand()
  // The payer is asked for no second payment while the first may still succeed.
  const asked = isFinal === true ? { ...all, accepts: [], headers: {}, extensions: {} } : all
  const both = { ...asked.headers, ...Object(headers) }
  return new AppError('payment_required', { detail: { ...asked, headers: both, ...detail, payment_error: reason } })
}

type Addresses = Pick<CallSite, 'baseUrl' | 'apiBaseUrl' | 'hosts'>

/** The requested URL, under the one of our addresses that the request named, with the floor in its path. */
export function askedUrl(addresses: Addresses, head: RequestHead): string {
  const { path, pathFloorPercent } = head
  const floor = pathFloorPercent === undefined ? '' : `/min${pathFloorPercent}`
  return askedBase(addresses, head) + floor + path
}

/** The one of our addresses that a request named. */
export function askedBase({ baseUrl, apiBaseUrl, hosts }: Addresses, { headers }: RequestHead): string {
  return headers.host === hosts.base ? baseUrl : apiBaseUrl
}
