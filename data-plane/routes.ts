import { PAGE_SEGMENTS } from '#shared/contract/page-paths.ts'
import type { ControlPrefix, JsonRowBody, Row, RowBody, ServesOf } from './http/row.ts'
import type { RowIndex } from './http/row-index.ts'
import { createRowIndex } from './http/row-index.ts'
import { answerTokenCount } from './local/count-tokens.ts'
import { explainCall } from './local/explain.ts'
import { familyPaths, leastDemands, payablePaths, withCatalogueEntries } from './payable-paths.ts'
import type { JobRoute } from './pipeline/jobs/job-plane.ts'
import type { AnyRail } from './rails/rail.ts'
import { listCompatModels, readCompatModel } from './reads/compat-models.ts'
import { listPromisingEndpoints, readModelOrEndpoints } from './reads/endpoints.ts'
import { readTradeFeed } from './reads/feed.ts'
import type { LookUp } from './reads/look-up.ts'
import { lookUpCredits, lookUpGeneration, lookUpKey, lookUpRequest } from './reads/look-up.ts'
import { listMarkets, listMarketsInDollars, readMarketOrPerformance } from './reads/markets.ts'
import { listImageModels, listVideoModels, readImageEndpoints } from './reads/media-models.ts'
import { MODEL_QUERY } from './reads/model-query.ts'
import {
  countModels,
  listEmbeddingModels,
  listInferenceModels,
  listModels,
  listOwnModels,
  readModelData,
} from './reads/models.ts'
import { listPrices } from './reads/prices.ts'
import { listProviders } from './reads/providers.ts'
import type { Read } from './reads/read.ts'
import {
  listResourceCapabilities,
  listResourceMarkets,
  listResourceTraits,
  readResourceAnalytics,
  readResourceBook,
} from './reads/resources.ts'
import { x402Info, x402Resources } from './reads/x402-info.ts'
import { chat } from './wires/chat/index.ts'
import { completions } from './wires/completions/index.ts'
import { embeddings } from './wires/embeddings/index.ts'
import { familyEnvelope, forwardEnvelope } from './wires/envelopes/forward.ts'
import { messagesEnvelope } from './wires/envelopes/messages.ts'
import { openAiEnvelope } from './wires/envelopes/openai.ts'
import { family, resource, resourceByWallet } from './wires/forward/index.ts'
import { imageEdits, images } from './wires/images/index.ts'
import { messages } from './wires/messages/index.ts'
import { music } from './wires/music/index.ts'
import { responses } from './wires/responses/index.ts'
import { speech } from './wires/speech/index.ts'
import { transcriptions } from './wires/transcriptions/index.ts'
import { video } from './wires/video/index.ts'
import { openAiVideos } from './wires/video/openai.ts'
import type { AnyWire } from './wires/wire.ts'

const MEGABYTE = 1_048_576

/** Ways to pay, as plane.ts makes them. */
export type Rails = {
  readonly credit: AnyRail
  /** Credit with the key in `x-api-key` or in `Authorization`. */
  readonly creditByEitherHeader: AnyRail
  /** Payments by wallet in the order in which clients should prefer them. */
  readonly x402: readonly AnyRail[]
  /** The way of wallets to pay for long jobs, whose price is known in advance. */
  readonly x402Exact: readonly AnyRail[]
  readonly mpp: readonly AnyRail[]
}

/** Methods, hosts and voices that rows share. On the messages wire the floor follows the path's own first segment. */
const POST = { methods: ['POST'] } as const
const GET = { methods: ['GET', 'HEAD'], body: { kind: 'none' } } as const
const DELETE = { methods: ['DELETE'], body: { kind: 'none' } } as const
const API = { host: 'api', envelope: openAiEnvelope } as const
const SITE = { host: 'base', envelope: openAiEnvelope } as const
const BOTH = { host: 'both', envelope: openAiEnvelope } as const
const COMPAT = { host: 'api', envelope: messagesEnvelope, idHeader: 'request-id' } as const
/** Forwarded calls, in all methods that a provider may support. */
const ANY = { methods: ['GET', 'POST', 'PUT'] } as const
const FORWARD = { host: 'api', envelope: forwardEnvelope } as const
const SITE_FORWARD = { host: 'base', envelope: forwardEnvelope } as const
/** A paid GET has no free HEAD. */
const CALL_GET = { methods: ['GET'], body: { kind: 'none' } } as const
const FLOOR = { floorBehind: '' } as const
const COMPAT_FLOOR = { floorBehind: '/compat' } as const

