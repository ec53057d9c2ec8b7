import type { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { JobEnd, StoredJob } from '#shared/contract/job-record.ts'
import { JobEndSchema, JobRecordSchema } from '#shared/contract/job-record.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { openCredential, sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'

/** The end of a job in its shown form, beyond the members of its two events. */
const ShownSchema = JobEndSchema.omit({ event: true }).extend(
  JobRecordSchema.pick({ asked: true, adaptedParams: true }).shape,
)
export type Shown = z.infer<typeof ShownSchema>

type SealCtx = Pick<Ctx, 'ids' | 'settings'>
/** The members of a record that decide the shown form of its job. */
type KeptEnd = Pick<StoredJob, 'end'> & { readonly job: Pick<StoredJob['job'], 'asked' | 'adaptedParams'> }
type Owned = { readonly rid: string; readonly account: string }

/** Seals the shown form of a job for the ledger, bound to the job. Undefined for a job without an end. */
export function sealShown({ ids, settings }: SealCtx, { rid, account }: Owned, keptEnd: KeptEnd): string | undefined {
  if (keptEnd.end === undefined) return undefined
  const { state, artifacts, error, endedAt } = keptEnd.end
  const { asked, adaptedParams } = keptEnd.job
  const shownFacts: Shown = { state, artifacts, error, endedAt, asked, adaptedParams }
  const binding = { id: ids.make('crd'), tenant: account, host: rid, purpose: 'job-end' } as const
  return JSON.stringify(sealCredential(settings.keyRing, binding, new Secret(JSON.stringify(shownFacts))))
}

/** Opens the sealed form of a job. Throws an Error for the form of another job, or for a key that is gone. */
export function openShown({ settings }: Pick<Ctx, 'settings'>, { rid, account }: Owned, sealed: string): Shown {
  const read = SealedCredentialSchema.parse(JSON.parse(sealed))
  if (read.purpose !== 'job-end' || read.host !== rid || read.tenant !== account) {
    throw new Error('a job has the end of another')
  }
  return ShownSchema.parse(JSON.parse(openCredential(settings.keyRing, read).reveal()))
}

/** The end of a job from its shown form, with the event that was booked for it. */
export function endAsShown({ state, artifacts, error, endedAt }: Shown, event: string): JobEnd {
  return { event, state, artifacts, error, endedAt }
}
