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

/** A refusal in its sent form. */
export type Refusal = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A protocol's form of a refusal. */
export type Envelope = (error: AppError, requestId: RequestId) => Refusal

/** A pure codec for one buyer-facing protocol of model calls: no sockets, no Redis, no clock. */
export type Wire<Request> = {
  /** The name of the wire. Metrics have this label, so wires have few names. */
  readonly name: string
  readonly envelope: Envelope
  /** Parses and checks the request. Throws AppError: `invalid_json`, `invalid_request` and others. */
  parse(raw: RawRequest): Request
  demand(request: Request): ModelDemand
  encode(request: Request, plan: ModelPlan): UpstreamRequest
  decoder(request: Request, plan: ModelPlan): Decoder
}

/** Records of resources and families by id. Their wires parse requests by them. */
export type Resources = ReadonlyMap<string, CompiledResource>

/** A request bound to its wire: the pipeline's form of a request, for any protocol. */
export type ParsedCall = {
  readonly demand: Demand
  /** Set for a request about a job that runs at a provider. It goes to the key that started the job. */
  readonly ofJob?: JobQuestion
  encode(plan: AttemptPlan): UpstreamRequest
  decoder(plan: AttemptPlan): Decoder
}

/** A request about a job at a provider. */
export type JobQuestion = {
  /** The provider's id of the job. */
  readonly id: string
  readonly isResult: boolean
  readonly resource: string
  readonly record: CompiledResource
  readonly match: RouteMatch
}

/** A wire whose request type is private. */
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

/** A wire of model calls. */
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

/** A long job in its buyer's request. */
export type ParsedJob = {
  readonly demand: Demand
  /** The requested length and size, for the views of the job. */
  readonly asked: JobAsked
  encode(offer: Offer, target: Target): UpstreamRequest
}

/** A job's requested length and size, as far as they are kept: never the buyer's text. */
export type JobAsked = { readonly seconds: number | null; readonly size: string | null }

/** A file of a job at the address from which its buyer can load it, and its index among all files of the job. */
export type ArtifactView = Pick<Artifact, 'url' | 'contentType'> & { readonly index: number }

/** A long job as its buyer sees it. */
export type JobView = {
  readonly id: JobId
  /** The origin at which its buyer looks it up. */
  readonly apiBaseUrl: string
  readonly model: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds; undefined while it runs. */
  readonly endedAt: number | undefined
  /** Unix seconds from which on it cannot be looked up. */
  readonly expiresAt: number
  readonly state: JobState
  /** Percent, if the provider reports it. */
  readonly progress: number | undefined
  readonly asked: JobAsked
  /** Members of the request that its provider did not receive, or received in another form. */
  readonly adaptedParams: readonly string[]
  readonly artifacts: readonly ArtifactView[]
  /** Set once it is over. */
  readonly receipt: Receipt | undefined
  readonly error: AppError | undefined
}

/** A pure codec for one protocol of long jobs: a submit, then look-ups until it is over. */
export type JobWire = {
  /** The name of the wire, which is also the kind of job in providers' protocols. */
  readonly name: JobKind
  readonly envelope: Envelope
  read(raw: RawRequest): ParsedJob
  submitted(view: JobView, token: string): string
  shown(view: JobView): string
  /** The answer to a cancellation. */
  cancelled(view: JobView): string
  /** True when a cancellation deletes a job that is over. */
  readonly deletesEnded?: true
}

/** A wire that also shows jobs as a list. */
export type JobListWire = JobWire & {
  listed(views: readonly JobView[], hasMore: boolean): string
}
