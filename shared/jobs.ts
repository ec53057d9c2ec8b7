import type { KeptBps, MicroUsd } from './money.ts'
import { min, ZERO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { chargeUsage, listCost } from './pricing.ts'
import type { Usage, UsageSource } from './usage.ts'

/** The states of a long job. */
export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const

/** A file that a job has made. */
export type Artifact = { readonly url: string; readonly contentType: string }

/** A provider's answer about a long job. */
export type ProviderJob = {
  readonly id: string
  readonly state: (typeof JOB_STATES)[number]
  /** The usage that it reports. Undefined when it reports none that can be true. */
  readonly usage: Usage | undefined
  readonly artifacts: readonly Artifact[]
}

/** The terms that a job was sold on. */
export type JobTerms = {
  readonly unitPrices: UnitPrices
  readonly keptBps: KeptBps
  /** The usage that the quote allows for. */
  readonly bound: Usage
  readonly quoteMicro: MicroUsd
}

/** The cost of a job's end. */
export type JobCharge = {
  readonly usage: Usage
  readonly source: UsageSource
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly anomalies: readonly string[]
}

/** Charges a job that is over. A job without a result costs nothing. Others cost what they used, at most the quote. */
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