/** Eight images of four megabytes in base64, or as the files of a form. */
const SOURCES: JsonRowBody = { kind: 'json', limitBytes: 48 * MEGABYTE, inlinedIn: 'sources' }
const SOURCES_OR_FORM: RowBody = {
  kind: 'json-or-form',
  json: SOURCES,
  form: { kind: 'form', limitBytes: 40 * MEGABYTE },
}

/** JSON is parsed for its price, up to the size of inlined images. Anything else passes through unparsed. */
const PASSED_ON: RowBody = {
  kind: 'json-or-raw',
  json: { kind: 'json', limitBytes: 32 * MEGABYTE, inlinedIn: 'body' },
  raw: { kind: 'raw', limitBytes: 256 * MEGABYTE },
}

/** A batch of JSON-RPC is not an object, so it must stay below the size from which JSON is parsed in steps. */
const RPC_BODY: RowBody = { kind: 'json', limitBytes: MEGABYTE / 4 - 1 }

/** The whole surface: the rows of calls, jobs, local answers and free answers, with their ways to pay. */
export function surfaceRows(rails: Rails): readonly Row[] {
  const soldPaths = withCatalogueEntries(soldRows(rails), rails)
  const jobs = withCatalogueEntries(jobRows(rails), rails)
  const index = createRowIndex([...soldPaths, ...jobs], API)
  const forwarded = withCatalogueEntries(forwardRows(rails), rails)
  return [
    ...soldPaths,
    ...forwarded,
    ...jobs,
    ...localRows(rails, index),
    ...keyedRows(rails),
    ...paymentRows([...soldPaths, ...jobs, ...forwarded], rails),
    ...FREE_ROWS,
  ]
}

/** Rows that are priced by call. */
function soldRows({ credit, creditByEitherHeader, x402, mpp }: Rails): readonly Row[] {
  const anyWay = [credit, ...x402, ...mpp]
  return [
    { ...API, ...POST, path: '/v1/chat/completions', ...FLOOR, body: json(32, 'messages'), serves: sell(chat, anyWay) },
    ...siteRows('chat/completions', json(32, 'messages'), chat, { anyWay, x402 }),
    { ...API, ...POST, path: '/v1/completions', ...FLOOR, body: json(8), serves: sell(completions, anyWay) },
    ...siteRows('completions', json(8), completions, { anyWay, x402 }),
    { ...API, ...POST, path: '/v1/responses', ...FLOOR, body: json(32, 'input'), serves: sell(responses, anyWay) },
    { ...API, ...POST, path: '/v1/embeddings', body: json(8), serves: sell(embeddings, anyWay) },
    { ...API, ...POST, path: '/v1/audio/speech', ...FLOOR, body: json(1), serves: sell(speech, anyWay) },
    {
      ...API,
      ...POST,
      path: '/v1/audio/transcriptions',
      ...FLOOR,
      // A file of 25 MB and the fields beside it.
      body: { kind: 'form', limitBytes: 26 * MEGABYTE },
      serves: sell(transcriptions, anyWay),
    },
    { ...API, ...POST, path: '/v1/images/generations', ...FLOOR, body: SOURCES, serves: sell(images, anyWay) },
    // OpenRouter's path for the same operation.
    { ...API, ...POST, path: '/v1/images', ...FLOOR, body: SOURCES, serves: sell(images, anyWay) },
    { ...API, ...POST, path: '/v1/images/edits', ...FLOOR, body: SOURCES_OR_FORM, serves: sell(imageEdits, anyWay) },
    {
      ...COMPAT,
      ...POST,
      path: '/compat/v1/messages',
      ...COMPAT_FLOOR,
      body: json(32, 'messages'),
      serves: sellToKeys(messages, creditByEitherHeader),
    },
  ]
}

type SiteRails = { readonly anyWay: readonly AnyRail[]; readonly x402: readonly AnyRail[] }

/** The two paths of a call on the site: the canonical one, and its mirror that takes x402 alone. */
function siteRows(name: string, body: RowBody, wire: AnyWire, { anyWay, x402 }: SiteRails): readonly Row[] {
  const path = `/api/inference/v1/${name}`
  return [
    { ...SITE, ...POST, path, body, serves: sell(wire, anyWay) },
    { ...SITE, ...POST, path: `/x402${path}`, body, serves: sell(wire, x402) },
  ]
}

