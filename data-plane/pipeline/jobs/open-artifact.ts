import { timingSafeEqual } from 'node:crypto'
import type { RequestHead } from '#data-plane/call.ts'
import type { Entrance } from '#data-plane/pipeline/entrance.ts'
import { recognize } from '#data-plane/pipeline/entrance.ts'
import type { ArtifactId, OpenArtifact } from '#data-plane/store/artifact-store.ts'
import { recordsMissing } from '#data-plane/store/jobs.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { JobPlane } from './job-plane.ts'
import { jobIdOf, requestOfJob } from './job-plane.ts'

/** Downloads of one owner's files in a minute, and at once. They are no calls and are counted apart. */
const DOWNLOADS_PER_MINUTE = 600
const DOWNLOADS_AT_ONCE = 32
/** Milliseconds for which a buyer may read nothing before its download is cut. */
export const DOWNLOAD_IDLE_MS = MINUTE

/** A permitted download. `leave` removes it from the count. */
export type Download = { readonly file: OpenArtifact; leave(): void }

/**
 * Opens a media file for the holder of a signed link, the job's token, or a key of the payer. A file that does not
 * exist, another payer's file and a wrong or old link get the same answer.
 *
 * Throws AppError: `authentication_required` without any of the three, `not_found`, the refusals of the rail,
 * `rate_limited`, `too_many_in_flight`, `overloaded`, `service_unavailable` while records of jobs are missing.
 */
export async function openArtifact(
  plane: JobPlane,
  route: Pick<Entrance, 'rails'>,
  head: RequestHead,
): Promise<Download> {
  const { artifacts, rates } = plane.calls
  const id = readId(head.params)
  if (id === undefined) throw noArtifact()
  const asker = await readOwner(plane, route, head, id)
  const { owner, take, leave: close } = await findFile(plane, id)
  const scope = `artifacts ${owner}`
  const undo: (() => void)[] = [close]
  const leave = () => {
    for (const step of undo.splice(0)) step()
  }
  try {
    if (asker !== undefined && asker !== owner) throw noArtifact()
    rates.enter(scope, DOWNLOADS_PER_MINUTE, DOWNLOADS_AT_ONCE)
    undo.push(() => rates.leave(scope))
    undo.push(artifacts.admitDownload())
    const file = await take()
    if (file === undefined) throw noArtifact()
    return { file, leave }
  } catch (error) {
    leave()
    throw error
  }
}

/** A file that exists. `take` opens it once its reader is permitted. */
type HeldFile = {
  readonly owner: string
  take(): Promise<OpenArtifact | undefined>
  /** Releases the file unread. */
  leave(): void
}

/**
 * Finds a file that is kept here, or a job's file that will be copied here. Throws `not_found`, and
 * `service_unavailable` while its job may have lost its record.
 */
async function findFile(plane: JobPlane, id: ArtifactId): Promise<HeldFile> {
  const keptFile = await plane.calls.artifacts.open(id)
  if (keptFile !== undefined) {
    await refuseHidden(plane, id, keptFile)
    let isTaken = false
    return {
      owner: keptFile.facts.owner,
      async take() {
        isTaken = true
        return keptFile
      },
      leave() {
        if (!isTaken) void keptFile.close()
      },
    }
  }
  const pending = await plane.files.find(id)
  if (pending === undefined) throw noArtifact()
  return { owner: pending.owner, take: pending.arrive, leave: () => undefined }
}

/**
 * Refuses a file that is here but hidden. Its job may have been deleted at another node, so this node's copy is removed
 * now. Throws `service_unavailable` while that is unknown: Redis is away, or was emptied and does not have the jobs
 * again. An image of an answer cannot be deleted.
 */
async function refuseHidden({ calls, jobs }: JobPlane, id: ArtifactId, keptFile: OpenArtifact): Promise<void> {
  if (keptFile.facts.isOfAnswer) return
  let isHidden = false
  try {
    const standing = await jobs.standingOf(id.rid)
    isHidden = standing === 'hidden'
    if (isHidden) throw noArtifact()
    if (standing === 'unknown') throw recordsMissing()
  } catch (error) {
    await keptFile.close()
    if (isHidden) await calls.artifacts.remove(id)
    throw error
  }
}

function noArtifact(): AppError {
  return new AppError('not_found', {
    message: 'The file does not exist or has expired, or its link is not valid.',
  })
}

function readId({ jobId = '', index = '' }: RequestHead['params']): ArtifactId | undefined {
  const rid = requestOfJob(jobId)
  return rid !== undefined && /^(0|[1-9]\d?)$/.test(index) ? { rid, index: Number(index) } : undefined
}

/** The payer who must own the file; undefined when a link or the job's token opens it for every holder. */
async function readOwner(
  { calls, tokenOf }: JobPlane,
  route: Pick<Entrance, 'rails'>,
  head: RequestHead,
  id: ArtifactId,
): Promise<string | undefined> {
  const [expires, signature] = [head.query.get('expires'), head.query.get('signature')]
  if (expires !== null || signature !== null) {
    if (calls.artifacts.isSigned(id, expires ?? '', signature ?? '')) return undefined
    throw noArtifact()
  }
  const token = head.headers['x-job-token']
  if (typeof token === 'string') {
    const [tokenBytes, expectedBytes] = [Buffer.from(token), Buffer.from(tokenOf(jobIdOf(id.rid)))]
    if (tokenBytes.length === expectedBytes.length && timingSafeEqual(tokenBytes, expectedBytes)) return undefined
    throw noArtifact()
  }
  const payment = recognize(route, head)
  if (payment === undefined) throw new AppError('authentication_required')
  const { account, wallet } = await payment.identify()
  return account ?? wallet ?? ''
}
