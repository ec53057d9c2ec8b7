import { AppError } from '#shared/errors.ts'
import { explainCall } from './explain.ts'
import type { JobRow } from './http/job-routes.ts'
import type { LocalRoute } from './pipeline/answer-locally.ts'
import type { CallRoute } from './pipeline/call-plane.ts'
import type { AnyRail } from './rails/rail.ts'
import { listCompatModels, readCompatModel } from './reads/compat-models.ts'
import { readTradeFeed } from './reads/feed.ts'
import { listMarkets, readMarket, readPerformance } from './reads/markets.ts'
import { listInferenceModels, listModels, readModel } from './reads/models.ts'
import { listPrices } from './reads/prices.ts'
import { listProviders } from './reads/providers.ts'
import type { Read } from './reads/read.ts'
import { chat } from './wires/chat/index.ts'
import { completions } from './wires/completions/index.ts'
import { embeddings } from './wires/embeddings/index.ts'
import { messagesEnvelope } from './wires/envelopes/messages.ts'
import { openAiEnvelope } from './wires/envelopes/openai.ts'
import { countTokens } from './wires/messages/count-tokens.ts'
import { messages } from './wires/messages/index.ts'
import { responses } from './wires/responses/index.ts'
import { speech } from './wires/speech/index.ts'
import { transcriptions } from './wires/transcriptions/index.ts'
import { video } from './wires/video/index.ts'
import type { AnyWire } from './wires/wire.ts'

const MEGABYTE = 1_048_576

/** A paid path. */
export type CallRow = {
  readonly method: 'POST'
  readonly path: string
  /** True adds the same under `/min{N}`. */
  readonly takesFloor: boolean
  readonly bodyLimitBytes: number
  /** What the body is; JSON unless said. */
  readonly takes?: 'form'
  readonly route: CallRoute
}

/** A free path. A path that ends in `*` hands what the star stands for, decoded, to the read under the name beside it. */
export type ReadRow = { readonly path: string; readonly rest?: string; readonly read: Read }

/** Ways to pay, as the composition root made them. */
export type Rails = {
  readonly credit: AnyRail
  /** The same with the key in `x-api-key` or in `Authorization`. */
  readonly creditByEitherHeader: AnyRail
}

/** A free path that takes a body and a key. */
export type LocalRow = {
  readonly method: 'POST'
  readonly path: string
  readonly bodyLimitBytes: number
  readonly route: LocalRoute
}

/** The paid surface: protocol by path, and who may pay how. */
export function callRows({ credit, creditByEitherHeader }: Rails): readonly CallRow[] {
  const chatRoute: CallRoute = { wire: chat, rails: [credit], withoutCredential: 'challenge' }
  const chatLimit = 32 * MEGABYTE
  const sold = (wire: AnyWire): CallRoute => ({ wire, rails: [credit], withoutCredential: 'challenge' })
  return [
    { method: 'POST', path: '/v1/chat/completions', takesFloor: true, bodyLimitBytes: chatLimit, route: chatRoute },
    {
      method: 'POST',
      path: '/api/inference/v1/chat/completions',
      takesFloor: false,
      bodyLimitBytes: chatLimit,
      route: chatRoute,
    },
    {
      method: 'POST',
      path: '/v1/completions',
      takesFloor: true,
      bodyLimitBytes: 8 * MEGABYTE,
      route: sold(completions),
    },
    {
      method: 'POST',
      path: '/api/inference/v1/completions',
      takesFloor: false,
      bodyLimitBytes: 8 * MEGABYTE,
      route: sold(completions),
    },
    { method: 'POST', path: '/v1/responses', takesFloor: true, bodyLimitBytes: chatLimit, route: sold(responses) },
    {
      method: 'POST',
      path: '/v1/embeddings',
      takesFloor: false,
      bodyLimitBytes: 8 * MEGABYTE,
      route: sold(embeddings),
    },
    { method: 'POST', path: '/v1/audio/speech', takesFloor: true, bodyLimitBytes: MEGABYTE, route: sold(speech) },
    {
      method: 'POST',
      path: '/v1/audio/transcriptions',
      takesFloor: true,
      // A file of 25 MB and the fields beside it.
      bodyLimitBytes: 26 * MEGABYTE,
      takes: 'form',
      route: sold(transcriptions),
    },
    {
      method: 'POST',
      path: '/compat/v1/messages',
      takesFloor: true,
      bodyLimitBytes: chatLimit,
      route: { wire: messages, rails: [creditByEitherHeader], withoutCredential: 'reject' },
    },
  ]
}

/** Free calls with a body. */
export function localRows(rails: Rails): readonly LocalRow[] {
  const { creditByEitherHeader } = rails
  const sold = callRows(rails)
  return [
    {
      method: 'POST',
      path: '/v1/route/explain',
      bodyLimitBytes: 32 * MEGABYTE,
      route: {
        rails: [creditByEitherHeader],
        withoutCredential: 'reject',
        envelope: openAiEnvelope,
        answer: (raw, caller) => explainCall(sold, raw, caller),
      },
    },
    {
      method: 'POST',
      path: '/compat/v1/messages/count_tokens',
      bodyLimitBytes: 32 * MEGABYTE,
      route: {
        rails: [creditByEitherHeader],
        withoutCredential: 'reject',
        envelope: messagesEnvelope,
        answer(raw, { plane }) {
          const { model, tokens } = countTokens(raw)
          if (!plane.market().resolve(model)) throw new AppError('unknown_model', { param: 'model' })
          return JSON.stringify({ input_tokens: tokens })
        },
      },
    },
  ]
}

/** The surface of long jobs. */
export function jobRows({ credit }: Rails): readonly JobRow[] {
  return [{ path: '/v1/video/generations', route: { wire: video, rails: [credit] } }]
}

/** The free reads. */
export const READ_ROWS: readonly ReadRow[] = [
  { path: '/v1/models', read: listModels },
  { path: '/v1/models/*', rest: 'id', read: readModel },
  { path: '/compat/v1/models', read: listCompatModels },
  { path: '/compat/v1/models/*', rest: 'id', read: readCompatModel },
  { path: '/api/inference/v1/models', read: listInferenceModels },
  { path: '/v1/providers', read: listProviders },
  { path: '/v1/prices', read: listPrices },
  { path: '/api/inference/v1/prices', read: listPrices },
  { path: '/api/markets', read: listMarkets },
  { path: '/api/markets/feed', read: readTradeFeed },
  {
    path: '/api/markets/*',
    rest: 'model',
    read: (sources, request) => {
      const asked = request.params['model'] ?? ''
      if (!asked.endsWith('/performance')) return readMarket(sources, request)
      return readPerformance(sources, { ...request, params: { model: asked.slice(0, -'/performance'.length) } })
    },
  },
]

/** Paths that the control plane answers, passed on where one address serves both. */
export const CONTROL_PREFIXES: readonly string[] = [
  '/v1/seller',
  '/v1/buyer',
  '/v1/auth',
  '/v1/organizations',
  '/v1/invitations',
  '/v1/audit',
  '/v1/exports',
  '/v1/payments',
  '/graphql',
  '/trpc',
  '/openapi.json',
  '/docs',
  '/llms.txt',
]