/** Calls to providers on lent keys, and families of calls. The catalogue describes each of them. */
function forwardRows({ credit, x402 }: Rails): readonly Row[] {
  const forwarded = { kind: 'call', failover: 'until-connected' } as const
  const byKey = { ...forwarded, rails: [credit], withoutCredential: 'reject' } as const
  const byWallet = { ...forwarded, rails: x402, withoutCredential: 'challenge' } as const
  const anyCall = { ...ANY, body: PASSED_ON }
  const families = { ...SITE_FORWARD, envelope: familyEnvelope, serves: { ...byWallet, wire: family } }
  return [
    ...['', '/*rest'].flatMap((rest): readonly Row[] => [
      { ...FORWARD, ...anyCall, path: `/resources/:resource${rest}`, ...FLOOR, serves: { ...byKey, wire: resource } },
      {
        ...SITE_FORWARD,
        ...anyCall,
        path: `/x402/resources/:resource${rest}`,
        serves: { ...byWallet, wire: resourceByWallet },
      },
    ]),
    { ...families, ...CALL_GET, path: '/x402/api/social/v2/posts/search/recent' },
    { ...families, ...CALL_GET, path: '/x402/api/social/v2/users/by/username/:username' },
    { ...families, ...POST, path: '/x402/api/crypto-rpc/rpc/:network', body: RPC_BODY },
  ]
}

/** Rows of long jobs, and the files of calls and jobs. */
function jobRows({ credit, x402Exact, mpp }: Rails): readonly Row[] {
  const rails = [credit]
  const paid = [credit, ...x402Exact, ...mpp]
  return [
    ...rowsOfJobs('/v1/video/generations', SOURCES, { wire: video, rails, paid }),
    ...rowsOfJobs('/v1/music/generations', json(1), { wire: music, rails, paid }),
    ...rowsOfJobs('/v1/videos', SOURCES_OR_FORM, { wire: openAiVideos, rails, paid }),
    {
      ...API,
      ...GET,
      path: '/v1/videos',
      ...FLOOR,
      serves: { kind: 'job-list', wire: openAiVideos, rails, query: ['after', 'limit', 'order'], ignoresOthers: true },
    },
    {
      ...API,
      ...GET,
      path: '/v1/videos/:id/content',
      ...FLOOR,
      serves: { kind: 'job-content', wire: openAiVideos, rails, query: ['variant'], ignoresOthers: true },
    },
    { ...API, ...GET, path: '/v1/media/artifacts/:jobId/:index', ...FLOOR, serves: { kind: 'artifact', rails } },
  ]
}

/** `paid` are the ways to pay for a submit. After it a wallet uses its job's token. */
type JobWays = JobRoute & { readonly paid: readonly AnyRail[] }

/** The submit of a kind of long job, and the paths of one job below it. */
function rowsOfJobs(path: string, body: RowBody, { paid, ...route }: JobWays): readonly Row[] {
  return [
    {
      ...API,
      ...POST,
      path,
      ...FLOOR,
      body,
      serves: { kind: 'job-submit', failover: 'until-connected', ...route, rails: paid },
    },
    { ...API, ...GET, path: `${path}/:id`, ...FLOOR, serves: { kind: 'job-question', ...route } },
    { ...API, ...DELETE, path: `${path}/:id`, ...FLOOR, serves: { kind: 'job-cancel', ...route } },
  ]
}

/** Free answers from the snapshot that need a key, as all of `/compat` does. */
function keyedRows({ credit, creditByEitherHeader }: Rails): readonly Row[] {
  const keys = [creditByEitherHeader]
  // The official client's beta calls have `beta=true` in their query, and mean the same.
  const pages = ['limit', 'after_id', 'before_id', 'available', 'beta']
  return [
    {
      ...COMPAT,
      ...GET,
      path: '/compat/v1/models',
      ...COMPAT_FLOOR,
      serves: { ...foreign(listCompatModels, ...pages), keys },
    },
    {
      ...COMPAT,
      ...GET,
      path: '/compat/v1/models/*id',
      ...COMPAT_FLOOR,
      serves: { ...foreign(readCompatModel, 'beta'), keys },
    },
    {
      ...API,
      ...GET,
      path: '/v1/models/user',
      ...FLOOR,
      serves: { ...foreign(listOwnModels, ...MODEL_QUERY), keys: [credit] },
    },
  ]
}

