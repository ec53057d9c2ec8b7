import type { Ctx } from '#control-plane/operation/ctx.ts'
import { planRefresh } from './refresh.ts'

/** A price that changes by more than this percentage is logged by name. */
const TOLD_PERCENT = 20
const MOST_TOLD = 20

/**
 * Compares the catalogue with the data of this release, for metrics and the log. A catalogue that was never updated
 * from a release lacks no models.
 */
export async function watchCatalog(ctx: Pick<Ctx, 'db' | 'clock' | 'metrics' | 'log'>): Promise<void> {
  const { report } = await planRefresh(ctx.db, ctx.clock.now(), { overwrite: false, accept: [] })
  const { models, added, changes, moved, waiting } = report
  const own = waiting.filter(({ why }) => why === 'own_prices')
  const isUsed = models > added.length + own.length
  const outdated = new Set([
    ...changes.filter(({ kind }) => isUsed || kind === 'changed').map(({ model }) => model),
    ...moved.filter(({ model }) => isUsed || !added.some((one) => one.model === model)).map(({ model }) => model),
  ])
  const reported = moved.filter(({ model, percent }) => outdated.has(model) && Math.abs(percent ?? 0) > TOLD_PERCENT)
  ctx.metrics.findings('catalog_outdated', outdated.size)
  ctx.metrics.findings('catalog_moved', new Set(reported.map(({ model }) => model)).size)
  if (outdated.size === 0) return
  ctx.log.warn(
    { models: outdated.size, moved: reported.slice(0, MOST_TOLD) },
    'this release knows newer models or prices',
  )
}
