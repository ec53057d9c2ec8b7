import type { MarketOffer, ModelPlan } from '#data-plane/call.ts'
import { checkCapability } from '#data-plane/pipeline/plan/check-capability.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { images } from '#data-plane/wires/images/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { music } from '#data-plane/wires/music/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { speech } from '#data-plane/wires/speech/index.ts'
import { transcriptions } from '#data-plane/wires/transcriptions/index.ts'
import { video } from '#data-plane/wires/video/index.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { picoUsd } from '#shared/money.ts'
import type { PriceOverride } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import {
  buildModel,
  buildOffer,
  buildPayer,
  buildPlan,
  buildRaw,
  buildTarget,
  buildTestMarket,
  NO_RATES,
} from './build-market.ts'

export const MESSAGES = [{ role: 'user', content: 'Say hello.' }]
const ASKS = {
  chat: { messages: MESSAGES },
  completions: { prompt: 'a', logprobs: 1 },
  embeddings: { input: 'a' },
  speech: { input: 'Hello.', voice: 'alloy' },
  transcriptions: {},
  images: { prompt: 'A boat.' },
  video: { prompt: 'A boat.' },
  music: { prompt: 'A song.' },
  messages: { messages: MESSAGES, max_tokens: 5 },
  responses: { input: 'Say hello.' },
} as const
export type Kind = keyof typeof ASKS
const WIRES = { chat, completions, embeddings, speech, transcriptions, images, messages, responses }
const JOBS = { video, music }

/** Prices of tokens, and of pictures by the piece. */
export const TOKENS: UnitPrices = {
  input: picoUsd(4_000_000n),
  output: picoUsd(20_000_000n),
  cacheRead: picoUsd(200_000n),
}
export const PIECES: UnitPrices = { images: picoUsd(40_000_000_000n) }

/** The model, its prices and its only seller. */
export type Setting = {
  readonly prices?: UnitPrices
  readonly overrides?: readonly PriceOverride[]
  readonly parameters?: readonly string[]
  readonly apiFormat?: ProtocolName
  readonly offer?: Partial<OfferRow>
}

function rawOf(kind: Kind, members: object) {
  const body = { model: 'gpt-5-mini', ...ASKS[kind], ...members }
  if (kind !== 'transcriptions') return buildRaw(JSON.stringify(body))
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) form.set(name, String(value))
  const head = '--b\r\ncontent-disposition: form-data; name='
  const fields = [...form].map(([name, value]) => `${head}"${name}"\r\n\r\n${String(value)}\r\n`).join('')
  const file = `${head}"file"; filename="a.mp3"\r\ncontent-type: audio/mpeg\r\n\r\nabc\r\n--b--\r\n`
  return buildRaw(fields + file, { 'content-type': 'multipart/form-data; boundary=b' })
}

/** The request that a seller receives, or the refusal of the call. */
export function sent(
  kind: Kind,
  members: object,
  { prices = TOKENS, overrides, parameters = [], apiFormat, offer }: Setting = {},
) {
  const usual: ProtocolName =
    kind === 'messages' ? 'messages' : kind === 'video' || kind === 'music' ? 'falqueue' : 'openai'
  const model: Model = buildModel({ parameters: [...parameters], endpoints: [...ENDPOINTS], features: ['streaming'] })
  const price = { version: 'test', unitPrices: prices, overrides }
  const sold = buildOffer({ apiFormat: apiFormat ?? usual, ...offer })
  const market = buildTestMarket([sold], model)
  const priced = { ...market, prices: new Map([[model.id, { ...price, effectiveAt: 0, source: 'test' }]]) }
  const raw = rawOf(kind, members)
  const target = { ...buildTarget(model), price }
  try {
    const call = readKind(kind, raw)
    const choice = readChoice(priced, call.demand, buildPayer())
    const ports = {
      market: priced,
      health: { isAllWell: () => true, blockedUntil: () => 0 },
      caps: createSpentCaps(),
      rates: NO_RATES,
      now: 0,
    }
    checkCapability(target, call.demand)
    const [chosen] = selectOffers(ports, target, choice).candidates
    return encoded(call, chosen as MarketOffer, target)
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.param}`
    throw error
  }
}

/** The demand of a call. */
export function demandOf(kind: Kind, members: object) {
  return readKind(kind, rawOf(kind, members)).demand
}

function readKind(kind: Kind, raw: ReturnType<typeof rawOf>) {
  return kind === 'video' || kind === 'music' ? JOBS[kind].read(raw) : WIRES[kind].read(raw)
}

type Call = ReturnType<(typeof WIRES)[keyof typeof WIRES]['read']> | ReturnType<typeof video.read>

function encoded(call: Call, offer: MarketOffer, target: ModelPlan['target']) {
  const plan = buildPlan({ offer, target })
  const { body, adaptedParams, ...rest } = 'asked' in call ? call.encode(offer, target) : call.encode(plan)
  const pieces = 'pieces' in rest && rest.pieces !== undefined ? [...rest.pieces] : []
  return { body: body === '' ? Buffer.concat(pieces).toString() : body, adaptedParams }
}
