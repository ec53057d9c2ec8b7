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
    for (const [name, text] of newest) {
      // Whoever has read one keeps it or does not: all of them at once would be as much as the market itself.
      newest.delete(name)
      yield { name, text }
    }
  } catch {
    // As if there were none.
  } finally {
    await file?.close()
  }
}

/** Keeps a copy of the documents on disk. It holds sealed credentials: only this user may read it. */
export type SnapshotFile = {
  /** Takes a part of what the first save is to bring: it counts from that save on. */
  gather(changed: ChangedDocuments): Promise<void>
  save(changed: ChangedDocuments): Promise<void>
}

type Place = { readonly start: number; readonly bytes: number }

/**
 * One line for each document, its name as JSON and its text; a later line of the same name counts. A change is added at
 * the end, so that a market of any size costs no more to keep than what changes of it, and nothing of it stays in
 * memory. The first save of a process, with what was gathered for it, has to bring everything: it replaces what an earlier
 * process left. One that throws has kept nothing, and the same changes are to be brought again.
 */
export function createSnapshotFile(path: string): SnapshotFile {
  const draft = `${path}.draft`
  const places = new Map<string, Place>()
  let size = 0
  let isGathering = false
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

  /** An empty file beside the copy, in place of one that an earlier process may have left. */
  async function openDraft(): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await rm(draft, { force: true })
    return open(draft, 'wx', 0o600)
  }

  async function gather(changed: ChangedDocuments): Promise<void> {
    await within(isGathering ? open(draft, 'r+') : openDraft(), (file) => {
      isGathering = true
      return append(file, changed)
    })
  }

  async function compact(): Promise<void> {
    const moved = new Map<string, Place>()
    let end = 0
    await within(openDraft(), (file) =>
      within(open(path, 'r'), async (old) => {
        for (const [name, { start, bytes }] of places) {
          const line = Buffer.alloc(bytes)
          await old.read(line, 0, bytes, start)
          await file.write(line, 0, bytes, end)
          moved.set(name, { start: end, bytes })
          end += bytes
        }
      }),
    )
    await rename(draft, path)
    for (const [name, place] of moved) places.set(name, place)
    size = end
  }

  async function add(changed: ChangedDocuments): Promise<void> {
    await within(open(path, 'r+'), (file) => append(file, changed))
    let live = 0
    for (const { bytes } of places.values()) live += bytes
    if (size - live > Math.max(live, MIN_WASTE_BYTES)) await compact()
  }

  return {
    gather: (changed) => (isOurs ? add(changed) : gather(changed)),
    async save(changed) {
      if (changed.size === 0 && (isOurs || !isGathering)) return
      if (isOurs) return add(changed)
      await gather(changed)
      await rename(draft, path)
      isOurs = true
    },
  }
}

/** Runs something with an open file, and closes it. */
async function within(opening: Promise<FileHandle>, run: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await opening
  try {
    await run(file)
  } finally {
    await file.close()
  }
}

/** A line is a name as JSON, a space, and the text. One that was cut short has no name, or a text that is refused later. */
function splitLine(line: string): [name: string | undefined, text: string] {
  const found = /^("(?:[^"\\]|\\.)*") /.exec(line)
  const name: unknown = found === null ? undefined : JSON.parse(found[1] ?? '')
  return typeof name === 'string' ? [name, line.slice(found?.[0].length)] : [undefined, '']
}