/** The paths that a wallet can pay for, as agents and crawlers read them. */
function paymentRows(soldPaths: readonly Row[], rails: Rails): readonly Row[] {
  const [paths, families] = [payablePaths(soldPaths, rails), familyPaths(soldPaths)]
  return [
    { ...SITE, ...GET, path: '/api/x402/info', serves: read(x402Info(paths, families, leastDemands)) },
    { ...SITE, ...GET, path: '/.well-known/x402', serves: read(x402Resources(paths, families, leastDemands)) },
  ]
}

/** Free calls with a key and a body. */
function localRows({ creditByEitherHeader }: Rails, payableIndex: RowIndex): readonly Row[] {
  const keyed = { kind: 'local', rails: [creditByEitherHeader], withoutCredential: 'reject' } as const
  return [
    {
      ...API,
      ...POST,
      path: '/v1/route/explain',
      ...FLOOR,
      body: json(32, 'body'),
      serves: { ...keyed, envelope: API.envelope, answer: (raw, caller) => explainCall(payableIndex, raw, caller) },
    },
    {
      ...COMPAT,
      ...POST,
      path: '/compat/v1/messages/count_tokens',
      ...COMPAT_FLOOR,
      body: json(32, 'messages'),
      serves: { ...keyed, envelope: COMPAT.envelope, answer: answerTokenCount },
    },
  ]
}

/** A read below `/v1`, which clients also request below a base URL with a floor. */
const API_READ = { ...API, ...GET, ...FLOOR } as const

/** Free rows: reads for everybody, lookups for the holder of a key, and checks for operators. */
const FREE_ROWS: readonly Row[] = [
  { ...API_READ, path: '/v1/models', serves: foreign(listModels, ...MODEL_QUERY) },
  { ...API_READ, path: '/v1/models/count', serves: foreign(countModels, ...MODEL_QUERY) },
  { ...API_READ, path: '/v1/models/*id', serves: foreign(readModelOrEndpoints) },
  { ...API_READ, path: '/v1/model/*id', serves: foreign(readModelData) },
  { ...API_READ, path: '/v1/embeddings/models', serves: foreign(listEmbeddingModels, ...MODEL_QUERY) },
  { ...API_READ, path: '/v1/images/models', serves: foreign(listImageModels) },
  { ...API_READ, path: '/v1/images/models/:author/:slug/endpoints', serves: foreign(readImageEndpoints) },
  { ...API_READ, path: '/v1/videos/models', serves: foreign(listVideoModels) },
  { ...API_READ, path: '/v1/endpoints/zdr', serves: foreign(listPromisingEndpoints) },
  { ...SITE, ...GET, path: '/api/inference/v1/models', serves: foreign(listInferenceModels, ...MODEL_QUERY) },
  { ...SITE, ...GET, path: '/x402/api/inference/v1/models', serves: foreign(listInferenceModels, ...MODEL_QUERY) },
  { ...API_READ, path: '/v1/providers', serves: foreign(listProviders) },
  { ...API_READ, path: '/v1/prices', serves: read(listPrices) },
  { ...SITE, ...GET, path: '/api/inference/v1/prices', serves: read(listPrices) },
  { ...SITE, ...GET, path: '/api/inference/markets', serves: read(listMarketsInDollars, 'model', 'priced_by') },
  { ...API, ...GET, path: '/api/markets', serves: read(listMarkets, 'model', 'priced_by') },
  { ...API, ...GET, path: '/api/markets/feed', serves: read(readTradeFeed, 'limit') },
  { ...API, ...GET, path: '/api/markets/*model', serves: read(readMarketOrPerformance) },
  { ...API_READ, path: '/v1/resource/markets', serves: read(listResourceMarkets) },
  { ...API_READ, path: '/v1/resource/capabilities', serves: read(listResourceCapabilities) },
  { ...API_READ, path: '/v1/resource/traits', serves: read(listResourceTraits) },
  { ...API_READ, path: '/v1/resource/market/analytics', serves: read(readResourceAnalytics) },
  {
    ...API_READ,
    path: '/v1/resource/book/:provider',
    serves: read(readResourceBook, 'model', 'method', 'path', 'require', 'min_discount_pct'),
  },
  { ...API_READ, path: '/v1/generation', serves: { ...lookup(lookUpGeneration, 'id'), ignoresOthers: true } },
  { ...API_READ, path: '/v1/key', serves: { ...lookup(lookUpKey), ignoresOthers: true } },
  { ...API_READ, path: '/v1/credits', serves: { ...lookup(lookUpCredits), ignoresOthers: true } },
  { ...API, ...GET, path: '/v1/requests/:id', serves: lookup(lookUpRequest) },
  { ...BOTH, ...GET, path: '/', serves: { kind: 'redirect', to: '/docs' } },
  { ...BOTH, ...GET, path: '/health/live', serves: { kind: 'health', words: ['live', 'live'], isWell: () => true } },
  {
    ...BOTH,
    ...GET,
    path: '/health/ready',
    serves: {
      kind: 'health',
      words: ['ready', 'not ready'],
      isWell: (plane) => plane.isReady(),
      figures: (plane) => ({ untrusted_proxies: plane.untrustedProxies.count() }),
    },
  },
  // Separate from readiness, because reads and running calls continue during a rebuild of the gate.
  {
    ...BOTH,
    ...GET,
    path: '/health/paid',
    serves: { kind: 'health', words: ['open', 'closed'], isWell: (plane) => plane.takesPaidCalls() },
  },
  { ...BOTH, ...GET, path: '/metrics', serves: { kind: 'metrics' } },
]

