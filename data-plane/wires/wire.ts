import type {
  AttemptPlan,
  Decoder,
  Demand,
  ModelDemand,
  ModelPlan,
  ModelTarget,
  Offer,
  RawRequest,
  Receipt,
  Target,
  UpstreamRequest,
} from '#data-plane/call.ts'
import { AppError } from '#shared/errors.ts'
import type { JobId, RequestId } from '#shared/ids.ts'
import type { Artifact, JobState } from '#shared/jobs.ts'
import type { JobKind } from '#shared/protocols/job-codec.ts'
import type { CompiledResource, RouteMatch } from '#shared/resources/compile-resource.ts'

/** A refusal as it is sent. */
export type Refusal = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A protocol's form of a refusal. */
export type Envelope = (error: AppError, requestId: RequestId) => Refusal

/** A pure codec for one buyer-facing protocol by which models are sold: no sockets, no Redis, no clock. */
export type Wire<Request> = {
  /** The name of the wire. Figures are labelled with it, so there are few. */
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
  readonly match: RouteMatch
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

/** The target of a demand for a model. */
export function forModelTarget(target: Target): ModelTarget {
  if (target.kind === 'model') return target
  throw new AppError('internal_error', { cause: new Error('a model was expected') })
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
  /** The length and size that are asked for, for the views of the job. */
  readonly asked: JobAsked
  encode(offer: Offer, target: Target): UpstreamRequest
}

/** The length and size that a job was asked for, as far as they are kept: never the buyer's words. */
export type JobAsked = { readonly seconds: number | null; readonly size: string | null }

/** A file of a job where its buyer can load it, and its place among all that the job made. */
export type ArtifactView = Pick<Artifact, 'url' | 'contentType'> & { readonly index: number }

/** A long job as its buyer sees it. */
export type JobView = {
  readonly id: JobId
  /** The origin at which its buyer asks about it. */
  readonly apiBaseUrl: string
  readonly model: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds; undefined while it runs. */
  readonly endedAt: number | undefined
  /** Unix seconds from which on nobody can ask about it. */
  readonly expiresAt: number
  readonly state: JobState
  /** Percent, where the provider says it. */
  readonly progress: number | undefined
  readonly asked: JobAsked
  /** Members of the request that its provider was not told, or in another way. */
  readonly adaptedParams: readonly string[]
  readonly artifacts: readonly ArtifactView[]
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
  /** The answer to a cancellation. */
  cancelled(view: JobView): string
  /** True where a cancellation deletes a job that is over. */
  readonly deletesEnded?: true
}

/** A wire that also shows jobs as a list. */
export type JobListWire = JobWire & {
  listed(views: readonly JobView[], hasMore: boolean): string
}
