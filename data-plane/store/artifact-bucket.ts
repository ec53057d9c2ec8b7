import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Time, Timers } from '#shared/clock.ts'
import { HOUR, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { ArtifactRoom, FileIntake } from './artifact-room.ts'
import { openArtifactRoom } from './artifact-room.ts'
import type {
  ArtifactFacts,
  ArtifactId,
  ArtifactLimits,
  ArtifactStore,
  ByteRange,
  NewArtifact,
} from './artifact-store.ts'
import { endOfArtifact, nameOfArtifact, STORED_NAME } from './artifact-store.ts'
import type { ArtifactTally } from './artifact-tally.ts'
import type { ObjectFacts, S3Bucket, StoredObject } from './s3-bucket.ts'
import { BucketError } from './s3-bucket.ts'

/** Bytes of one part of an upload, which are in memory while it is sent. A larger file has larger parts. */
const PART_BYTES = 8_388_608
/** Most parts that the protocol allows. */
const MAX_PARTS = 10_000
const READ_BYTES = 262_144
/** Milliseconds that the server may pause within a file that is read. */
const READ_IDLE_MS = 30 * SECOND
const RETRY_SECONDS = 5
/** Most pages of names that one sweep reads, files of other processes that it records, and files that it removes. */
const MAX_PAGES = 100
const MAX_LEARNED = 1_000
const MAX_SWEPT = 1_000
const LEARNED_AT_ONCE = 8
/** An older unfinished upload is abandoned: no file takes that long. */
const LEFT_BEHIND_MS = HOUR

const Metadata = z.object({
  owner: z.string(),
  tag: z.string(),
  expires: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
  answer: z.literal('1').optional(),
})

type Ports = {
  readonly bucket: S3Bucket
  readonly limits: ArtifactLimits
  readonly clock: Time
  readonly log: Logger
}

type Parts = Ports & {
  /** Uploads under way in this process. They are not abandoned, whatever age the server reports. */
  readonly running: Set<string>
}

/**
 * Keeps media files in a bucket, which all processes share. A file is uploaded part by part and is visible once it is
 * whole. Each process counts the bounds by itself, and learns once a minute what the others stored.
 */
export function openArtifactBucket(allPorts: Ports): ArtifactStore {
  const parts: Parts = { ...allPorts, running: new Set() }
  const room = openArtifactRoom({ ...parts, sweep: (tally) => sweepBucket(parts, tally) })
  return {
    put: (id, artifact) => orUnavailable(put(parts, room, id, artifact)),
    open: (id) => orUnavailable(openStored(parts, nameOfArtifact(id))),
    remove: (id) => orUnavailable(removeStored(parts, room.tally, nameOfArtifact(id))),
    figures: room.figures,
    async close() {
      await room.close()
      parts.bucket.close()
    },
  }
}

/** A bucket that does not answer is a passing state of the service. */
async function orUnavailable<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    if (!(cause instanceof BucketError)) throw cause
    const message = 'The store of media files does not answer.'
    throw new AppError('service_unavailable', { message, retryAfterSeconds: RETRY_SECONDS, cause })
  })
}

async function put(parts: Parts, room: ArtifactRoom, id: ArtifactId, artifact: NewArtifact): Promise<ArtifactFacts> {
  const { limits, clock } = parts
  const { owner, contentType, isOfAnswer = false } = artifact
  const name = nameOfArtifact(id)
  const now = clock.now()
  const tag = `${now.toString(36)}${randomBytes(4).toString('hex')}`
  const expiresAt = endOfArtifact(limits, artifact, now)
  const metadata = { owner, tag, expires: String(expiresAt), ...(isOfAnswer && { answer: '1' }) }
  const intake = room.takeIn(artifact)
  try {
    await upload(parts, name, { contentType, metadata }, intake)
  } finally {
    intake.leave()
  }
  const bytes = intake.bytes()
  room.tally.add(name, { owner, bytes, expiresAt })
  return { owner, contentType, tag, expiresAt, bytes, isOfAnswer }
}

/** Sends a small file at once, and a larger one in parts of equal length. At most two parts are in memory. */
async function upload(parts: Parts, name: string, facts: ObjectFacts, intake: FileIntake): Promise<void> {
  const { bucket, limits, log, running } = parts
  const partBytes = Math.max(PART_BYTES, Math.ceil(limits.fileBytes / MAX_PARTS))
  const gathered = gather(partBytes)
  let begunUpload: Awaited<ReturnType<S3Bucket['begin']>> | undefined
  try {
    for await (const piece of intake.pieces) {
      for (const part of gathered.add(piece)) {
        begunUpload ??= await bucket.begin(name, facts)
        running.add(begunUpload.id)
        await begunUpload.part(part)
      }
    }
    const rest = gathered.take()
    if (begunUpload === undefined) return await bucket.write(name, facts, rest)
    if (rest.length > 0) await begunUpload.part(rest)
    await begunUpload.complete()
  } catch (error) {
    if (begunUpload === undefined) throw error
    if (await isStored(bucket, name, facts, error)) return
    await begunUpload.abort().catch((left: unknown) => log.warn({ err: left, name }, 'an upload could not be aborted'))
    throw error
  } finally {
    if (begunUpload !== undefined) running.delete(begunUpload.id)
  }
}

/** True for an upload that completed although its answer was lost: the second attempt finds no upload any more. */
async function isStored(bucket: S3Bucket, name: string, facts: ObjectFacts, error: unknown): Promise<boolean> {
  if (!(error instanceof BucketError) || error.status !== 404) return false
  const storedObject = await bucket.head(name).catch(() => undefined)
  return storedObject?.metadata['tag'] === facts.metadata['tag']
}