/** A call that every caller may buy. A stranger gets the ways to pay. */
function sell(wire: AnyWire, rails: readonly AnyRail[]): Row['serves'] {
  return { kind: 'call', wire, rails, withoutCredential: 'challenge', failover: 'until-content' }
}

/** A call that only the holder of a key may buy. */
function sellToKeys(wire: AnyWire, ...rails: AnyRail[]): Row['serves'] {
  return { kind: 'call', wire, rails, withoutCredential: 'reject', failover: 'until-content' }
}

/** A free read, with the members that its query may hold. */
function read(from: Read, ...query: string[]): ServesOf<'read'> {
  return { kind: 'read', read: from, query }
}

/** A free read in another vendor's shape, with the members of that vendor's query that have an effect. */
function foreign(from: Read, ...query: string[]): ServesOf<'read'> {
  return { ...read(from, ...query), ignoresOthers: true }
}

function lookup(look: LookUp, ...query: string[]): ServesOf<'lookup'> {
  return { kind: 'lookup', look, query }
}

function json(megabytes: number, inlinedIn?: JsonRowBody['inlinedIn']): RowBody {
  const body = { kind: 'json' as const, limitBytes: megabytes * MEGABYTE }
  return inlinedIn === undefined ? body : { ...body, inlinedIn }
}

/** Paths of the control plane. They are passed on when one address serves both planes. */
export const CONTROL_PREFIXES: readonly ControlPrefix[] = [
  { host: 'api', prefix: '/v1/seller' },
  { host: 'api', prefix: '/v1/buyer' },
  // A page signs in at its own origin.
  { host: 'both', prefix: '/v1/auth' },
  { host: 'api', prefix: '/v1/resource/seller' },
  { host: 'api', prefix: '/v1/resource/access' },
  { host: 'api', prefix: '/v1/resource/buyer' },
  { host: 'api', prefix: '/v1/organizations' },
  { host: 'api', prefix: '/v1/invitations' },
  { host: 'api', prefix: '/v1/invite-links' },
  { host: 'api', prefix: '/v1/workspaces' },
  { host: 'api', prefix: '/v1/views' },
  { host: 'api', prefix: '/v1/audit' },
  { host: 'api', prefix: '/v1/exports' },
  { host: 'api', prefix: '/v1/payments' },
  // OpenRouter's path for sums of usage.
  { host: 'api', prefix: '/v1/activity' },
  // The list of calls, and calls that Redis has forgotten.
  { host: 'api', prefix: '/v1/requests' },
  { host: 'both', prefix: '/graphql' },
  { host: 'both', prefix: '/trpc' },
  { host: 'both', prefix: '/openapi.json' },
  { host: 'both', prefix: '/docs' },
  { host: 'both', prefix: '/llms.txt' },
  { host: 'base', prefix: '/' },
  // Pages of the documentation are read at both addresses, so their scripts are as well.
  { host: 'both', prefix: '/assets' },
  ...PAGE_SEGMENTS.filter((segment) => segment !== 'docs' && segment !== 'assets').map((segment) => ({
    host: 'base' as const,
    prefix: `/${segment}`,
  })),
]
