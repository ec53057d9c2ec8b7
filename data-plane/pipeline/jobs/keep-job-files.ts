import type { ArtifactId, OpenArtifact } from '#data-plane/store/artifact-store.ts'
import { nameOfArtifact } from '#data-plane/store/artifact-store.ts'
import type { Artifacts } from '#data-plane/store/artifacts.ts'
import type { CopyFigures } from '#data-plane/store/file-copies.ts'
import { createFileCopies } from '#data-plane/store/file-copies.ts'
import type { JobEnd, JobRecord, JobStore, StoredJob } from '#data-plane/store/jobs.ts'
import { recordsMissing } from '#data-plane/store/jobs.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { FileFetcher, FilePlace } from '#data-plane/upstream/fetch-file.ts'
import { FILE_TIMES } from '#data-plane/upstream/fetch-file.ts'
import type { Upstream } from '#data-plane/upstream/send.ts'
import type { ArtifactView } from '#data-plane/wires/wire.ts'
import type { HostList } from '#shared/catalog/provider-hosts.ts'
import type { Time } from '#shared/clock.ts'
import { isAskable, isHidden } from '#shared/contract/job-record.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { RequestId } from '#shared/ids.ts'
import type { Artifact } from '#shared/jobs.ts'
import type { Logger } from '#shared/logger.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { checkOutboundUrl, checkPublicUrl } from '#shared/outbound-guard.ts'

/** The end of a job, for its files. */
type EndedJob = {
  readonly job: JobRecord
  readonly end:
    | (Pick<JobEnd, 'state'> & {
        readonly artifacts: readonly Artifact[]
        /** Unix milliseconds. */
        readonly endedAt?: number | null
      })
    | undefined
}

/** A file of a job that is not here yet. */
export type PendingFile = {
  readonly owner: string
  /** Waits for the file. Throws AppError when it is not available now, or never. */
  arrive(): Promise<OpenArtifact | undefined>
}

/** The files of long jobs: those that buyers load from the provider, and those that are copied here for them. */
export type JobFiles = {
  /**
   * The files of a job that is over and booked, in the form for its buyer. Starts to copy the files that are kept here,
   * without a wait.
   */
  show(job: EndedJob, rid: RequestId): readonly ArtifactView[]
  /** Throws AppError `service_unavailable` while it is unknown whether the job has such a file. */
  find(id: ArtifactId): Promise<PendingFile | undefined>
  /** Removes the copies of a deleted job's files. */
  remove(rid: RequestId): Promise<void>
  figures(): CopyFigures
  close(): Promise<void>
}

type Parts = {
  readonly artifacts: Pick<Artifacts, 'link' | 'open' | 'store' | 'remove'>
  readonly jobs: Pick<JobStore, 'find'>
  readonly fetcher: FileFetcher
  readonly upstream: Pick<Upstream, 'holdsKey'>
  readonly market: () => Pick<Market, 'hosts' | 'findProvider'>
  readonly policy: OutboundPolicy
  /** Bytes of one file, and milliseconds for which a job's files are available after its end. */
  readonly limits: { readonly fileBytes: number; readonly keepMs: number }
  readonly clock: Time
  readonly log: Logger
}

type JobState = Pick<StoredJob, 'isBooked' | 'isWithheld' | 'isDeleted' | 'lostEnd'>

/** The source of a file: its own address, or here after it was fetched. Undefined for a file that may not be loaded. */
type Source = { readonly url: string } | { readonly from: FilePlace } | undefined

