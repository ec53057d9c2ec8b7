import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { isMissing } from '#data-plane/journal/files.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { ArtifactRoom } from './artifact-room.ts'
import { openArtifactRoom } from './artifact-room.ts'
import type { ArtifactFacts, ArtifactId, ArtifactLimits, ArtifactStore, NewArtifact } from './artifact-store.ts'
import { endOfArtifact, nameOfArtifact, STORED_NAME } from './artifact-store.ts'
import type { ArtifactTally } from './artifact-tally.ts'

/**
 * Bytes before the content that hold the facts, padded with spaces. Facts and content are one file, so one rename
 * publishes both.
 */
const HEAD_BYTES = 1_024
const READ_BYTES = 262_144
/**
 * Most files of other processes that a sweep reads, and most expired files that it removes. The next sweep continues.
 */
const MAX_LEARNED = 2_000
const MAX_SWEPT = 2_000
/** An unfinished file of another process that did not change for this long is abandoned. */
const LEFT_BEHIND_MS = HOUR
const UNFINISHED_NAME = /^\.[0-9A-Z]{26}-\d{1,2}\.[\w.-]*\.part$/

const Head = z.object({
  v: z.literal(1),
  owner: z.string(),
  contentType: z.string(),
  tag: z.string(),
  expiresAt: z.number().int(),
  isOfAnswer: z.boolean().default(false),
})

type Parts = {
  readonly dir: string
  /** Names of this node and of its process, for unfinished files. */
  readonly node: string
  readonly limits: ArtifactLimits
  readonly clock: Time
  readonly log: Logger
}

type Folder = Parts & { readonly boot: string }

/**
 * Keeps media files in a folder of this machine, which its processes may share. A file is written under another name
 * and renamed when it is whole and on disk, so a crash leaves no partial file that is served. The folder is made with
 * its first file.
 */
export function openArtifactFolder(parts: Parts): ArtifactStore {
  const folder: Folder = { ...parts, boot: randomBytes(6).toString('hex') }
  const room = openArtifactRoom({ ...parts, sweep: (tally) => sweepFolder(folder, tally) })
  return {
    put: (id, artifact) => put(folder, room, id, artifact),
    open: (id) => openStored(folder, nameOfArtifact(id)),
    remove: (id) => removeStored(folder, room.tally, nameOfArtifact(id)),
    figures: room.figures,
    close: room.close,
  }
}

async function put(folder: Folder, room: ArtifactRoom, id: ArtifactId, artifact: NewArtifact) {
  const { dir, node, boot, limits, clock } = folder
  const { owner, contentType, isOfAnswer = false } = artifact
  const name = nameOfArtifact(id)
  const now = clock.now()
  const tag = `${now.toString(36)}${randomBytes(4).toString('hex')}`
  const expiresAt = endOfArtifact(limits, artifact, now)
  const facts = { owner, contentType, tag, expiresAt, isOfAnswer }
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, `.${name}.${node}.${boot}${randomBytes(4).toString('hex')}.part`)
  const handle = await open(path, 'wx', 0o600)
  const intake = room.takeIn(artifact)
  try {
    try {
      await writeAll(handle, headBytes({ v: 1, ...facts }))
      for await (const piece of intake.pieces) await writeAll(handle, piece)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(path, join(dir, name))
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    intake.leave()
  }
  const bytes = intake.bytes()
  room.tally.add(name, { owner, bytes, expiresAt })
  return { ...facts, bytes }
}

function headBytes(head: z.infer<typeof Head>): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES, ' ')
  const text = JSON.stringify(head)
  if (Buffer.byteLength(text) > HEAD_BYTES) throw new RangeError('the facts of a media file are too long')
  bytes.write(text)
  return bytes
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  let writtenBytes = 0
  while (writtenBytes < bytes.length)
    writtenBytes += (await handle.write(bytes, writtenBytes, bytes.length - writtenBytes)).bytesWritten
}

async function openStored({ dir, clock }: Folder, name: string) {
  const handle = await openOrMissing(join(dir, name))
  if (handle === undefined) return undefined
  const facts = await readFacts(handle).catch(() => undefined)
  if (facts === undefined || facts.expiresAt <= clock.now()) {
    await handle.close()
    return undefined
  }
  return {
    facts,
    stream(range = { first: 0, last: facts.bytes - 1 }) {
      if (range.last < range.first) {
        void handle.close()
        return Readable.from([])
      }
      const [start, end] = [HEAD_BYTES + range.first, HEAD_BYTES + range.last]
      return handle.createReadStream({ start, end, highWaterMark: READ_BYTES })
    },
    close: () => handle.close(),
  }
}

async function openOrMissing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The facts at the beginning of a file; undefined for a foreign file. */
async function readFacts(handle: FileHandle): Promise<ArtifactFacts | undefined> {
  const head = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0)
  if (bytesRead < HEAD_BYTES) return undefined
  const { v: _, ...facts } = Head.parse(JSON.parse(head.toString('utf8')))
  return { ...facts, bytes: (await handle.stat()).size - HEAD_BYTES }
}

async function removeStored({ dir }: Folder, tally: ArtifactTally, name: string): Promise<void> {
  await rm(join(dir, name), { force: true })
  tally.drop(name)
}

/**
 * Records what other processes stored and removed, and removes expired and abandoned files. Returns the number of
 * expired files.
 */
async function sweepFolder(folder: Folder, tally: ArtifactTally): Promise<number> {
  const { dir, clock } = folder
  const knownNames = [...tally.files.keys()]
  const names = await readdir(dir).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const present = new Set(names)
  for (const name of knownNames) if (!present.has(name)) tally.drop(name)
  const foreign = names.filter((name) => STORED_NAME.test(name) && !tally.files.has(name))
  for (const name of foreign.slice(0, MAX_LEARNED)) await learn(folder, tally, name)
  for (const name of names.filter((each) => UNFINISHED_NAME.test(each))) await removeLeftBehind(folder, name)
  const over = tally.over(clock.now()).slice(0, MAX_SWEPT)
  for (const name of over) await removeStored(folder, tally, name)
  return over.length
}

async function learn({ dir }: Folder, tally: ArtifactTally, name: string): Promise<void> {
  const handle = await openOrMissing(join(dir, name))
  if (handle === undefined) return
  const facts = await readFacts(handle).catch(() => undefined)
  await handle.close()
  if (facts === undefined) await rm(join(dir, name), { force: true })
  else tally.add(name, facts)
}

/** A process removes the unfinished files of its earlier runs at once, and those of others once they no longer grow. */
async function removeLeftBehind({ dir, node, boot, clock }: Folder, name: string): Promise<void> {
  const writer = name.slice(name.indexOf('.', 1) + 1)
  if (writer.startsWith(`${node}.${boot}`)) return
  const path = join(dir, name)
  const isOwn =
    writer.startsWith(`${node}.`) && writer.lastIndexOf('.', writer.length - '.part'.length - 1) === node.length
  const stats = isOwn ? undefined : await stat(path).catch(() => undefined)
  if (isOwn || (stats !== undefined && stats.mtimeMs < clock.now() - LEFT_BEHIND_MS)) await rm(path, { force: true })
}
