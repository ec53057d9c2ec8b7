import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { LEAST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import type { RailName } from '#shared/contract/rails.ts'
import { microUsd } from '#shared/money.ts'
import type { Row, ServesOf } from './http/row.ts'
import type { AnyRail } from './rails/rail.ts'
import { requirementFor } from './rails/x402/requirement.ts'
import type { FamilyPath, PayablePath } from './reads/x402-info.ts'

/** A short request of each wire, which catalogues show as an example. Clients send it back, so it stays short. */
const EXAMPLES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  chat: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello.' }] },
  completions: { model: 'gpt-5-mini', prompt: 'Once upon a time' },
  responses: { model: 'gpt-5-mini', input: 'Say hello.' },
  embeddings: { model: 'text-embedding-3-small', input: 'hello' },
  speech: { model: 'tts-1', voice: 'alloy', input: 'Good morning.' },
  transcriptions: { model: 'gpt-4o-transcribe', file: 'audio.mp3' },
  images: { model: 'dall-e-3', prompt: 'A boat on a lake.' },
  video: { model: 'sora-2', prompt: 'A boat on a lake.', seconds: '4' },
  music: { model: 'music-1.5', prompt: 'A slow waltz.' },
  'image-edits': { model: 'gpt-image-1', prompt: 'Add a hat.', image: 'https://example.com/boat.png' },
}

/** Calls of the families, by their path. */
const FAMILIES: Readonly<Record<string, FamilyExample>> = {
  '/x402/api/social/v2/posts/search/recent': { family: 'social', query: { query: 'boats', max_results: '10' } },
  '/x402/api/social/v2/users/by/username/:username': { family: 'social', variables: { username: 'market' } },
  '/x402/api/crypto-rpc/rpc/:network': {
    family: 'crypto-rpc',
    variables: { network: 'base-mainnet' },
    body: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
  },
}

type FamilyExample = {
  readonly family: string
  readonly variables?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
}

/** The calls of families that a wallet can pay for. */
export function familyPaths(rows: readonly Row[]): readonly FamilyPath[] {
  return rows.flatMap(({ path, methods }) => {
    const familyExample = FAMILIES[path]
    if (familyExample === undefined) return []
    const { family, variables = {}, query } = familyExample
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => variables[name] ?? name)
    const method = methods.includes('POST') ? ('POST' as const) : ('GET' as const)
    const example = query === undefined ? filled : `${filled}?${new URLSearchParams(query)}`
    return [{ method, path: path.replaceAll(/:(\w+)/g, '{$1}'), example, family }]
  })
}

/** Adds the catalogue entry of a paid path to the rows that a wallet can pay for. */
export function withCatalogueEntries(rows: readonly Row[], ways: WalletRails): readonly Row[] {
  return rows.map((row) => {
    const { serves } = row
    const family = FAMILIES[row.path]
    if (serves.kind === 'call' && family !== undefined) {
      return { ...row, serves: { ...serves, extensions: { bazaar: bazaarOfFamily(family) } } }
    }
    if (!isSold(serves) || !protocolsOf(row, ways).includes('x402')) return row
    const bazaar = bazaarOf(EXAMPLES[serves.wire.name] ?? {}, row.body.kind === 'form')
    return { ...row, serves: { ...serves, extensions: { bazaar } } }
  })
}

/** The paths that a wallet can pay for, by protocol. */
export function payablePaths(rows: readonly Row[], ways: WalletRails): readonly PayablePath[] {
  return rows.flatMap((row) => {
    const protocols = protocolsOf(row, ways)
    const schemes = SCHEMES.filter((scheme) => isSold(row.serves) && hasRail(row.serves, `x402-${scheme}`))
    return protocols.length === 0 ? [] : [{ method: 'POST', path: row.path, host: row.host, protocols, schemes }]
  })
}

/** Schemes of x402 in the order in which clients should prefer them. */
const SCHEMES = ['upto', 'exact'] as const

/** Ways of wallets to pay, by protocol. */
type WalletRails = Readonly<Record<'x402' | 'x402Exact' | 'mpp', readonly AnyRail[]>>
type Sold = ServesOf<'call' | 'job-submit'>

/** True for rows that wallets may buy. The catalogue, not the rows, decides what can be forwarded. */
function isSold(serves: Row['serves']): serves is Sold {
  if (serves.kind === 'job-submit') return true
  return serves.kind === 'call' && serves.withoutCredential === 'challenge' && serves.failover === 'until-content'
}

function hasRail({ rails }: Sold, name: RailName): boolean {
  return rails.some((rail) => rail.name === name)
}

function protocolsOf({ serves }: Row, { x402, x402Exact, mpp }: WalletRails): PayablePath['protocols'] {
  if (!isSold(serves)) return []
  const { rails } = serves
  const takes = (...ways: readonly AnyRail[]) => rails.some((rail) => ways.includes(rail))
  return [...(takes(...x402, ...x402Exact) ? (['x402'] as const) : []), ...(takes(...mpp) ? (['mpp'] as const) : [])]
}

/** The demands of a request without a body: the least price. */
export function leastDemands(
  terms: PaymentTerms,
  payingSchemes: PayablePath['schemes'] = SCHEMES,
): readonly Readonly<Record<string, unknown>>[] {
  const { switchedOff, facilitator } = terms
  const schemes = payingSchemes.filter((scheme) => !switchedOff.includes(`x402-${scheme}`))
  const open = schemes.filter((scheme) => scheme === 'exact' || facilitator !== null)
  return open.map((scheme) => requirementFor(scheme, terms, microUsd(LEAST_PAYMENT_MICRO), undefined))
}

/** The bazaar extension of x402: an example of the input, and a JSON Schema that fits it. */
function bazaarOf(example: Readonly<Record<string, unknown>>, isForm: boolean): Readonly<Record<string, unknown>> {
  const bodyType = isForm ? 'form-data' : 'json'
  const input = { type: 'http', method: 'POST', bodyType, body: example }
  return entryOf(input, { bodyType: { const: bodyType }, body: schemaOf(example) })
}

function bazaarOfFamily({ query, body }: FamilyExample): Readonly<Record<string, unknown>> {
  if (body !== undefined) return bazaarOf(body, false)
  const input = { type: 'http', method: 'GET', ...(query !== undefined && { queryParams: query }) }
  return entryOf(input, query === undefined ? {} : { queryParams: schemaOf(query) })
}

type Input = { readonly type: string; readonly method: string }

/** An entry with an example of the input and the schema of its members. */
function entryOf(input: Input, members: Readonly<Record<string, object>>): Readonly<Record<string, unknown>> {
  const properties = { type: { const: input.type }, method: { const: input.method }, ...members }
  return {
    info: { input, output: { type: 'json' } },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { input: { type: 'object', properties, required: Object.keys(properties) } },
      required: ['input'],
    },
  }
}

function schemaOf(example: Readonly<Record<string, unknown>>): object {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(example).map(([name, value]) => [name, typeOf(value)])),
    required: Object.keys(example),
  }
}

function typeOf(value: unknown): object {
  return { type: Array.isArray(value) ? 'array' : typeof value === 'number' ? 'number' : 'string' }
}
