import type { DueProbe, ProbedOffer } from '#control-plane/db/offer-probes.ts'
import { deleteProbe, listDueProbes, listProbedOffers, updateProbe } from '#control-plane/db/offer-probes.ts'
import { addProbeCost } from '#control-plane/db/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ListedModels, ProviderPlace } from '#control-plane/ports/provider/probe.ts'
import { probeManner, readFactsOf } from '#control-plane/services/providers/model-facts.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { HealthRecord } from '#shared/contract/health-event.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { hasListing } from '#shared/protocols/index.ts'
import { openCredential } from '#shared/seal.ts'
import type { HealthEntry } from './health-log.ts'
import { logHealth } from './health-log.ts'

/** Keys of one turn, each with one probe. The pauses between probes of a working key, and of a failing one. */
const PROBES_A_TURN = 10
const EVERY_MS = 30 * MINUTE
const AGAIN_MS = 2 * MINUTE
/** Fraction of the pause by which probes vary, so that keys that were saved together are probed apart. */
const SPREAD = 0.25
/**
 * Probes in a row without a useful answer (no connection, or a status from 500) before the offers are backed off. A
 * refused key counts at once.
 */
const MAX_UNREACHED = 3
/** Most offers that one key's probe concerns. */
const MAX_OFFERS = 500
/** Most models of one key that a turn probes. */
const MAX_ASKED = 5
const BACK_OFF_STEP_MS = 30 * SECOND
const MAX_BACK_OFF_MS = 10 * MINUTE

type ProbeCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'log' | 'listModels' | 'probe' | 'liveOffers' | 'settings'>

/**
 * Probes saved keys that are due by reading the provider's list of models. The list is free and uses no seller's cap or
 * money. A refused key backs its offers off and writes to their log. A working key returns offers to the rotation when
 * the list disproves the cause of their back-off. For a protocol without a list, only the models of offers that are
 * backed off are probed. Returns the number of probed keys.
 */
export async function probeOffers(ctx: ProbeCtx, random: () => number = Math.random): Promise<number> {
  const due = await listDueProbes(ctx.db, ctx.clock.now(), PROBES_A_TURN)
  for (const probe of due) {
    await probeKey(ctx, probe, random).catch((error: unknown) =>
      ctx.log.warn({ err: error, credential: probe.credentialId }, 'a key could not be tried'),
    )
  }
  return due.length
}

async function probeKey(ctx: ProbeCtx, probe: DueProbe, random: () => number): Promise<void> {
  const { credentialId, baseUrl } = probe
  const offers = await listProbedOffers(ctx.db, { credentialId, baseUrl }, MAX_OFFERS)
  const [first] = offers
  // No offer uses this key at this address, so its probes end until an offer does again.
  if (first === undefined) return deleteProbe(ctx.db, { credentialId, baseUrl })
  const apiKey = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(probe.sealed))
  const place = { baseUrl: new URL(baseUrl), apiFormat: first.apiFormat, apiKey }
  const models = hasListing(first) ? await ctx.listModels(place) : await askModels(ctx, offers, place)
  const isRefused = !models.isAccepted && (models.status === 401 || models.status === 403)
  const isUnreached = !models.isAccepted && (models.status === null || models.status >= 500)
  const failures = isUnreached ? probe.failures + 1 : 0
  if (!models.isAccepted) {
    if (isRefused || failures >= MAX_UNREACHED) await holdAgainst(ctx, offers, models)
  } else if (hasListing(first) || models.models.size > 0) await heal(ctx, offers, models)
  const at = ctx.clock.now()
  const pauseMs = isRefused || isUnreached ? AGAIN_MS : EVERY_MS
  const nextAt = at + Math.round(pauseMs * (1 + SPREAD * (2 * random() - 1)))
  await updateProbe(ctx.db, { credentialId, baseUrl, nextAt, failures, at })
}

/**
 * Probes the models of offers that an answer would return to the rotation, at one token each, until the key is refused.
 * Returns the models that answered, in the form of a list.
 */
async function askModels(ctx: ProbeCtx, offers: readonly ProbedOffer[], place: ProviderPlace): Promise<ListedModels> {
  const records = await ctx.liveOffers.health(offers.map(({ id }) => id))
  const models = new Set<string>()
  let latencyMs = 0
  for (const { id, model, providerModel } of offers
    .filter(({ id }) => isHealable(records.get(id)))
    .slice(0, MAX_ASKED)) {
    const facts = await readFactsOf(ctx, model)
    const { endpoint } = probeManner(facts)
    const result = await ctx.probe({ ...place, providerModel, endpoint, asksModel: 'any' })
    if (result.isAccepted) {
      models.add(providerModel)
      latencyMs = result.latencyMs
      await addProbeCost(ctx.db, id, facts.priceOf(result.usage))
    } else if (result.isOfKey === true || result.status === null || result.status >= 500) return result
  }
  return { isAccepted: true, latencyMs, models }
}

/** True for an offer whose back-off a working key may disprove. */
function isHealable(record: HealthRecord | undefined): boolean {
  if (record === undefined || record.backedOffUntil === null) return false
  return ['not_found', 'credential_rejected', 'unreachable'].includes(record.errorClass ?? '')
}

type Accepted = Extract<ListedModels, { isAccepted: true }>
type Refused = Exclude<ListedModels, Accepted>

/** Returns offers to the rotation when a list disproves their failure. */
async function heal(ctx: ProbeCtx, offers: readonly ProbedOffer[], { models }: Accepted): Promise<void> {
  const records = await ctx.liveOffers.health(offers.map(({ id }) => id))
  const healed = offers.filter((offer) => {
    const record = records.get(offer.id)
    return isHealable(record) && (record?.errorClass !== 'not_found' || models.has(offer.providerModel))
  })
  await ctx.liveOffers.reset(healed.map(({ id }) => id))
  await logHealth(
    ctx,
    healed.map(({ id, model }) => ({
      offer: id,
      model,
      action: 'recovered',
      detail: 'a probe found the provider working',
    })),
  )
}

/** Backs off the offers that are not backed off yet, and logs the reason. */
async function holdAgainst(ctx: ProbeCtx, offers: readonly ProbedOffer[], refusal: Refused): Promise<void> {
  const now = ctx.clock.now()
  const errorClass = refusal.status === 401 || refusal.status === 403 ? 'credential_rejected' : 'unreachable'
  const healthOf = await ctx.liveOffers.health(offers.map(({ id }) => id))
  const records = new Map<string, HealthRecord>()
  const entries: HealthEntry[] = []
  for (const { id, model } of offers) {
    const before = healthOf.get(id)
    if (before?.backedOffUntil != null && before.backedOffUntil > now) continue
    const ejections = (before?.ejections ?? 0) + 1
    const backedOffUntil = now + Math.min(BACK_OFF_STEP_MS * ejections, MAX_BACK_OFF_MS)
    const consecutiveFailures = (before?.consecutiveFailures ?? 0) + 1
    records.set(id, { consecutiveFailures, ejections, backedOffUntil, errorClass })
    const cause = { errorClass, statusCode: refusal.status, detail: `a probe: ${refusal.reason}` } as const
    entries.push({ offer: id, model, action: 'backed_off', backedOffUntil, ...cause })
  }
  await ctx.liveOffers.setHealth(records)
  await logHealth(ctx, entries)
}
