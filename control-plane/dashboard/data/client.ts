import { replaceEqualDeep } from '@tanstack/react-query'
import type { ErrorCode } from './documents/public-errors.ts'
import type { TypedDocumentString } from './typed-document.ts'
import { workspaceHeaders } from './workspace.ts'

/** A refusal of the market, or a failure to reach it. */
export class MarketError extends Error {
  readonly code: ErrorCode | 'unreachable'
  readonly requestId: string | undefined
  /** Milliseconds after which a limit lets the caller in again. */
  readonly retryAfterMs: number | undefined
  /** The member of the input that the refusal concerns. */
  readonly param: string | undefined

  constructor(
    code: ErrorCode | 'unreachable',
    message: string,
    facts: {
      readonly requestId?: string | undefined
      readonly retryAfterMs?: number | undefined
      readonly param?: string | undefined
    } = {},
  ) {
    super(message)
    this.code = code
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
    this.param = facts.param
  }
}

/** The error for a thrown value: a refusal of the market, or a failed connection. */
export function toMarketError(thrown: unknown): MarketError {
  if (thrown instanceof MarketError) return thrown
  return new MarketError('unreachable', 'The market does not answer. The page tries again by itself.')
}

const JSON_TYPE = 'application/json'
/** A form of another site cannot send this header. */
const HEADERS = { 'content-type': JSON_TYPE, 'graphql-require-preflight': '1' }

/** Longer than the time limit of the market for a document. */
const ASK_MS = 20_000

export function requestOf(document: TypedDocumentString<unknown, never>, variables: unknown, accept: string) {
  return {
    method: 'POST',
    credentials: 'same-origin' as const,
    headers: { ...HEADERS, ...workspaceHeaders(), accept },
    body: JSON.stringify({ query: document.toString(), variables }),
  }
}

type AskOptions = { readonly idempotencyKey?: string; readonly signal?: AbortSignal }

/** Asks the GraphQL door. Throws a {@link MarketError}. */
export async function ask<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  { idempotencyKey, signal }: AskOptions = {},
): Promise<Result> {
  const init = requestOf(document, variables, JSON_TYPE)
  const limit = AbortSignal.timeout(ASK_MS)
  const answer = await send('/graphql', {
    ...init,
    headers: { ...init.headers, ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }) },
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  })
  const body: unknown = await answer.json().catch(() => undefined)
  const errors = errorsOf(body)
  // A part that failed is null, and the rest of the screen is shown.
  if (hasData<Result>(body)) {
    const failed = errors.map((error) => refusalOf(error, answer)).find(isFailure)
    keepFailure(body.data, failed)
    return body.data
  }
  const [error] = errors
  if (error !== undefined) throw refusalOf(error, answer)
  // A proxy before the control plane refuses in REST's shape, for example while the control plane is away.
  if (hasRestError(body)) throw restRefusalOf(body, answer)
  throw new MarketError('internal_error', 'The answer of the market is not readable.')
}

/** The pause before a limit is tried again, where the refusal names none. */
const PAUSE_MS = 5_000
const MAX_PAUSES = 10

/** Sends a query, and waits where a limit of calls is reached, at most ten times. For work that needs many calls. */
export async function askPatiently<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  options: AskOptions = {},
): Promise<Result> {
  for (let pauses = 0; ; pauses += 1) {
    try {
      return await ask(document, variables, options)
    } catch (error) {
      if (!(error instanceof MarketError) || error.code !== 'rate_limited' || pauses === MAX_PAUSES) throw error
      await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? PAUSE_MS))
    }
  }
}

/** Failures that pass by themselves. */
const PASSING: ReadonlySet<string> = new Set(['unreachable', 'service_unavailable', 'overloaded', 'rate_limited'])

export function isPassing(error: unknown): boolean {
  return error instanceof MarketError && PASSING.has(error.code)
}

/** Other codes are answers: the record does not exist, or this reader may not see it. */
const isFailure = (error: MarketError) => error.code === 'internal_error' || isPassing(error)

/** The member of an answer with the reasons of its failed parts. Copies of the answer lack the member. */
const FAILURE: unique symbol = Symbol()

/** The reason why a part of an answer is missing. */
export function failureOf(data: object): MarketError | undefined {
  return FAILURE in data && data[FAILURE] instanceof MarketError ? data[FAILURE] : undefined
}

function keepFailure(data: object, failed: MarketError | undefined): void {
  Object.defineProperty(data, FAILURE, { value: failed, configurable: true })
}

/** Keeps the unchanged parts of the answer before, and notes whether a part of the answer failed. */
export function shareAnswer(before: unknown, after: unknown): unknown {
  const merged = replaceEqualDeep(before, after)
  if (isObject(merged) && isObject(after)) keepFailure(merged, failureOf(after))
  return merged
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init)
  } catch (thrown) {
    if (init.signal?.aborted === true && thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown
    throw toMarketError(thrown)
  }
}

type GraphQLFault = {
  readonly message: string
  readonly extensions?: { readonly code?: ErrorCode; readonly param?: string }
}

function errorsOf(body: unknown): readonly GraphQLFault[] {
  return hasErrors(body) ? body.errors : []
}

function hasErrors(body: unknown): body is { readonly errors: readonly GraphQLFault[] } {
  return isObject(body) && 'errors' in body && Array.isArray(body.errors)
}

function hasData<Result>(body: unknown): body is { readonly data: Result & object } {
  if (!isObject(body) || !('data' in body)) return false
  const { data } = body
  return isObject(data) && Object.values(data).some((part) => part !== null)
}

/** The body of an error of the REST API. */
type RestError = { readonly error: { readonly code?: ErrorCode; readonly message?: string } }

function hasRestError(body: unknown): body is RestError {
  return isObject(body) && 'error' in body && isObject(body.error)
}

function refusalOf({ message, extensions }: GraphQLFault, answer: Response): MarketError {
  return new MarketError(extensions?.code ?? 'internal_error', message, {
    ...factsOf(answer),
    param: extensions?.param,
  })
}

function factsOf({ headers }: Response) {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return {
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : undefined,
  }
}

/** The only path of a sign-in that spends money. The others concern the reader, whatever account the tab acts for. */
const PLAYGROUND_PATH = '/v1/auth/playground'

/** Asks one of the REST door's paths that have no twin in GraphQL: those that set a cookie. */
export async function call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> {
  const answer = await send(path, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(body === undefined ? {} : { 'content-type': JSON_TYPE }),
      ...(path === PLAYGROUND_PATH ? workspaceHeaders() : {}),
      accept: JSON_TYPE,
    },
    signal: AbortSignal.timeout(ASK_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw await refusalIn(answer)
  return answer.status === 204 ? undefined : await answer.json().catch(() => undefined)
}

/** The refusal in an answer of a door that speaks REST, or of the data plane. */
export async function refusalIn(answer: Response): Promise<MarketError> {
  const read: unknown = await answer.json().catch(() => undefined)
  return restRefusalOf(hasRestError(read) ? read : { error: {} }, answer)
}

function restRefusalOf({ error: { code, message } }: RestError, answer: Response): MarketError {
  return new MarketError(code ?? 'internal_error', message ?? 'The market refused this.', factsOf(answer))
}
