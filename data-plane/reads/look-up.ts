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
  /** Reads a call that Redis has dropped from the control plane; undefined without a control plane. */
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
 * Makes an object for JSON for the holder of one key; undefined when it does not exist. Throws AppError as {@link
 * findRequest} does.
 */
export type LookUp = (sources: Lookups, request: LookupRequest) => Promise<object | undefined>

/**
 * `GET /v1/requests/:id`: a call that Redis still has. Without a key the control plane answers: it knows sessions, and
 * calls that wallets paid.
 */
export const lookUpRequest: LookUp = async ({ requests, fetchRecord }, { authorization, params }) =>
  authorization === undefined && fetchRecord !== undefined
    ? undefined
    : findRequest(requests, authorization, params['id'] ?? '')

/** `GET /v1/generation?id=`: the same record in OpenRouter's shape, including calls that only the ledger has. */
export const lookUpGeneration: LookUp = async ({ requests, fetchRecord }, { authorization, query }) => {
  const id = query.get('id') ?? ''
  const record = (await findRequest(requests, authorization, id)) ?? (await fetchRecord?.(authorization, id))
  return record && generationOf(record)
}

/** `GET /v1/key`: limits and standing of the key itself. */
export const lookUpKey: LookUp = ({ keys }, { authorization }) => readKey(keys, authorization)

/** `GET /v1/credits`: the balance of the key's account, and the cost of its calls. */
export const lookUpCredits: LookUp = ({ credits }, { authorization }) => readCredits(credits, authorization)
