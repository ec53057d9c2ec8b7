import { z } from 'zod'
import type { KeptBps, MicroUsd } from './money.ts'
import { min, ZERO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { chargeUsage, listCost } from './pricing.ts'
import type { Usage, UsageSource } from './usage.ts'

const MILLISECONDS = 1_000
/** What a provider may say at the most. */
const MAX_ID_CHARS = 500
const MAX_ARTIFACTS = 10
const MAX_URL_CHARS = 2_048
const MAX_TYPE_CHARS = 100
const MAX_SANE_SECONDS = 86_400

const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

/** A file that a job has made. */
export type Artifact = { readonly url: string; readonly contentType: string }

/** What a provider says of a long job. */
export type ProviderJob = {
  readonly id: string
  readonly state: (typeof JOB_STATES)[number]
  /** What it says was used; undefined where it says nothing sane. */
  readonly usage: Usage | undefined
  readonly artifacts: readonly Artifact[]
}

/** Where providers take jobs, by the wire that sells them: a submit goes there, a question to the job's id under it. */
export const JOB_PATHS = { video: '/video/generations' } as const
export type JobWireName = keyof typeof JOB_PATHS

export function isJobWire(name: string): name is JobWireName {
  return Object.hasOwn(JOB_PATHS, name)
}

/** The path under which a provider is asked for one of its jobs. */
export function jobPath(wire: JobWireName, providerJob: string): string {
  return `${JOB_PATHS[wire]}/${encodeURIComponent(providerJob)}`
}

const Answer = z.object({
  id: z.string().min(1).max(MAX_ID_CHARS),
  status: z.enum(JOB_STATES),
  usage: z
    .object({ seconds: z.number().min(0).max(MAX_SANE_SECONDS) })
    .optional()
    .catch(undefined),
  artifacts: z.array(z.unknown()).catch([]),
})
const ArtifactRow = z.object({
  url: z
    .string()
    .max(MAX_URL_CHARS)
    .regex(/^https?:\/\//),
  content_type: z.string().catch('video/mp4'),
})

/** A provider's answer about a job; undefined when it is none. */
export function readProviderJob(text: string): ProviderJob | undefined {
  const read = Answer.safeParse(parse(text))
  if (!read.success) return undefined
  const { id, status, usage, artifacts } = read.data
  return {
    id,
    state: status,
    usage: usage && { milliseconds: Math.ceil(usage.seconds * MILLISECONDS), calls: 1 },
    artifacts: artifacts.slice(0, MAX_ARTIFACTS).flatMap((row) => {
      const artifact = ArtifactRow.safeParse(row)
      if (!artifact.success) return []
      return [{ url: artifact.data.url, contentType: artifact.data.content_type.slice(0, MAX_TYPE_CHARS) }]
    }),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a job was sold as. */
export type JobTerms = {
  readonly unitPrices: UnitPrices
  readonly keptBps: KeptBps
  /** What the quote was made of. */
  readonly bound: Usage
  readonly quoteMicro: MicroUsd
}

/** What a job's end costs. */
export type JobCharge = {
  readonly usage: Usage
  readonly source: UsageSource
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly anomalies: readonly string[]
}

/** A job that did not come to its result costs nothing; the others what was used, at most the quote. */
export function chargeJob(terms: JobTerms, { state, usage: reported }: ProviderJob): JobCharge {
  if (state !== 'succeeded') {
    return { usage: {}, source: 'reported', chargeMicro: ZERO, listMicro: ZERO, anomalies: [] }
  }
  const { unitPrices, keptBps, bound, quoteMicro } = terms
  const usage = reported ?? bound
  const due = chargeUsage(unitPrices, usage, keptBps)
  const chargeMicro = min(due, quoteMicro)
  const anomalies = [
    ...(reported === undefined ? ['usage_missing'] : []),
    ...(chargeMicro === due ? [] : ['charge_clipped']),
  ]
  const source = reported === undefined ? 'estimated' : 'reported'
  return { usage, source, chargeMicro, listMicro: listCost(unitPrices, usage), anomalies }
}
