import type {
  AttemptPlan,
  Decoder,
  Demand,
  ModelDemand,
  ModelPlan,
  Offer,
  RawRequest,
  Receipt,
  UpstreamRequest,
} from '#data-plane/call.ts'
import { AppError } from '#shared/errors.ts'
import type { JobId, RequestId } from '#shared/ids.ts'
import type { Artifact, ProviderJob } from '#shared/jobs.ts'
import type { JobKind } from '#shared/protocols/job-codec.ts'
import type { CompiledResource, FoundRoute } from '#shared/resources/compile-resource.ts'

/** A refusal as it is sent. */
export type Refusal = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How a protocol says no. */
export type Envelope = (error: AppError, requestId: RequestId) => Refusal

/** A pure codec for one buyer-facing protocol by which models are sold: no sockets, no Redis, no clock. */
export type Wire<Request> = {
  /** One of few: figures are labelled with it. */
  readonly name: string
  readonly envelope: Envelope
  /** Reads and checks the request. Throws AppError: `invalid_json`, `invalid_request` and their kin. */
  parse(raw: RawRequest): Request
  demand(request: Request): ModelDemand
  encode(request: Request, plan: ModelPlan): UpstreamRequest
  decoder(request: Request, plan: ModelPlan): Decoder
}

/** Records of resources and families by id. Their wires read requests by them. */
export type Resources = ReadonlyMap<string, CompiledResource>

/** A request bound to the wire that read it: what the pipeline works with, whatever the protocol. */
export type ParsedCall = {
  readonly demand: Demand
  /** Set for a question about a job that runs at a provider. It goes to the key that has started the job. */
  readonly ofJob?: JobQuestion
  encode(plan: AttemptPlan): UpstreamRequest
  decoder(plan: AttemptPlan): Decoder
}

/** A question about a job at a provider. */
export type JobQuestion = {
  /** The provider's id of the job. */
  readonly id: string
  readonly isResult: boolean
  readonly resource: string
  readonly record: CompiledResource
  readonly found: FoundRoute
}

/** A wire whose request type nobody outside needs to know. */
export type AnyWire = {
  readonly name: string
  readonly envelope: Envelope
  read(raw: RawRequest, resources: Resources): ParsedCall
}

/** The plan of a call whose demand is a model. A demand resolves to a target of its own kind, so this never throws. */
export function forModel(plan: AttemptPlan): ModelPlan {
  if (!isForModel(plan)) throw new AppError('internal_error', { cause: new Error('a model was expected') })
  return plan
}

function isForModel(plan: AttemptPlan): plan is ModelPlan {
  return plan.target.kind === 'model'
}

/** A wire by which models are sold. */
export type ModelWire = Omit<AnyWire, 'read'> & { read(raw: RawRequest): ParsedCall & { readonly demand: ModelDemand } }

export function defineWire<Request>(wire: Wire<Request>): ModelWire {
  return {
    name: wire.name,
    envelope: wire.envelope,
    read(raw) {
      const request = wire.parse(raw)
      return {
        demand: wire.demand(request),
        encode(plan) {
          return wire.encode(request, forModel(plan))
        },
        decoder(plan) {
          return wire.decoder(request, forModel(plan))
        },
      }
    },
  }
}

/** A long job as its buyer asked for it. */
export type ParsedJob = {
  readonly demand: Demand
  /** Members of the request that no provider is told. */
  readonly adaptedParams: readonly string[]
  encode(offer: Offer): UpstreamRequest
}

/** A long job as its buyer sees it. */
export type JobView = {
  readonly id: JobId
  readonly model: string
  /** Unix seconds. */
  readonly createdAt: number
  readonly state: ProviderJob['state']
  readonly artifacts: readonly Artifact[]
  /** Set once it is over. */
  readonly receipt: Receipt | undefined
  readonly error: AppError | undefined
}

/** A pure codec for one protocol of long jobs: a submit, then questions until it is over. */
export type JobWire = {
  /** Also the kind of job by which providers' protocols know it. */
  readonly name: JobKind
  readonly envelope: Envelope
  read(raw: RawRequest): ParsedJob
  submitted(view: JobView, token: string): string
  shown(view: JobView): string
}
