import type { AttemptPlan, Decoder, Demand, RawRequest, UpstreamRequest } from '#data-plane/call.ts'
import type { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'

export type WireName = 'chat' | 'messages' | 'completions' | 'responses' | 'embeddings' | 'speech' | 'transcriptions'

/** A refusal as bytes. */
export type Refusal = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How a protocol says no. */
export type Envelope = (error: AppError, requestId: RequestId) => Refusal

/** A pure codec for one buyer-facing protocol: no sockets, no Redis, no clock. */
export type Wire<Request> = {
  readonly name: WireName
  readonly envelope: Envelope
  /** How far a failed attempt may be followed by another: a relay that acts on its first byte may not be repeated. */
  readonly failover: 'until-first-content' | 'until-connected'
  /** Reads and checks the request. Throws AppError: `invalid_json`, `invalid_request` and their kin. */
  parse(raw: RawRequest): Request
  demand(request: Request): Demand
  encode(request: Request, plan: AttemptPlan): UpstreamRequest
  decoder(request: Request, plan: AttemptPlan): Decoder
}

/** A request bound to the wire that read it: what the pipeline works with, whatever the protocol. */
export type ParsedCall = {
  readonly demand: Demand
  encode(plan: AttemptPlan): UpstreamRequest
  decoder(plan: AttemptPlan): Decoder
}

/** A wire whose request type nobody outside needs to know. */
export type AnyWire = {
  readonly name: WireName
  readonly envelope: Envelope
  readonly failover: Wire<unknown>['failover']
  read(raw: RawRequest): ParsedCall
}

export function defineWire<Request>(wire: Wire<Request>): AnyWire {
  return {
    name: wire.name,
    envelope: wire.envelope,
    failover: wire.failover,
    read(raw) {
      const request = wire.parse(raw)
      return {
        demand: wire.demand(request),
        encode(plan) {
          return wire.encode(request, plan)
        },
        decoder(plan) {
          return wire.decoder(request, plan)
        },
      }
    },
  }
}
