import type { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import type { PublishedLentOffer } from '#control-plane/db/lent-offers.ts'
import { listPublishedLentOffers } from '#control-plane/db/lent-offers.ts'
import { areFiguresSummed } from '#control-plane/db/market-figures.ts'
import { listResources } from '#control-plane/db/resources.ts'
import { sumSoldOfMarket } from '#control-plane/db/sold-resources.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { readRecord } from '#control-plane/services/catalog/resources.ts'
import { DAY, HOUR, periodStart } from '#shared/clock.ts'
import type { LentOfferSchema } from '#shared/contract/lent-offers.ts'
import { JOB_BINDING_MS } from '#shared/contract/lent-offers.ts'
import type { ResourcesDocumentSchema, SoldDocumentSchema, SoldRowSchema } from '#shared/contract/snapshot.ts'
import { claimedTraits } from './claimed-traits.ts'

const FIGURES_MS = 7 * DAY

export async function buildResources(trx: Trx): Promise<z.input<typeof ResourcesDocumentSchema>> {
  const resources = await listResources(trx)
  return { resources: resources.map((row) => ({ version: row.version, record: readRecord(row) })) }
}

/** The document of a resource's lent keys, as JSON. Sealed keys are copied from the database as they are. */
export async function buildLent(
  { sellerAlias, clock }: Pick<Ctx, 'sellerAlias' | 'clock'>,
  trx: Trx,
  resource: string,
): Promise<string> {
  const offers = await listPublishedLentOffers(trx, resource, clock.now() - JOB_BINDING_MS)
  const write = (isActive: boolean) =>
    offers
      .filter(({ status }) => (status === 'active') === isActive)
      .map((offer) => writeLentOffer(resource, offer, sellerAlias(offer.sellerAccount)))
  return `{"resource":${JSON.stringify(resource)},"offers":[${write(true)}],"retired":[${write(false)}]}`
}

function writeLentOffer(resource: string, offer: PublishedLentOffer, alias: string): string {
  const { id, sellerAccount, keptBps, capDailyMicro, ratePerMinute, buyerSharePct, createdAt } = offer
  const { models, methods, paths } = offer
  const row = {
    id,
    resource,
    sellerAccount,
    sellerAlias: alias,
    keptBps,
    capDailyMicro,
    scope: { models, methods, paths },
    ratePerMinute,
    buyerSharePct,
    createdAt,
    traits: claimedTraits(offer),
  } satisfies Omit<z.input<typeof LentOfferSchema>, 'credential' | 'scope'> & { readonly scope: object }
  return `${JSON.stringify(row).slice(0, -1)},"credential":${offer.sealed}}`
}

/**
 * Sales of each resource, for the published document. The next document follows the next sums of the market, so sales
 * are unknown while the sums are late.
 */
export async function buildSold(trx: Trx, now: number): Promise<z.input<typeof SoldDocumentSchema>> {
  const isSummed = await areFiguresSummed(trx, 'hour', { from: periodStart(now, FIGURES_MS), to: now + HOUR })
  return { rows: isSummed ? await readSold(trx, now) : null }
}

/** Sales of each resource as the ledger has them now. */
export async function readSold(db: Database | Trx, now: number): Promise<z.input<typeof SoldRowSchema>[]> {
  const rows = await sumSoldOfMarket(db, periodStart(now, FIGURES_MS), periodStart(now, DAY))
  return rows.map(({ name, ...sums }) => ({
    name,
    calls24h: Number(sums.calls24h),
    volume24hMicro: sums.charge24h.toString(),
    list24hMicro: sums.listCost24h.toString(),
    calls7d: Number(sums.calls),
    volume7dMicro: sums.charge.toString(),
    list7dMicro: sums.listCost.toString(),
  }))
}
