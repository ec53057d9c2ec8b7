import type { FastifyRequest } from 'fastify'
import { marketFields } from '#control-plane/api/market-fields.ts'
import { peerOf } from '#control-plane/api/peer.ts'
import type { HomeHead } from '#control-plane/dashboard/market/home/head.ts'
import { HOME_HEAD_KEY } from '#control-plane/dashboard/market/home/head.ts'
import type { ModelHead } from '#control-plane/dashboard/market/model/model-figures.ts'
import { modelFigures, modelHeadKey } from '#control-plane/dashboard/market/model/model-figures.ts'
import { NOBODY } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { readMarketOfModel } from '#control-plane/services/market/market-book.ts'
import type { Head, PageData } from './head-markup.ts'

/** Longest wait of a document for its head. The page requests the same data anyway. */
const HEAD_MS = 200
const MODEL = '/model/'

/** The part of a screen that its document holds before any request of the page. */
export type EmbeddedData = {
  /** The markup that shows before the script runs; undefined for the home screen, whose markup has no data. */
  readonly head: Head | undefined
  readonly pageData: PageData
}

/**
 * Reads the data that a document holds for its screen, as an anonymous reader sees it. Undefined for a screen without
 * such data, for a record that does not exist, and while the market does not answer in time or at all.
 */
export async function readEmbeddedData(
  ctx: Ctx,
  request: FastifyRequest,
  path: string,
): Promise<EmbeddedData | undefined> {
  if (path === '/') return homeOf(ctx)
  const name = path.startsWith(MODEL) ? decoded(path.slice(MODEL.length)) : undefined
  if (name === undefined) return undefined
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), HEAD_MS)
  })
  // A failure here shows again when the page requests the same data.
  const read = readModel(ctx, request, name).catch(() => undefined)
  return Promise.race([read, late]).finally(() => clearTimeout(timer))
}

function homeOf({ settings }: Pick<Ctx, 'settings'>): EmbeddedData {
  const [apiBaseUrl = ''] = settings.origins
  const home: HomeHead = { apiBaseUrl }
  return { head: undefined, pageData: [[HOME_HEAD_KEY, home]] }
}

async function readModel(ctx: Ctx, request: FastifyRequest, name: string): Promise<EmbeddedData> {
  const market = marketFields(await invoke(ctx, NOBODY, readMarketOfModel, { model: name }, { peer: peerOf(request) }))
  const model = modelHeadOf(market)
  const head = {
    title: model.name,
    about: model.description,
    up: { path: '/models', label: 'All models' },
    figures: modelFigures(model),
  }
  return { head, pageData: [[modelHeadKey(name), model]] }
}

/** The part of a model that its head shows, and no more, because every document holds it. */
function modelHeadOf(market: ReturnType<typeof marketFields>): ModelHead {
  const { name, description, mediaUnit, ttftP50Ms, ttftSamples, tpsP50, tpsSamples, uptimePct, cacheHitRatePct } =
    market
  const { discountTrend: trend } = market
  return {
    name,
    description,
    mediaUnit,
    ttftP50Ms,
    ttftSamples,
    tpsP50,
    tpsSamples,
    uptimePct,
    cacheHitRatePct,
    best: pricesOf(market.best),
    direct: pricesOf(market.direct),
    discountTrend: trend && { direction: trend.direction, currentDiscountPct: trend.currentDiscountPct },
  }
}

function pricesOf({ inputPer1m, outputPer1m, mediaUnitPrice }: ModelHead['best']): ModelHead['best'] {
  return { inputPer1m, outputPer1m, mediaUnitPrice }
}

/** A decoded segment of a path as a name. Undefined for a malformed one. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
