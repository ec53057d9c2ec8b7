import type { AttemptPlan, Decoder, ForwardDemand, RawRequest, UpstreamRequest } from '#data-plane/call.ts'
import { familyEnvelope, forwardEnvelope } from '#data-plane/wires/envelopes/forward.ts'
import { readFloors, readMaxCost } from '#data-plane/wires/hints.ts'
import type { AnyWire, JobQuestion, ParsedCall, Resources } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'
import type { CompiledResource, Good } from '#shared/resources/compile-resource.ts'
import { goodOf, quoteUnits } from '#shared/resources/quote-resource.ts'
import { reasonInRequest } from '#shared/resources/request-fences.ts'
import type { Usage } from '#shared/usage.ts'
import type { ForwardAddress } from './address.ts'
import { notReachable, readAddress } from './address.ts'
import type { Bought } from './decoder.ts'
import { forwardDecoder } from './decoder.ts'
import { headersFor } from './headers.ts'
import type { Sent } from './sent-body.ts'
import { filledFor, readSent } from './sent-body.ts'
import { readTraits } from './traits.ts'

/** Forwards calls to a provider on a lent key, paid from credit. */
export const resource: AnyWire = forwardWire('resource', '/resources/', true)
/** The same, paid by a wallet. It has no jobs, because a wallet has no account that a job could belong to. */
export const resourceByWallet: AnyWire = forwardWire('resource', '/x402/resources/', false)
/** A family of calls that are forwarded one by one, paid by a wallet. */
export const family: AnyWire = forwardWire('family', '/x402/api/', false)

/** Forwards requests by a record of the catalogue. `prefix` precedes the id of the record in the path. */
function forwardWire(kind: ForwardDemand['kind'], prefix: string, takesJobs: boolean): AnyWire {
  return {
    name: kind,
    envelope: kind === 'family' ? familyEnvelope : forwardEnvelope,
    read(raw, resources) {
      const { record, rest } = findRecord(resources, kind, raw.path.slice(prefix.length))
      const address = readAddress(record, raw, rest)
      const { route } = address.match
      const isOfJob = route.kind !== 'sale' && route.kind !== 'free'
      if (isOfJob && !takesJobs) throw new AppError('job_route_required', { message: NO_QUEUE })
      const sent = readSent(raw, record, address)
      for (const body of sent.rpc?.requests ?? [sent.body]) {
        const reason = reasonInRequest(record, address.route, { body, query: address.query })
        if (reason !== undefined) throw notReachable(reason)
      }
      const price = priceOf(record, address, sent)
      if (price.bought.good?.mustQueue === true && route.kind === 'sale') throw new AppError('job_route_required')
      return parsedCall(raw, { asked: address, ...price })
    },
  }
}

const NO_QUEUE = 'The queue is not sold to wallets: use a key with prepaid credit.'

/** Splits the rest of a path into the record and the part after it. Throws `no_resource_offer`. */
function findRecord(resources: Resources, kind: ForwardDemand['kind'], text: string) {
  const end = text.indexOf('/')
  const id = end < 0 ? text : text.slice(0, end)
  const record = resources.get(id)
  if (record?.record.kind !== kind || !record.record.isOn) throw new AppError('no_resource_offer')
  return { record, rest: end < 0 ? '' : text.slice(end) }
}

/** Throws `provider_unpriceable`. */
function priceOf(resource: CompiledResource, { match, query }: ForwardAddress, read: Sent): Priced {
  const { route } = match
  if (route.kind !== 'sale' && route.kind !== 'submit') {
    return { sent: read, bought: { resource, match, good: undefined, size: read.size, quoted: {} } }
  }
  const { size } = read
  const good = goodOf(resource, match, { body: read.body, query, size })
  if (good === undefined) throw unpriceable('This request has no price here.')
  // The price is that of the request as it is sent.
  const sent = filledFor(match, good, query, read)
  const quoted =
    sent.rpc === undefined ? quoteUnits(match, good, { body: sent.body, query, size }) : { calls: sent.rpc.units }
  if (quoted === undefined) throw unpriceable('The request lacks the facts that its price depends on.')
  return { sent, bought: { resource, match, good, size, quoted } }
}

type Priced = { readonly sent: Sent; readonly bought: Bought }

function unpriceable(message: string): AppError {
  return new AppError('provider_unpriceable', { message })
}

type Read = Priced & { readonly asked: ForwardAddress }

function parsedCall(raw: RawRequest, read: Read): ParsedCall {
  const { asked, sent, bought } = read
  const { route, captures } = asked.match
  const demand = demandOf(raw, read)
  const request = requestOf(raw, read)
  const { job } = captures
  return {
    demand,
    encode: () => request,
    decoder: (_plan: AttemptPlan): Decoder => forwardDecoder(bought, sent.rpc?.rewrite),
    ...(IS_ABOUT_JOB.has(route.kind) && job ? { ofJob: questionOf(bought, job) } : {}),
  }
}

/** Kinds of routes that concern a job. */
const IS_ABOUT_JOB: ReadonlySet<string> = new Set(['status', 'result', 'cancel'])

function questionOf({ resource: record, match }: Bought, id: string): JobQuestion {
  return { id, isResult: match.route.kind === 'result', resource: record.record.id, record, match }
}

function demandOf(raw: RawRequest, { asked, bought }: Read): ForwardDemand {
  const { record, version } = bought.resource
  const { kind, id: name } = record
  const good = bought.good?.id ?? null
  return {
    kind,
    name,
    endpoint: asked.match.route.id,
    good,
    price: priceBy(bought.good, `${name}@${version}`),
    isStreamed: true,
    hints: NO_HINTS,
    floorPercents: readFloors({}, raw.headers, raw.pathFloorPercent),
    maxCostMicro: readMaxCost(raw.headers),
    lentDemand: { traits: readTraits(raw.headers['x-mkt-require']), good, method: raw.method, path: asked.path },
    bounds: { units: boundsOf(bought.quoted) },
  }
}

const NO_HINTS: ForwardDemand['hints'] = { only: [], blocked: [], order: [], allowsUntrusted: undefined }

function priceBy(good: Good | undefined, version: string): ForwardDemand['price'] {
  return good?.price ?? { version, unitPrices: {} }
}

function boundsOf(quoted: Usage) {
  return { most: quoted, least: quoted }
}

function requestOf(raw: RawRequest, { asked, sent, bought }: Read): UpstreamRequest {
  const { record, hostNames } = bought.resource
  const length = raw.headers['content-length']
  return {
    method: methodOf(raw.method),
    path: '',
    body: '',
    ...(sent.pieces === undefined ? {} : { pieces: sent.pieces }),
    contentType: sent.pieces === undefined && raw.stream === undefined ? '' : (raw.headers['content-type'] ?? ''),
    accept: raw.headers.accept ?? '*/*',
    adaptedParams: sent.filled,
    passedOn: {
      url: asked.url,
      hosts: hostNames,
      sealedFor: record.id,
      credential: record.credential,
      headers: headersFor(bought.resource, raw.headers),
      ...(raw.stream === undefined ? {} : { stream: raw.stream }),
      ...(raw.stream === undefined || length === undefined ? {} : { length: Number(length) }),
    },
  }
}

function methodOf(method: string): 'GET' | 'POST' | 'PUT' {
  return method === 'POST' || method === 'PUT' ? method : 'GET'
}
