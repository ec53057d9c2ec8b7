import type { KeptBps, MicroUsd } from './money.ts'
import { min, ZERO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { chargeUsage, listCost } from './pricing.ts'
import type { Usage, UsageSource } from './usage.ts'

/** How a long job can stand. */
export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

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
