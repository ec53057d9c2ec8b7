import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The largest copy that is read, in bytes. */
const MAX_FILE_BYTES = 1_073_741_824
/** The file is written anew when outdated lines are more than this, and more than half of the file. */
const MIN_WASTE_BYTES = 1_048_576

/** Documents that changed since the last save, by name; null for a removed one. */
export type ChangedDocuments = ReadonlyMap<string, string | null>

/** Reads the copy on disk: document texts by name. Yields nothing for a file that is missing or unreadable. */
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
    for (const [name, text] of newest) {
      // Each text is dropped once it is read. All of them together would be as large as the market itself.
      newest.delete(name)
      yield { name, text }
    }
  } catch {
    // An unreadable file counts as a missing one.
  } finally {
    await file?.close()
  }
}

/** Keeps a copy of the documents on disk. It holds sealed credentials: only this user may read it. */
export type SnapshotFile = {
  /** Collects a part of the first save. It counts only when that save is done. */
  gather(changedDocuments: ChangedDocuments): Promise<void>
  save(changedDocuments: ChangedDocuments): Promise<void>
}

type Place = { readonly start: number; readonly bytes: number }

/**
 * Opens the copy. Each document is one line, its name as JSON and its text; a later line of the same name counts.
 * Changes are appended, so they cost no more in a larger market, and no text stays in memory.
 *
 * The first save of a process, with the parts that were collected for it, must hold everything, because it replaces the
 * copy of an earlier process. A save that throws has stored nothing, and the same changes must be saved again.
 */
export function createSnapshotFile(path: string): SnapshotFile {
  const draft = `${path}.draft`
  const places = new Map<string, Place>()
  let size = 0
  let isGathering = false
  let isOurs = false

  /** Appends lines to the last valid one. They count only once all are written. */
  async function append(file: FileHandle, changedDocuments: ChangedDocuments): Promise<void> {
    const addedPlaces = new Map<string, Place | undefined>()
    let end = size
    for (const [name, text] of changedDocuments) {
      const line = Buffer.from(`${JSON.stringify(name)} ${text ?? ''}\n`)
      await file.write(line, 0, line.length, end)
      addedPlaces.set(name, text === null ? undefined : { start: end, bytes: line.length })
      end += line.length
    }
    await file.truncate(end)
    size = end
    for (const [name, place] of addedPlaces) {
      if (place === undefined) places.delete(name)
      else places.set(name, place)
    }
  }

  /** Opens an empty file beside the copy. It replaces a file that an earlier process may have left. */
  async function openDraft(): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await rm(draft, { force: true })
    return open(draft, 'wx', 0o600)
  }

  async function gather(changedDocuments: ChangedDocuments): Promise<void> {
    await within(isGathering ? open(draft, 'r+') : openDraft(), (file) => {
      isGathering = true
      return append(file, changedDocuments)
    })
  }

  async function compact(): Promise<void> {
    const movedPlaces = new Map<string, Place>()
    let end = 0
    await within(openDraft(), (file) =>
      within(open(path, 'r'), async (old) => {
        for (const [name, { start, bytes }] of places) {
          const line = Buffer.alloc(bytes)
          await old.read(line, 0, bytes, start)
          await file.write(line, 0, bytes, end)
          movedPlaces.set(name, { start: end, bytes })
          end += bytes
        }
      }),
    )
    await rename(draft, path)
    for (const [name, place] of movedPlaces) places.set(name, place)
    size = end
  }

  async function add(changedDocuments: ChangedDocuments): Promise<void> {
    await within(open(path, 'r+'), (file) => append(file, changedDocuments))
    let live = 0
    for (const { bytes } of places.values()) live += bytes
    if (size - live > Math.max(live, MIN_WASTE_BYTES)) await compact()
  }

  return {
    gather: (changedDocuments) => (isOurs ? add(changedDocuments) : gather(changedDocuments)),
    async save(changedDocuments) {
      if (changedDocuments.size === 0 && (isOurs || !isGathering)) return
      if (isOurs) return add(changedDocuments)
      await gather(changedDocuments)
      await rename(draft, path)
      isOurs = true
    },
  }
}

/** Runs `run` with an open file and closes it afterwards. */
async function within(opening: Promise<FileHandle>, run: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await opening
  try {
    await run(file)
  } finally {
    await file.close()
  }
}

/** A line is a name as JSON, a space, and the text. A truncated line has no name, or a text that is refused later. */
function splitLine(line: string): [name: string | undefined, text: string] {
  const match = /^("(?:[^"\\]|\\.)*") /.exec(line)
  const name: unknown = match === null ? undefined : JSON.parse(match[1] ?? '')
  return typeof name === 'string' ? [name, line.slice(match?.[0].length)] : [undefined, '']
}
