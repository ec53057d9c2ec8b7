import { z } from 'zod'
import type { LentPlaceInBook, StoredLentLine } from '#control-plane/db/lent-market.ts'
import { listLentBook } from '#control-plane/db/lent-market.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import type { SignedPage } from '#control-plane/services/page.ts'
import { PageToken, signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { Count, WholeMicro } from '#control-plane/services/view-fields.ts'
import { GoodId, RESOURCE_METHODS, TRAIT_PROVENANCES, TraitName } from '#shared/catalog/resources.ts'
import { LentScopeSchema } from '#shared/contract/lent-offers.ts'
import { keptToPercent, percentToKept } from '#shared/discount.ts'
import { keptBps, microUsd, subtractToZero, ZERO } from '#shared/money.ts'
import type { RequestedCall } from '#shared/resources/why-not-served.ts'
import { MAX_REQUIRED_TRAITS, WHY_NOT, whyNotServed } from '#shared/resources/why-not-served.ts'
import { isPlainPath } from '#shared/rules/path-pattern.ts'
import { oneLine } from '#shared/texts.ts'
import { claimedTraits } from './claimed-traits.ts'
import { ResourceName } from './input.ts'
import { requireOpenResource } from './resource-market.ts'

const MAX_PATH_CHARS = 300

/** A lent key in the public book. No member identifies the lender. */
export const ResourceBookLineSchema = z.object({
  id: z.string(),
  rank: Count,
  discountPct: z.number(),
  canServe: z.boolean(),
  /** The first reason why it cannot serve the call. */
  whyNot: z.enum(WHY_NOT).nullable(),
  healthy: z.boolean(),
  capDailyMicro: WholeMicro.nullable(),
  capRemainingMicro: WholeMicro.nullable(),
  ratePerMinute: z.number().nullable(),
  buyerSharePct: z.number().nullable(),
  models: z.array(z.string()).readonly().nullable(),
  methods: z.array(z.string()).readonly().nullable(),
  paths: z.array(z.string()).readonly().nullable(),
  traits: z.array(z.object({ name: z.string(), provenance: z.enum(TRAIT_PROVENANCES) })).readonly(),
})
export type ResourceBookLine = z.infer<typeof ResourceBookLineSchema>

/**
 * Lists the lent keys of a resource, best discount first, each with whether it can serve the described call. Public.
 * Throws `not_found`.
 */
export const readResourceBook = defineOperation({
  name: 'resource.book',
  summary: 'List the lent keys of a resource, best discount first',
  about: 'Each line says whether the key can serve the call that you describe.',
  access: 'public',
  input: z.strictObject({
    id: ResourceName,
    model: GoodId.optional(),
    method: z.enum(RESOURCE_METHODS).optional(),
    path: oneLine(MAX_PATH_CHARS).refine(isPlainPath, 'the path must be a plain path at the provider').optional(),
    require: z.array(TraitName).max(MAX_REQUIRED_TRAITS).default([]),
    minDiscountPct: z.number().int().min(0).max(100).optional(),
    maxItems: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: signedPageSchema(ResourceBookLineSchema),
  run: async (ctx, _actor, input): Promise<SignedPage<ResourceBookLine>> => {
    const { id, model: good, method, path, require: traits, minDiscountPct: floorPercent, maxItems, nextToken } = input
    await requireOpenResource(ctx, id)
    const scope = { list: 'resource-book', tenant: 'public', filters: [id] }
    const after = nextToken === undefined ? undefined : placeOf(readCursor(ctx, scope, nextToken))
    const rows = await listLentBook(ctx.db, id, after, maxItems + 1)
    const requestedCall = { good, method, path, traits, floorPercent }
    const lines = await viewLines(ctx, rows, { requestedCall, firstRank: (after?.rank ?? 0) + 1 })
    const cursorOf = (line: ResourceBookLine) =>
      signCursor(ctx, scope, `${line.rank}.${percentToKept(line.discountPct)}.${line.id}`)
    return signedPageOf(lines, maxItems, (line) => line, cursorOf)
  },
})

type Place = LentPlaceInBook & { readonly rank: number }

function placeOf(position: string): Place {
  const [rank = '', keptText = '', id = ''] = position.split('.')
  return { rank: Number(rank), keptBps: Number(keptText), id }
}

type Asking = { readonly requestedCall: RequestedCall; readonly firstRank: number }

async function viewLines(
  ctx: Pick<Ctx, 'clock' | 'liveOffers'>,
  rows: readonly StoredLentLine[],
  { requestedCall, firstRank }: Asking,
): Promise<ResourceBookLine[]> {
  const capped = rows.filter(({ capDailyMicro }) => capDailyMicro !== null)
  const [health, usedMicro] = await Promise.all([
    ctx.liveOffers.health(rows.map(({ id }) => id)),
    ctx.liveOffers.capTaken(capped.map(({ id }) => id)),
  ])
  const now = ctx.clock.now()
  return rows.map((row, at) => {
    const { id, models, methods, paths, ratePerMinute, buyerSharePct } = row
    const kept = keptBps(row.keptBps)
    const isHealthy = (health.get(id)?.backedOffUntil ?? 0) <= now
    const cap = row.capDailyMicro === null ? null : microUsd(row.capDailyMicro)
    const left = cap === null ? null : subtractToZero(cap, microUsd(usedMicro.get(id) ?? 0n))
    const traits = claimedTraits(row)
    const terms = { traits, keptBps: kept, scope: LentScopeSchema.parse({ models, methods, paths }) }
    const whyNot = whyNotServed(terms, requestedCall, { isHealthy, isSpent: left === ZERO })
    return {
      id,
      rank: firstRank + at,
      discountPct: keptToPercent(kept),
      canServe: whyNot === null,
      whyNot,
      healthy: isHealthy,
      ratePerMinute,
      buyerSharePct,
      models,
      methods,
      paths,
      traits,
      capDailyMicro: cap === null ? null : Number(cap),
      capRemainingMicro: left === null ? null : Number(left),
    }
  })
}
