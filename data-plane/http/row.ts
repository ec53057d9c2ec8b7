import type { InlinedIn } from '#data-plane/call.ts'
import type { LocalRoute } from '#data-plane/pipeline/answer-locally.ts'
import type { CallRoute } from '#data-plane/pipeline/call-plane.ts'
import type { Entrance } from '#data-plane/pipeline/entrance.ts'
import type { JobListRoute, JobRoute, SubmitRoute } from '#data-plane/pipeline/jobs/job-plane.ts'
import type { LookUp } from '#data-plane/reads/look-up.ts'
import type { Read } from '#data-plane/reads/read.ts'
import type { Envelope } from '#data-plane/wires/wire.ts'
import type { UntrustedProxies } from '#shared/untrusted-proxies.ts'

/** Methods that a row may name. A row that answers HEAD names it besides GET, because a paid GET has no free HEAD. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** The host of a path when site and API have hosts of their own: `{base_url}`, `{api_base_url}`, or both. */
export type RowHost = 'base' | 'api' | 'both'

/**
 * The body that a request may have. `raw` is passed on as it arrives and never held. A form takes room in the spool.
 */
export type RowBody =
  | { readonly kind: 'none' }
  | PlainRowBody
  | JsonRowBody
  /** The content type of a request decides which of the two forms its body has. */
  | { readonly kind: 'json-or-form'; readonly json: JsonRowBody; readonly form: PlainRowBody }
  | { readonly kind: 'json-or-raw'; readonly json: JsonRowBody; readonly raw: PlainRowBody }

export type PlainRowBody = { readonly kind: 'form' | 'raw'; readonly limitBytes: number }

/** `inlinedIn` names the member in which a large body may have inlined data. */
export type JsonRowBody = {
  readonly kind: 'json'
  readonly limitBytes: number
  readonly inlinedIn?: InlinedIn
}

/** The envelope of a path's refusals, and the header that carries the request id beside `x-request-id`. */
export type Voice = { readonly envelope: Envelope; readonly idHeader?: 'request-id' }

/** The state of the process for health checks. */
export type PlaneState = {
  /** Proxies that the server sees but does not trust. */
  readonly untrustedProxies: UntrustedProxies
  isReady(): boolean
  /** True while money may be held, false during a rebuild of the gate. */
  takesPaidCalls(): boolean
}

/**
 * The members that a query may hold. When others are ignored, the path has another vendor's shape: its clients send
 * members of their own, which the answer names.
 */
export type QueryRule = { readonly query: readonly string[]; readonly ignoresOthers?: true }

type ServedBy = {
  /** A paid call: its protocol, the ways to pay, and the answer to a stranger. */
  readonly call: CallRoute
  /** A long job: its submit, its look-ups and its cancellation. */
  readonly 'job-submit': SubmitRoute
  readonly 'job-question': JobRoute
  readonly 'job-cancel': JobRoute
  /** The jobs of the holder of a key. */
  readonly 'job-list': JobListRoute & QueryRule
  /** Redirects to the first file of a job that is over. */
  readonly 'job-content': JobRoute & QueryRule
  /** A media file, for the holder of a link, a job's token, or a key that comes in one of these ways. */
  readonly artifact: Pick<Entrance, 'rails'>
  /** A free call with a key and a body that calls no provider. */
  readonly local: LocalRoute
  /** A free answer from the snapshot; for the holder of a key only, when the row names how keys are sent. */
  readonly read: QueryRule & { readonly read: Read; readonly keys?: Entrance['rails'] }
  /** An answer to the holder of a key. */
  readonly lookup: QueryRule & { readonly look: LookUp }
  /** 200 with the first word in good health, otherwise 503 with the second. */
  readonly health: {
    readonly words: readonly [well: string, ill: string]
    isWell(state: PlaneState): boolean
    /** Figures beside the word. */
    figures?(state: PlaneState): Readonly<Record<string, number>>
  }
  readonly metrics: object
  /** Redirects a browser to another path. */
  readonly redirect: { readonly to: string }
}

/** The kinds of rows. */
export type Kind = keyof ServedBy
export type ServesOf<K extends Kind> = { readonly [Each in K]: { readonly kind: Each } & ServedBy[Each] }[K]

/** A path of the surface, and all decisions about it that need no request. */
export type Row = Voice & {
  readonly methods: readonly Method[]
  readonly host: RowHost
  /** Path segments. `:name` matches one segment. `*name` at the end matches any number of segments. */
  readonly path: string
  /** Mounts the path a second time with a `min{N}` segment after this prefix of it. */
  readonly floorBehind?: '' | '/compat'
  readonly body: RowBody
  readonly serves: ServesOf<Kind>
}

/** A prefix of the control plane's paths. They are passed on when one address serves both planes. */
export type ControlPrefix = { readonly prefix: string; readonly host: RowHost }

/** Methods that the control plane's paths may take. */
export const CONTROL_METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * The hosts of the site and of the API, each with its port when it has one. They are equal when the two share a host.
 */
export type Hosts = { readonly base: string; readonly api: string }
