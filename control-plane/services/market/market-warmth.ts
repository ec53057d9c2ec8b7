import { listOfferedModels } from '#control-plane/db/listed-offers.ts'
import { listMarketModels } from '#control-plane/db/market-book.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { MAX_REMEMBERED } from '#control-plane/ports/market-memory/market-memory.ts'
import type { Updates } from '#control-plane/ports/updates/updates.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { modelOfDocument } from '#shared/contract/snapshot.ts'
import { describeCause } from '#shared/errors.ts'
import { viewMarkets } from './market-book.ts'
import type { MarketCtx } from './market-parts.ts'
import { readOffers } from './market-parts.ts'

/** Models in one read. In a large market they have thousands of offers. */
const MODELS_AT_ONCE = 10

/** Rows that are made in advance: those of a first page of any size. */
const FIRST_MODELS = 100

type WarmCtx = MarketCtx & Pick<Ctx, 'log'> & { readonly updates: Updates }

/**
 * Reads the data behind market pages in advance, and again after each announced change. It only makes pages faster,
 * because a page reads missing data itself. Resolves when the data has been read or the reading failed. The returned
 * function ends it.
 */
export async function keepMarketWarm(ctx: WarmCtx): Promise<() => void> {
  const waiting = new Set<string>()
  let isReading = false
  let isOver = false

  /** Reads until no model waits, or until `room` offers have been read. */
  async function readWaiting(room = Number.POSITIVE_INFINITY): Promise<void> {
    if (isReading) return
    isReading = true
    try {
      while (waiting.size > 0 && !isOver) {
        const models = [...waiting].slice(0, MODELS_AT_ONCE)
        for (const model of models) waiting.delete(model)
        for (const offers of (await readOffers(ctx, models)).values()) room -= offers.length
        if (room <= 0) waiting.clear()
      }
    } catch (cause) {
      waiting.clear()
      ctx.log.debug({ cause: describeCause(cause) }, 'pages of the market are read on request')
    } finally {
      isReading = false
    }
  }

  const stopListening = ctx.updates.listen('snapshot', (names) => {
    for (const name of names) {
      const model = modelOfDocument(name)
      if (model !== undefined) waiting.add(model)
    }
    void readWaiting()
  })
  try {
    for (const model of await listOfferedModels(ctx.db)) waiting.add(model)
    await readWaiting(MAX_REMEMBERED)
    const first = await listMarketModels(ctx.db, { limit: FIRST_MODELS })
    await viewMarkets(
      ctx,
      first.map((body) => ModelSchema.parse(body)),
    )
  } catch (cause) {
    ctx.log.warn({ cause: describeCause(cause) }, 'the market could not be read in advance')
  }
  return () => {
    isOver = true
    stopListening()
  }
}
