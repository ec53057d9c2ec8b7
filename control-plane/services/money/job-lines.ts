import type { Job, JobPlace } from '#control-plane/db/jobs.ts'
import { listJobPlaces } from '#control-plane/db/jobs.ts'
import { findCarriedCalls } from '#control-plane/db/payment-views.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { JobProbe } from '#control-plane/ports/provider/job-probe.ts'
import { SILENT } from '#control-plane/ports/provider/job-probe.ts'
import { checkBaseUrl } from '#control-plane/services/providers/base-url.ts'
import type { JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { isJobKind } from '#shared/protocols/job-codec.ts'
import { openCredential } from '#shared/seal.ts'
import type { AttendCtx, Line } from './attend-job.ts'
import { lentLinesOf } from './lent-job-lines.ts'

export type LineCtx = AttendCtx & Pick<Ctx, 'db' | 'settings' | 'log' | 'askLent'> & { readonly askJob: JobProbe }

/** The address, protocol and sealed key of a job's provider. */
export type Place = Pick<JobPlace, 'baseUrl' | 'apiFormat' | 'sealed'>

/**
 * The ways to ask about jobs, in their order. A seller's provider is asked with the key that the offer stands on now; a
 * buyer's own with the key that submitted the job.
 */
export async function linesOf(
  ctx: LineCtx,
  jobs: readonly Job[],
  kept: readonly (StoredJob | undefined)[],
): Promise<Line[]> {
  const places = await placesOf(ctx, jobs)
  const urls = checkedOnce(ctx)
  // Of a forwarded job no record is kept, so the events of the others need not be read.
  const unrecorded = jobs.filter((_job, index) => kept[index] === undefined)
  const [lent, payments] = await Promise.all([
    lentLinesOf(ctx, unrecorded),
    findCarriedCalls(
      ctx.db,
      unrecorded.map(({ rid }) => rid),
    ),
  ])
  return jobs.map((job, index) => {
    const line = lent.get(job.rid)
    if (line !== undefined) return line
    const own = job.offer === null ? kept[index]?.job : undefined
    const place = job.offer === null ? own && { ...own, sealed: own.credential } : places.get(job.offer)
    const record = place !== undefined && kept[index] === undefined ? recordOf(job, place) : undefined
    const kind = kept[index]?.job.wire ?? readUsageEvent(job.event)?.wire ?? ''
    const isWithheld = payments.get(job.rid)?.state === 'written_off'
    return { record, isWithheld, ask: (isCancel = false) => ask({ ...ctx, urls }, job, { kind, place, isCancel }) }
  })
}

/** The providers' addresses and keys of jobs, by offer. */
export async function placesOf({ db }: Pick<LineCtx, 'db'>, jobs: readonly Job[]): Promise<ReadonlyMap<string, Place>> {
  const offers = new Set(jobs.flatMap(({ offer }) => offer ?? []))
  return new Map((await listJobPlaces(db, [...offers])).map((place) => [place.offer, place]))
}

type Urls = (text: string) => Promise<URL>

/** Checks each base URL against the allow-list once. */
function checkedOnce(ctx: LineCtx): Urls {
  const checked = new Map<string, Promise<URL>>()
  return (text) => {
    const known = checked.get(text) ?? checkBaseUrl(ctx, text).then(({ url }) => url)
    checked.set(text, known)
    return known
  }
}

type AskCtx = LineCtx & { readonly urls: Urls }

type Question = { readonly kind: string; readonly place: Place | undefined; readonly isCancel: boolean }

/** Asks the provider. A job whose provider nobody can ask any more is met with silence until its deadline. */
async function ask(ctx: AskCtx, { rid, providerJob }: Job, { kind, place, isCancel }: Question) {
  try {
    if (place === undefined || !isJobKind(kind)) return SILENT
    const baseUrl = await ctx.urls(place.baseUrl)
    const apiKey = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(place.sealed))
    return await ctx.askJob({ kind, providerJob, place: { baseUrl, apiFormat: place.apiFormat, apiKey }, isCancel })
  } catch (error) {
    ctx.log.warn({ err: error, rid }, 'the provider of a job could not be asked')
    return SILENT
  }
}

/** Makes the record of a job again, from its submit. Undefined for a submit that does not say enough. */
export function recordOf({ rid, event: text, providerJob }: Job, place: Place): JobRecordText | undefined {
  const event = readUsageEvent(text)
  const credential = SealedCredentialSchema.safeParse(place.sealed)
  const { job: terms } = event ?? {}
  if (event === undefined || terms?.unitPrices === undefined || terms.bound === undefined || !credential.success) {
    return undefined
  }
  const { account, keyId, wallet, rail, payment, wire, endpoint, model, requestedModel, offer, sellerAccount } = event
  return {
    v: 1,
    ...{ rid, account, keyId, rail, wire, endpoint, model, requestedModel, offer, sellerAccount, providerJob },
    wallet: wallet ?? null,
    payment: payment ?? null,
    servedBy: event.servedBy ?? 'marketplace',
    provider: event.provider ?? '',
    baseUrl: place.baseUrl,
    apiFormat: place.apiFormat,
    credential: credential.data,
    priceVersion: event.priceVersion,
    unitPrices: writeUnitPrices(terms.unitPrices),
    keptBps: Number(event.keptBps),
    feeBps: Number(event.feeBps),
    quoteMicro: event.holdMicro.toString(),
    bound: { ...terms.bound },
    attempts: event.attempts,
    createdAt: event.startedAt,
    deadlineAt: terms.deadlineAt,
  }
}
