import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { orUnavailable } from '#control-plane/operation/or-unavailable.ts'
import { parseInput } from '#control-plane/operation/parse-input.ts'
import type { ListedModels } from '#control-plane/ports/provider/probe.ts'
import { createLineFeed, endLinesAfter } from '#control-plane/services/exports/line-feed.ts'
import { Dollars, Label, ModelName, PayoutWallet } from '#control-plane/services/input-fields.ts'
import type { CheckedBaseUrl } from '#control-plane/services/providers/base-url.ts'
import type { ModelFacts } from '#control-plane/services/providers/model-facts.ts'
import { readModelFacts } from '#control-plane/services/providers/model-facts.ts'
import { shownCost } from '#control-plane/services/providers/probe-cost.ts'
import type { ChosenKey } from '#control-plane/services/providers/provider-key.ts'
import { choosePlace, PlaceInput, probeFailed } from '#control-plane/services/providers/provider-key.ts'
import { linesOf } from '#control-plane/services/view-fields.ts'
import { AppError, toAppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { oneLine } from '#shared/texts.ts'
import { Passes, Pricing, readPricing } from './input.ts'
import type { ProbedListing } from './probe-listing.ts'
import { listingRefused, PROBE_FIELDS, probeListing } from './probe-listing.ts'
import type { TokenCtx } from './renew-tokens.ts'
import { makeFirstToken } from './renew-tokens.ts'
import { requireEndpoint } from './require-endpoint.ts'
import type { StoreCtx } from './store-offer.ts'
import { refuseTwin, storeNewOffer } from './store-offer.ts'

/** Most rows of one request, and rows in progress at once. */
const MAX_ROWS = 200
const ROWS_AT_ONCE = 4
/**
 * Up to this many models are published before the last line is sent. The models of a longer request follow within
 * seconds.
 */
const MAX_WAITED_FOR = 8

/** A row of a bulk listing. */
export const BulkRow = z.strictObject({
  model: ModelName,
  ...Pricing,
  capDailyUsd: Dollars.nullish(),
  passes: Passes.nullish(),
  label: Label.nullish(),
  payoutAddress: PayoutWallet.nullish(),
  providerModel: ModelName.optional(),
})
const RowName = z.object({ model: oneLine(160) })

export const BulkLineSchema = z
  .discriminatedUnion('status', [
    z.object({
      model: z.string(),
      status: z.literal('created'),
      offerId: z.string(),
      ...PROBE_FIELDS,
    }),
    z.object({ model: z.string(), status: z.literal('error'), error: z.string(), code: z.string() }),
  ])
  .meta({
    id: 'BulkLine',
    description: 'A line of the answer to a bulk listing: the offer that was created, or the reason why none was.',
  })
/** The result of one row. */
export type BulkLine = z.infer<typeof BulkLineSchema>

/**
 * `lines` yields each row's result as it is ready, `done` resolves to all of them. `done` never rejects. The work
 * continues without a reader.
 */
const BulkRunSchema = z.object({
  lines: linesOf(BulkLineSchema),
  done: z.custom<Promise<readonly BulkLine[]>>((value) => value instanceof Promise),
})
export type BulkRun = z.infer<typeof BulkRunSchema>

/**
 * Lists up to 200 models of one provider with one key. The provider is asked once for its list. A refused key fails the
 * whole request, and every other problem fails its own row. For a protocol without a list each model is asked instead.
 * Throws `invalid_base_url`, `provider_probe_failed`, `not_found`.
 */
export const bulkCreateOffers = defineOperation({
  name: 'offer.bulk-create',
  summary: 'Create offers for many models',
  about: 'Up to 200 rows. The answer has a line for each row as soon as the row is done.',
  example: {
    apiKey: 'sk-example-provider-key',
    sellerBaseUrl: 'https://api.example.com/v1',
    offers: [{ model: 'gpt-5-nano', discount: 15 }],
  },
  access: 'seller',
  input: z.strictObject({
    ...PlaceInput,
    payoutAddress: PayoutWallet.nullish(),
    label: Label.nullish(),
    offers: z.array(z.unknown()).min(1).max(MAX_ROWS),
  }),
  limit: 'probe',
  idempotency: 'accepted',
  output: BulkRunSchema,
  stored: z.array(BulkLineSchema).transform(asRun),
  endAfter: (run, last) => {
    const finished = run.done.then(async (lines) => {
      await last(lines)
      return lines
    })
    return { lines: endLinesAfter(run.lines, finished), done: finished }
  },
  run: async (ctx, actor, input): Promise<BulkRun> => {
    const { base, key } = await choosePlace(ctx, actor.account, input)
    const { apiFormat, payoutAddress = null, label = null } = input
    const models = await ctx.listModels({ baseUrl: base.url, apiFormat, apiKey: key.secret })
    if (!models.isAccepted && (models.status === 401 || models.status === 403)) throw probeFailed(base, models)
    return startRun(ctx, input.offers, {
      seller: actor.account,
      base,
      key,
      listed: models,
      factsOf: await readModelFacts(
        ctx,
        input.offers.flatMap((raw) => RowName.safeParse(raw).data?.model ?? []),
      ),
      common: { apiFormat, payoutAddress, label },
    })
  },
})

type Bulk = {
  readonly seller: AccountId
  readonly base: CheckedBaseUrl
  readonly key: ChosenKey
  readonly listed: ListedModels
  /** The facts of each model that a row names. */
  readonly factsOf: (name: string) => ModelFacts
  readonly common: {
    readonly apiFormat: ProtocolName
    readonly payoutAddress: string | null
    readonly label: string | null
  }
}

/** Turns a stored run into an answer. */
function asRun(lines: readonly BulkLine[]): BulkRun {
  const feed = createLineFeed<BulkLine>()
  for (const line of lines) feed.push(line)
  feed.end()
  return { lines: feed.lines, done: Promise.resolve(lines) }
}

/** The models of the created offers, and the refusal of the key once a provider gave one. */
type Course = { readonly models: Set<string>; keyRefusal: AppError | undefined }

type RowCtx = StoreCtx & Pick<RunCtx, 'probe'>

function startRun(ctx: RowCtx & TokenCtx, rows: readonly unknown[], bulk: Bulk): BulkRun {
  const feed = createLineFeed<BulkLine>()
  const lines: BulkLine[] = []
  const models = new Set<string>()
  const course: Course = { models, keyRefusal: undefined }
  const work = inParallel(rows, ROWS_AT_ONCE, async (raw) => {
    const create = () => createRow(ctx, raw, bulk, course)
    const line = await orUnavailable(create).catch((thrown: unknown) => refusedLine(ctx, raw, thrown))
    lines.push(line)
    feed.push(line)
  })
  const finished = work
    .then(async () => {
      await makeFirstToken(ctx, bulk.seller, bulk.common, bulk.key)
      const published = ctx.publication.publishOffers([...models])
      // A publication writes all offers of a model. With many models the request does not wait for their publication.
      if (models.size <= MAX_WAITED_FOR) await published
    })
    .then(feed.end, feed.fail)
    .then(() => lines)
  return { lines: feed.lines, done: finished }
}

async function createRow(ctx: RowCtx, raw: unknown, bulk: Bulk, course: Course): Promise<BulkLine> {
  const row = parseInput(BulkRow, raw)
  const pricing = readPricing(row)
  if (pricing === undefined) {
    throw new AppError('invalid_request', { message: 'Add a discount or a cost_multiplier.' })
  }
  const facts = bulk.factsOf(row.model)
  if (facts.model === undefined) throw new AppError('unknown_model')
  const { id: model } = facts.model
  const providerModel = row.providerModel ?? row.model
  const { base, key, common } = bulk
  requireEndpoint({ provider: base.provider, apiFormat: common.apiFormat }, facts.model)
  await refuseTwin(ctx, bulk.seller, { fingerprint: key.fingerprint, baseUrl: base.text, model })
  const { apiFormat, probes, cost, without } = await servedAs(ctx, bulk, course, { facts, providerModel })
  const newOffer = {
    model,
    base,
    key,
    providerModel,
    ...pricing,
    apiFormat,
    without,
    probeCostMicro: cost,
    capDailyMicro: row.capDailyUsd ?? null,
    passes: row.passes ?? [],
    payoutAddress: row.payoutAddress ?? common.payoutAddress,
    label: row.label ?? common.label,
  }
  const line = { model, ...pricing, keptBps: Number(pricing.keptBps) }
  const { id: offerId } = await storeNewOffer(ctx, bulk.seller, newOffer, () => line)
  course.models.add(model)
  return { model: row.model, status: 'created', offerId, probeCostUsd: shownCost(cost), probes }
}

/**
 * Asks for each model with the cheapest request, because a list does not show the credit behind a key. A model that the
 * list names is accepted without an answer when its provider limits the rate of requests. A refusal of the key ends the
 * probes.
 */
async function servedAs(
  ctx: Pick<Ctx, 'clock' | 'probe'>,
  { listed, base, key, common }: Bulk,
  course: Course,
  { facts, providerModel }: { readonly facts: ModelFacts; readonly providerModel: string },
): Promise<ProbedListing> {
  if (course.keyRefusal !== undefined) throw course.keyRefusal
  const place = { baseUrl: base.url, apiFormat: common.apiFormat, apiKey: key.secret, provider: base.provider }
  const probed = await probeListing(ctx, { ...place, facts, providerModel, asksModel: 'text' })
  const { refusal } = probed
  if (refusal === undefined) return probed
  const isListed = listed.isAccepted && listed.models.has(providerModel)
  if (refusal.status === 429 && refusal.isRate === true && isListed) return probed
  const error = listingRefused(base, probed, refusal)
  if (refusal.isOfKey === true) course.keyRefusal = error
  throw error
}

function refusedLine(ctx: Pick<Ctx, 'log'>, raw: unknown, thrown: unknown): BulkLine {
  const error = toAppError(thrown)
  if (error.code === 'internal_error') ctx.log.error({ err: error }, 'a row of a bulk creation failed')
  const model = RowName.safeParse(raw).data?.model ?? ''
  const hint = error.code === 'duplicate_offer_for_credential' ? `${error.code}: ` : ''
  return { model, status: 'error', error: hint + error.message, code: error.code }
}
