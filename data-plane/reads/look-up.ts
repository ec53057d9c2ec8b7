import type { LookupRecord } from '#shared/contract/lookup.ts'
import type { CreditSources } from './credits.ts'
import { readCredits } from './credits.ts'
import type { KeySources } from './key.ts'
import { readKey } from './key.ts'
import type { LookupSources } from './requests.ts'
import { findRequest, generationOf } from './requests.ts'

/** Sources of the answers to the holder of a key. */
export type Lookups = {
  readonly requests: LookupSources
  readonly keys: KeySources
  readonly credits: CreditSources
  /** Asks the control plane for a call that Redis has forgotten; undefined when there is no control plane to ask. */
  readonly fetchRecord:
    | ((authorization: string | undefined, id: string) => Promise<LookupRecord | undefined>)
    | undefined
}

export type LookupRequest = {
  readonly authorization: string | undefined
  /** Decoded path parameters. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/**
 * Makes an object for JSON for the holder of one key; undefined when there is no such thing. Throws AppError as {@link
 * findRequest} does.
 */
export type LookUp = (sources: Lookups, request: LookupRequest) => Promise<object | undefined>

/**
 * `GET /v1/requests/:id`: a call that Redis still knows. Without a key the control plane answers: it knows sessions, and
 * calls that wallets paid.
 */
export const lookUpRequest: LookUp = async ({ requests, fetchRecord }, { authorization, params }) =>
  authorization === undefined && fetchRecord !== undefined
    ? undefined
    : findRequest(requests, authorization, params['id'] ?? '')

/** `GET /v1/generation?id=`: the same record in OpenRouter's shape, also of a call that only the ledger knows. */
export const lookUpGeneration: LookUp = async ({ requests, fetchRecord }, { authorization, query }) => {
  const id = query.get('id') ?? ''
  const record = (await findRequest(requests, authorization, id)) ?? (await fetchRecord?.(authorization, id))
  return record && generationOf(record)
}

/** `GET /v1/key`: limits and standing of the asking key. */
export const lookUpKey: LookUp = ({ keys }, { authorization }) => readKey(keys, authorization)

/** `GET /v1/credits`: what the account of the asking key has, and what its calls have cost. */
export const lookUpCredits: LookUp = ({ credits }, { authorization }) => readCredits(credits, authorization)
