import type { LocalRoute } from '#data-plane/pipeline/answer-locally.ts'
import type { CallRoute } from '#data-plane/pipeline/call-plane.ts'
import type { JobRoute, SubmitRoute } from '#data-plane/pipeline/job-plane.ts'
import type { LookUp } from '#data-plane/reads/look-up.ts'
import type { Read } from '#data-plane/reads/read.ts'
import type { Envelope } from '#data-plane/wires/wire.ts'

/** Methods that a row may name. A row that answers HEAD says so beside GET: a paid GET has no free twin. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

/** Whose path it is where site and API have hosts of their own: `{base_url}`, `{api_base_url}`, or of both. */
export type RowHost = 'base' | 'api' | 'both'

/** What a request brings. `raw` is handed on as it comes and never held; a form is read into room set aside for it. */
export type RowBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json' | 'form' | 'raw'; readonly limitBytes: number }

/** How a path says no, and the header that names the request there beside `x-request-id`. */
export type Voice = { readonly envelope: Envelope; readonly idHeader?: 'request-id' }

/** What a process says of itself. */
export type PlaneState = {
  isReady(): boolean
  /** True while money may be held: not during a rebuild of the gate. */
  takesPaidCalls(): boolean
}

type ServedBy = {
  /** A paid call: by which protocol, paid how, and what a stranger gets. */
  readonly call: CallRoute
  /** A long job: submitted, asked for, cancelled. */
  readonly 'job-submit': SubmitRoute
  readonly 'job-question': JobRoute
  readonly 'job-cancel': JobRoute
  /** A free call with a key and a body, which asks no provider. */
  readonly local: LocalRoute
  /** A free answer from the snapshot. */
  readonly read: { readonly read: Read }
  /** An answer to whoever has the key. */
  readonly lookup: { readonly look: LookUp }
  /** 200 with the first word while all is well, otherwise 503 with the second. */
  readonly health: { readonly words: readonly [well: string, ill: string]; isWell(state: PlaneState): boolean }
  readonly metrics: object
}

/** The kinds of answers that there are. */
export type Kind = keyof ServedBy
export type ServesOf<K extends Kind> = { readonly [Each in K]: { readonly kind: Each } & ServedBy[Each] }[K]

/** One path of the surface, and all that is decided about it before a request comes. */
export type Row = Voice & {
  readonly methods: readonly Method[]
  readonly host: RowHost
  /** Segments; `:name` stands for any one, `*name` at the end for all that follow, empty or not. */
  readonly path: string
  /** Mounts the path a second time with a `min{N}` segment behind this beginning of it. */
  readonly floorBehind?: '' | '/compat'
  readonly body: RowBody
  readonly serves: ServesOf<Kind>
}

/** Paths under a prefix that the control plane answers, passed on where one address serves both. */
export type ControlPrefix = { readonly prefix: string; readonly host: RowHost }

/** What the control plane's paths may take. */
export const CONTROL_METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The hosts of the site and of the API, each with its port where it has one; one and the same when they share it. */
export type Hosts = { readonly base: string; readonly api: string }
