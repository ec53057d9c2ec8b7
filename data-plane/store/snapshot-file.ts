import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** No copy larger than this is read. */
const MAX_FILE_BYTES = 1_073_741_824
/** A file is written anew when this much of it, and more than half, is what newer lines have replaced. */
const MIN_WASTE_BYTES = 1_048_576

/** Documents that came since the last time, by name; null for one that is gone. */
export type ChangedDocuments = ReadonlyMap<string, string | null>

/** Reads the copy on disk: document texts by name. Nothing comes of a file that is not there or cannot be read. */
export async function* readSnapshotFile(
  path: string,
): AsyncGenerator<{ readonly name: string; readonly text: string }> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    if ((await file.stat()).size > MAX_FILE_BYTES) return
    const newest = new Map<string, string>()
    for await (const line of file.readLines()) {
      const [name, text] = splitLine(line)
      if (name === undefined) continue
      if (text === '') newest.delete(name)
      else newest.set(name, text)
    }
    for (const [name, text] of newest) yield { name, text }
  } catch {
    // As if there were none.
  } finally {
    await file?.close()
  }
}

/** Keeps a copy of the documents on disk. It holds sealed credentials: only this user may read it. */
export type SnapshotFile = { save(changed: ChangedDocuments): Promise<void> }

type Place = { readonly start: number; readonly bytes: number }

/**
 * One line for each document, its name as JSON and its text; a later line of the same name counts. A change is added at
 * the end, so that a market of any size costs no more to keep than what changes of it, and nothing of it stays in
 * memory. The first save of a process has to bring everything: it replaces what an earlier process left. A save that
 * throws has kept nothing, and the same changes are to be brought again.
 */
export function createSnapshotFile(path: string): SnapshotFile {
  const places = new Map<string, Place>()
  let size = 0
  let isOurs = false

  /** Writes lines from where the last good one ends; only then do they count. */
  async function append(file: FileHandle, changed: ChangedDocuments): Promise<void> {
    const added = new Map<string, Place | undefined>()
    let end = size
    for (const [name, text] of changed) {
      const line = Buffer.from(`${JSON.stringify(name)} ${text ?? ''}\n`)
      await file.write(line, 0, line.length, end)
      added.set(name, text === null ? undefined : { start: end, bytes: line.length })
      end += line.length
    }
    await file.truncate(end)
    size = end
    for (const [name, place] of added) {
      if (place === undefined) places.delete(name)
      else places.set(name, place)
    }
  }

  /** Writes a new file beside the old one and puts it in its place. */
  async function replace(write: (file: FileHandle) => Promise<void>): Promise<void> {
    const draft = `${path}.${randomBytes(6).toString('hex')}`
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      const file = await open(draft, 'w', 0o600)
      try {
        await write(file)
      } finally {
        await file.close()
      }
      await rename(draft, path)
    } finally {
      await rm(draft, { force: true })
    }
  }

  async function compact(): Promise<void> {
    const old = await open(path, 'r')
    const moved = new Map<string, Place>()
    let end = 0
    try {
      await replace(async (file) => {
        for (const [name, { start, bytes }] of places) {
          const line = Buffer.alloc(bytes)
          await old.read(line, 0, bytes, start)
          await file.write(line, 0, bytes, end)
          moved.set(name, { start: end, bytes })
          end += bytes
        }
      })
    } finally {
      await old.close()
    }
    for (const [name, place] of moved) places.set(name, place)
    size = end
  }

  async function add(changed: ChangedDocuments): Promise<void> {
    const file = await open(path, 'r+')
    try {
      await append(file, changed)
    } finally {
      await file.close()
    }
    let live = 0
    for (const { bytes } of places.values()) live += bytes
    if (size - live > Math.max(live, MIN_WASTE_BYTES)) await compact()
  }

  return {
    async save(changed) {
      if (isOurs) return add(changed)
      await replace((file) => append(file, changed))
      isOurs = true
    },
  }
}

/** A line is a name as JSON, a space, and the text. One that was cut short has no name, or a text that is refused later. */
function splitLine(line: string): [name: string | undefined, text: string] {
  const found = /^("(?:[^"\\]|\\.)*") /.exec(line)
  const name: unknown = found === null ? undefined : JSON.parse(found[1] ?? '')
  return typeof name === 'string' ? [name, line.slice(found?.[0].length)] : [undefined, '']
}
