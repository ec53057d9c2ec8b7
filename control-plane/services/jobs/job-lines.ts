import type { Job, JobPlace, OwnPlace } from '#control-plane/db/jobs.ts'
import { listJobPlaces, listOwnPlaces } from '#control-plane/db/jobs.ts'
import { findCarriedCalls } from '#control-plane/db/payment-views.ts'
import type { JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import { KEYLESS, SILENT } from '#control-plane/ports/provider/job-probe.ts'
import { checkBaseUrl } from '#control-plane/services/providers/base-url.ts'
import type { JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import { isAskable } from '#shared/contract/job-record.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { isJobKind } from '#shared/protocols/job-codec.ts'
import { openCredential } from '#shared/seal.ts'
import type { JobLine } from './attend-job.ts'
import type { JobLineCtx } from './lent-job-lines.ts'
import { lentLinesOf } from './lent-job-lines.ts'

/** The address, protocol and sealed key of a job's provider. */
export type JobProvider = Pick<JobPlace, 'baseUrl' | 'apiFormat' | 'sealed'>

/**
 * The ways to poll jobs, in the order of the jobs. A seller's provider is polled with the offer's present key; a
 * buyer's own provider with the key that submitted the job.
 */
export async function linesOf(
  ctx: JobLineCtx,
  jobs: readonly Job[],
  storedJobs: readonly (StoredJob | undefined)[],
): Promise<JobLine[]> {
  const places = await placesOf(ctx, jobs)
  const urls = checkedOnce(ctx)
  // Records of forwarded jobs are not stored, so only their events need to be read.
  const unrecorded = jobs.filter((_job, index) => storedJobs[index] === undefined)
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
    const knownJob = storedJobs[index]?.job
    const begunBy = knownJob && isAskable(knownJob) ? { ...knownJob, sealed: knownJob.credential } : undefined
    const place = (job.offer === null ? begunBy : undefined) ?? places.get(job.rid)
    const record = knownJob === undefined ? recordOf(job, place) : undefined
    // A data plane can still poll with the key that started the job.
    const otherwise = begunBy === undefined ? KEYLESS : SILENT
    const kind = knownJob?.wire ?? readUsageEvent(job.event)?.wire ?? ''
    const isWithheld = payments.get(job.rid)?.state === 'written_off'
    return {
      record,
      isWithheld,
      ask: (isCancel = false) => ask({ ...ctx, urls }, job, { kind, place, otherwise, isCancel }),
    }
  })
}

/** The providers' addresses and keys of jobs, by job. A job of an unknown provider is left out. */
export async function placesOf(
  { db }: Pick<JobLineCtx, 'db'>,
  jobs: readonly Job[],
): Promise<ReadonlyMap<string, JobProvider>> {
  const sold = jobs.flatMap(({ offer }) => offer ?? [])
  const own = jobs.filter(({ offer }) => offer === null)
  const [offers, buyers] = await Promise.all([
    listJobPlaces(db, [...new Set(sold)]),
    listOwnPlaces(db, [...new Set(own.map(({ account }) => account))]),
  ])
  const byOffer = new Map<string, JobProvider>(offers.map((place) => [place.offer, place]))
  return new Map(
    jobs.flatMap((job) => {
      const place = job.offer === null ? ownPlaceOf(job, buyers) : byOffer.get(job.offer)
      return place === undefined ? [] : [[job.rid, place]]
    }),
  )
}

/** The buyer's own provider that started a job, if only one can have: it existed then, and no other one matches. */
function ownPlaceOf({ account, event }: Job, all: readonly OwnPlace[]): JobProvider | undefined {
  const { provider, model, servedBy, startedAt = 0 } = readUsageEvent(event) ?? {}
  const [place, second] = all.filter(
    (own) =>
      own.account === account &&
      own.provider === provider &&
      own.model === (servedBy === 'own_key' ? model : null) &&
      own.createdAt.getTime() <= startedAt,
  )
  return second === undefined ? place : undefined
}

type Urls = (text: string) => Promise<URL>

/** Checks each base URL against the allow-list once. */
function checkedOnce(ctx: JobLineCtx): Urls {
  const checked = new Map<string, Promise<URL>>()
  return (text) => {
    const knownUrl = checked.get(text) ?? checkBaseUrl(ctx, text).then(({ url }) => url)
    checked.set(text, knownUrl)
    return knownUrl
  }
}

type AskCtx = JobLineCtx & { readonly urls: Urls }

type Question = {
  readonly kind: string
  readonly place: JobProvider | undefined
  /** The result when there is no key to poll with. */
  readonly otherwise: JobAnswer
  readonly isCancel: boolean
}

/** Polls the provider. A provider that cannot be reached gives no result. */
async function ask(ctx: AskCtx, { rid, providerJob }: Job, { kind, place, otherwise, isCancel }: Question) {
  try {
    if (place === undefined) return otherwise
    if (!isJobKind(kind)) return SILENT
    const baseUrl = await ctx.urls(place.baseUrl)
    const apiKey = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(place.sealed))
    return await ctx.askJob({ kind, providerJob, place: { baseUrl, apiFormat: place.apiFormat, apiKey }, isCancel })
  } catch (error) {
    ctx.log.warn({ err: error, rid }, 'the status of a job could not be requested')
    return SILENT
  }
}

/**
 * Makes the record of a job again from its submit. When its provider cannot be polled, or the submit does not contain
 * the price of its result, the record holds only the known facts. Undefined for an event that is no submit.
 */
export function recordOf(job: Job, place: JobProvider | undefined): JobRecordText | undefined {
  const { rid, event: text, providerJob } = job
  const event = readUsageEvent(text)
  if (event === undefined) return undefined
  const { unitPrices, bound } = event.job ?? {}
  const credential = SealedCredentialSchema.safeParse(place?.sealed).data
  const hasTerms = unitPrices !== undefined && bound !== undefined
  const offerPlace =
    place !== undefined && credential !== undefined && hasTerms
      ? { baseUrl: place.baseUrl, apiFormat: place.apiFormat, credential }
      : { baseUrl: null, apiFormat: null, credential: null }
  const { account, keyId, wallet, rail, payment, wire, endpoint, model, requestedModel, offer, sellerAccount } = event
  return {
    v: 1,
    rid,
    account,
    keyId,
    rail,
    wire,
    endpoint,
    model,
    requestedModel,
    offer,
    sellerAccount,
    providerJob,
    wallet: wallet ?? null,
    payment: payment ?? null,
    servedBy: event.servedBy ?? 'marketplace',
    provider: event.provider ?? '',
    ...offerPlace,
    priceVersion: event.priceVersion,
    unitPrices: writeUnitPrices(unitPrices ?? {}),
    keptBps: Number(event.keptBps),
    feeBps: Number(event.feeBps),
    quoteMicro: event.holdMicro.toString(),
    bound: { ...bound },
    attempts: event.attempts,
    createdAt: event.startedAt,
    deadlineAt: job.deadlineAt.getTime(),
  }
}
