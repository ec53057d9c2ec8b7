import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'

/** No copy larger than this is read. */
const MAX_FILE_BYTES = 1_073_741_824
const FileSchema = z.object({ v: z.literal(1), documents: z.record(z.string(), z.string()) })

/** Reads the copy on disk: document texts by name; undefined when there is none or it cannot be read. */
export async function readSnapshotFile(path: string): Promise<Record<string, string> | undefined> {
  try {
    const bytes = await readFile(path)
    if (bytes.length > MAX_FILE_BYTES) return undefined
    return FileSchema.parse(JSON.parse(bytes.toString('utf8'))).documents
  } catch {
    return undefined
  }
}

/** Replaces the copy on disk whole. It holds sealed credentials: only this user may read it. */
export async function writeSnapshotFile(path: string, documents: ReadonlyMap<string, string>): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  try {
    await writeFile(draft, JSON.stringify({ v: 1, documents: Object.fromEntries(documents) }), { mode: 0o600 })
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}