/** Collects pieces into parts of one length. `take` returns the remainder. */
function gather(partBytes: number) {
  let part = NOTHING
  let bytes = 0
  const take = () => {
    const piece = part.subarray(0, bytes)
    part = NOTHING
    bytes = 0
    return piece
  }
  return {
    *add(piece: Uint8Array) {
      for (let at = 0; at < piece.length; ) {
        // The system allots memory to this buffer only as it is written.
        if (bytes === 0) part = Buffer.allocUnsafeSlow(partBytes)
        const slice = piece.subarray(at, at + partBytes - bytes)
        part.set(slice, bytes)
        bytes += slice.length
        at += slice.length
        if (bytes === partBytes) yield take()
      }
    },
    take,
  }
}

const NOTHING = Buffer.alloc(0)

async function openStored({ bucket, clock }: Parts, name: string) {
  const storedObject = await bucket.head(name)
  const facts = storedObject && factsOf(storedObject)
  if (storedObject === undefined || facts === undefined || facts.expiresAt <= clock.now()) return undefined
  return {
    facts,
    stream: (range = { first: 0, last: facts.bytes - 1 }) =>
      range.last < range.first ? Readable.from([]) : streamOf({ bucket, clock }, name, storedObject.etag, range),
    close: async () => undefined,
  }
}

function factsOf({ bytes, contentType, metadata }: StoredObject): ArtifactFacts | undefined {
  const read = Metadata.safeParse(metadata)
  if (!read.success) return undefined
  const { owner, tag, expires: expiresAt, answer } = read.data
  return { owner, contentType, tag, expiresAt, bytes, isOfAnswer: answer !== undefined }
}

/** Reads a part of a file at its reader's pace. A reader who leaves ends the request to the server at once. */
function streamOf(parts: Pick<Parts, 'bucket'> & { clock: Timers }, name: string, etag: string, range: ByteRange) {
  const left = new AbortController()
  const stream = Readable.from(readPieces(parts, name, { etag, range, left: left.signal }), {
    objectMode: false,
    highWaterMark: READ_BYTES,
  })
  return stream.once('close', () => left.abort())
}

type Reading = { readonly etag: string; readonly range: ByteRange; readonly left: AbortSignal }

async function* readPieces(
  { bucket, clock }: Pick<Parts, 'bucket'> & { clock: Timers },
  name: string,
  { etag, range, left }: Reading,
): AsyncGenerator<Uint8Array> {
  const body = await bucket.read(name, etag, range)
  if (body === undefined) throw new Error('a media file was replaced or removed while it was read')
  const end = () => body.destroy()
  if (left.aborted) end()
  left.addEventListener('abort', end)
  try {
    const pieces = body[Symbol.asyncIterator]()
    for (;;) {
      const endWait = clock.after(READ_IDLE_MS, () => body.destroy(new BucketError(0, 'the body stopped')))
      const { done, value } = await pieces.next().finally(endWait)
      if (done) return
      yield value
    }
  } finally {
    left.removeEventListener('abort', end)
    end()
  }
}

async function removeStored({ bucket }: Parts, tally: ArtifactTally, name: string): Promise<void> {
  await bucket.remove(name)
  tally.drop(name)
}

/**
 * Records what other processes stored and removed, and removes expired and abandoned files. Returns the number of
 * expired files.
 */
async function sweepBucket(parts: Parts, tally: ArtifactTally): Promise<number> {
  const knownNames = [...tally.files.keys()]
  const { names, isWhole } = await listNames(parts.bucket)
  const present = new Set(names)
  // Names come in order. Nothing is known about names after the last one that was read.
  const last = names.at(-1) ?? ''
  for (const name of knownNames) if (!present.has(name) && (isWhole || name <= last)) tally.drop(name)
  const foreign = names.filter((name) => STORED_NAME.test(name) && !tally.files.has(name)).slice(0, MAX_LEARNED)
  for (let at = 0; at < foreign.length; at += LEARNED_AT_ONCE) {
    await Promise.all(foreign.slice(at, at + LEARNED_AT_ONCE).map((name) => learn(parts, tally, name)))
  }
  const over = tally.over(parts.clock.now()).slice(0, MAX_SWEPT)
  for (const name of over) await removeStored(parts, tally, name)
  await removeLeftBehind(parts)
  return over.length
}

async function listNames(bucket: S3Bucket) {
  const names: string[] = []
  let from: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const namePage = await bucket.list(from)
    names.push(...namePage.names)
    from = namePage.next
    if (from === undefined) break
  }
  return { names, isWhole: from === undefined }
}

async function learn({ bucket }: Parts, tally: ArtifactTally, name: string): Promise<void> {
  const storedObject = await bucket.head(name)
  const facts = storedObject && factsOf(storedObject)
  if (facts !== undefined) tally.add(name, facts)
  else if (storedObject !== undefined) await bucket.remove(name)
}

/** Aborts the uploads of processes that died. A server that does not list them has a rule of its own for them. */
async function removeLeftBehind({ bucket, clock, running }: Parts): Promise<void> {
  const begunUploads = await bucket.listBegun().catch((error: unknown) => {
    if (error instanceof BucketError && error.status === 501) return []
    throw error
  })
  const before = clock.now() - LEFT_BEHIND_MS
  const left = begunUploads.filter(
    ({ name, id, begunAt }) => STORED_NAME.test(name) && begunAt <= before && !running.has(id),
  )
  for (const { name, id } of left.slice(0, MAX_SWEPT)) await bucket.abort(name, id)
}