export function createJobFiles(parts: Parts): JobFiles {
  const { artifacts, jobs, fetcher, limits, clock, log } = parts
  const copies = createFileCopies({ clock, log })
  const copyOf = (id: ArtifactId, job: JobRecord, { from, until }: { from: FilePlace; until: number }) => ({
    name: nameOfArtifact(id),
    owner: ownerOf(job),
    run: (signal: AbortSignal) => copyFile(parts, id, { owner: ownerOf(job), from, until }, signal),
  })
  return {
    show({ job, end }, rid) {
      if (end?.state !== 'succeeded') return []
      const until = (end.endedAt ?? job.createdAt) + limits.keepMs
      return end.artifacts.flatMap((artifact, index) => {
        const { contentType } = artifact
        const source = sourceOf(parts, job, artifact)
        if (source === undefined) return []
        if ('url' in source) return [{ index, contentType, url: source.url }]
        if (until <= clock.now()) return []
        const id = { rid, index }
        copies.begin(copyOf(id, job, { from: source.from, until }))
        return [{ index, contentType, url: artifacts.link(id, until).url }]
      })
    },
    async find(id) {
      const storedJob: (EndedJob & JobState) | undefined = await jobs.find(id.rid)
      if (storedJob === undefined || isHidden(storedJob)) return undefined
      if (storedJob.end === undefined && storedJob.lostEnd !== undefined) throw recordsMissing()
      if (storedJob.end?.state !== 'succeeded' || !storedJob.isBooked) return undefined
      const { job, end } = storedJob
      const until = (end.endedAt ?? job.createdAt) + limits.keepMs
      const artifact = end.artifacts[id.index]
      const from = artifact && placeOf(parts, job, artifact)
      if (from === undefined || until <= clock.now()) return undefined
      return {
        owner: ownerOf(job),
        async arrive() {
          await copies.wait(copyOf(id, job, { from, until }))
          return artifacts.open(id)
        },
      }
    },
    async remove(rid) {
      const { artifacts: files = [] } = (await jobs.find(rid))?.end ?? {}
      await Promise.all(files.map((_file, index) => artifacts.remove({ rid, index })))
    },
    figures: copies.figures,
    async close() {
      await copies.close()
      await fetcher.close()
    },
  }
}

function ownerOf({ account, wallet }: JobRecord): string {
  return account ?? wallet ?? ''
}

/**
 * A lasting file is loaded from its provider. A short-lived file is fetched from the hosts that may be dialled; from
 * any other host its buyer loads it while it exists, if its address is a public one. An address that holds the seller's
 * key leaves this process for its own host alone.
 */
function sourceOf({ market, policy, upstream }: Parts, job: JobRecord, { url, access }: Artifact): Source {
  // An address may hold a key that is no longer known here.
  const key = isAskable(job) ? job : undefined
  if (access === 'keyed') return key && { from: { url: key.baseUrl + url, hosts: market().hosts, key } }
  const hosts = hostsOfFiles(market(), job)
  const isLeaky = key === undefined || upstream.holdsKey(key, url)
  if ((access === 'brief' || isLeaky) && checkOutboundUrl(url, hosts, policy) !== undefined)
    return { from: { url, hosts } }
  return !isLeaky && checkPublicUrl(url, policy) !== undefined ? { url } : undefined
}

/** The hosts that may be dialled for the files of a job: those of the market's list and of the provider's record. */
function hostsOfFiles({ hosts, findProvider }: Pick<Market, 'hosts' | 'findProvider'>, job: JobRecord): HostList {
  const provider = findProvider(job.provider)
  const fileHosts = provider?.id === job.provider ? provider.fileHosts : []
  return { has: (host) => hosts.has(host) || fileHosts.includes(host) }
}

/**
 * The place from which a file is copied for a buyer who asks for it here. A lasting file on a host that may be dialled
 * is copied on demand alone, for example for a page that shows nothing of other origins.
 */
function placeOf(parts: Parts, job: JobRecord, artifact: Artifact): FilePlace | undefined {
  const source = sourceOf(parts, job, artifact)
  if (source === undefined || 'from' in source) return source?.from
  const hosts = hostsOfFiles(parts.market(), job)
  return checkOutboundUrl(source.url, hosts, parts.policy) === undefined ? undefined : { url: source.url, hosts }
}

type FileOrder = { readonly owner: string; readonly from: FilePlace; readonly until: number }

/** Copies a file, unless it exists here by now. An interrupted copy leaves nothing. */
async function copyFile(
  { artifacts, jobs, fetcher, limits }: Parts,
  id: ArtifactId,
  { owner, from, until }: FileOrder,
  signal: AbortSignal,
): Promise<void> {
  const there = await artifacts.open(id)
  if (there !== undefined) return there.close()
  const file = await fetcher.fetch(from, { ...FILE_TIMES, maxBytes: limits.fileBytes }, signal)
  try {
    await artifacts.store(id, { owner, contentType: file.contentType, pieces: passing(file.pieces), until })
  } finally {
    file.close()
  }
  // A job that was deleted meanwhile leaves nothing.
  if ((await jobs.find(id.rid))?.isDeleted === true) await artifacts.remove(id)
}

/** Passes pieces on, past the place at which a test makes the process die. */
async function* passing(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    crashPoint('mid_file_copy')
    yield piece
  }
}
