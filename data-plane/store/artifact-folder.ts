import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { isMissing } from '#data-plane/journal/files.ts'
import type { Time } from '#shared/clock.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { ArtifactFacts, ArtifactId, ArtifactLimits, ArtifactStore, NewArtifact } from './artifact-store.ts'
import type { ArtifactTally } from './artifact-tally.ts'
import { createArtifactTally } from './artifact-tally.ts'

/** Bytes before the content in which the facts stand, padded with spaces. So one rename shows both or neither. */
const HEAD_BYTES = 1_024
const READ_BYTES = 262_144
const SWEEP_MS = MINUTE
/** Files of other processes that a sweep reads, and expired files that it removes. The next sweep goes on. */
const MAX_LEARNED = 2_000
const MAX_SWEPT = 2_000
/** An unfinished file of another process that did not change for so long is left behind. */
const LEFT_BEHIND_MS = HOUR
const STORED_NAME = /^[0-9A-Z]{26}-\d{1,2}$/
const UNFINISHED_NAME = /^\.[0-9A-Z]{26}-\d{1,2}\.[\w.-]*\.part$/

const Head = z.object({
  v: z.literal(1),
  owner: z.string(),
  contentType: z.string(),
  tag: z.string(),
  expiresAt: z.number().int(),
})

type Parts = {
  readonly dir: string
  /** Name of this process, and of its run, for unfinished files. */
  readonly node: string
  readonly limits: ArtifactLimits
  readonly clock: Time
  readonly log: Logger
}

type Folder = Parts & { readonly boot: string; readonly tally: ArtifactTally; readonly counts: { swept: number } }

/**
 * Keeps media files in a folder of this machine, which its processes may share. A file is written under another name
 * and renamed when it is whole and on the disk, so a crash leaves no half file that is served. The folder is made with
 * its first file.
 */
export function openArtifactFolder(parts: Parts): ArtifactStore {
  const folder: Folder = {
    ...parts,
    boot: randomBytes(6).toString('hex'),
    tally: createArtifactTally(parts.limits),
    counts: { swept: 0 },
  }
  let sweeping: Promise<void> | undefined
  const sweep = () => {
    sweeping ??= sweepFolder(folder)
      .catch((error: unknown) => parts.log.warn({ err: error }, 'media files could not be swept'))
      .finally(() => {
        sweeping = undefined
      })
    return sweeping
  }
  void sweep()
  const stop = parts.clock.every(SWEEP_MS, () => void sweep())
  return {
    put: (id, artifact) => put(folder, id, artifact, sweep),
    open: (id) => openStored(folder, nameOf(id)),
    remove: (id) => removeStored(folder, nameOf(id)),
    figures: () => ({
      files: folder.tally.files.size,
      bytes: folder.tally.bytes(),
      swept: folder.counts.swept,
      refused: folder.tally.refused,
    }),
    async close() {
      stop()
      await sweeping
    },
  }
}

function nameOf({ rid, index }: ArtifactId): string {
  return `${rid}-${index}`
}

async function put(folder: Folder, id: ArtifactId, artifact: NewArtifact, sweep: () => Promise<void>) {
  const { dir, node, boot, limits, clock, tally } = folder
  const { owner, contentType } = artifact
  const name = nameOf(id)
  const now = clock.now()
  const tag = `${now.toString(36)}${randomBytes(4).toString('hex')}`
  const head = { v: 1 as const, owner, contentType, tag, expiresAt: now + limits.keepMs }
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, `.${name}.${node}.${boot}${randomBytes(4).toString('hex')}.part`)
  const handle = await open(path, 'wx', 0o600)
  let bytes = 0
  try {
    try {
      await writeAll(handle, headBytes(head))
      for await (const piece of artifact.pieces) {
        if (tally.boundOver(owner, piece.length, bytes) !== undefined) await sweep()
        const bound = tally.boundOver(owner, piece.length, bytes)
        if (bound !== undefined) throw tally.refuse(bound)
        tally.reserve(owner, piece.length)
        bytes += piece.length
        await writeAll(handle, piece)
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(path, join(dir, name))
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    tally.reserve(owner, -bytes)
  }
  tally.add(name, { owner, bytes, expiresAt: head.expiresAt })
  return { owner, contentType, tag, expiresAt: head.expiresAt, bytes }
}

function headBytes(head: z.infer<typeof Head>): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES, ' ')
  const text = JSON.stringify(head)
  if (Buffer.byteLength(text) > HEAD_BYTES) throw new RangeError('the facts of a media file are too long')
  bytes.write(text)
  return bytes
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  let done = 0
  while (done < bytes.length) done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten
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

/** The facts at the beginning of a file; undefined when it is none of ours. */
async function readFacts(handle: FileHandle): Promise<ArtifactFacts | undefined> {
  const head = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await handle.read(head, 0, HEAD_BYTES, 0)
  if (bytesRead < HEAD_BYTES) return undefined
  const { v: _, ...facts } = Head.parse(JSON.parse(head.toString('utf8')))
  return { ...facts, bytes: (await handle.stat()).size - HEAD_BYTES }
}

async function removeStored({ dir, tally }: Folder, name: string): Promise<void> {
  await rm(join(dir, name), { force: true })
  tally.drop(name)
}

/** Learns what other processes stored and removed, and removes what is over and what was left unfinished. */
async function sweepFolder(folder: Folder): Promise<void> {
  const { dir, clock, tally, counts } = folder
  const known = [...tally.files.keys()]
  const names = await readdir(dir).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const present = new Set(names)
  for (const name of known) if (!present.has(name)) tally.drop(name)
  const foreign = names.filter((name) => STORED_NAME.test(name) && !tally.files.has(name))
  for (const name of foreign.slice(0, MAX_LEARNED)) await learn(folder, name)
  for (const name of names.filter((each) => UNFINISHED_NAME.test(each))) await removeLeftBehind(folder, name)
  const now = clock.now()
  const over = [...tally.files].filter(([, { expiresAt }]) => expiresAt <= now)
  over.sort(([, a], [, b]) => a.expiresAt - b.expiresAt)
  for (const [name] of over.slice(0, MAX_SWEPT)) {
    await removeStored(folder, name)
    counts.swept++
  }
}

async function learn(folder: Folder, name: string): Promise<void> {
  const handle = await openOrMissing(join(folder.dir, name))
  if (handle === undefined) return
  const facts = await readFacts(handle).catch(() => undefined)
  await handle.close()
  if (facts === undefined) await rm(join(folder.dir, name), { force: true })
  else folder.tally.add(name, facts)
}

/** A process removes the unfinished files of its earlier runs at once, and those of others once nobody writes them. */
async function removeLeftBehind({ dir, node, boot, clock }: Folder, name: string): Promise<void> {
  const writer = name.slice(name.indexOf('.', 1) + 1)
  if (writer.startsWith(`${node}.${boot}`)) return
  const path = join(dir, name)
  const isOwn =
    writer.startsWith(`${node}.`) && writer.lastIndexOf('.', writer.length - '.part'.length - 1) === node.length
  const found = isOwn ? undefined : await stat(path).catch(() => undefined)
  if (isOwn || (found !== undefined && found.mtimeMs < clock.now() - LEFT_BEHIND_MS)) await rm(path, { force: true })
}
