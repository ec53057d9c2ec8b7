import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const SeededKeysSchema = z.strictObject({
  buyer_key: z.string(),
  /** By seller id; the first is the one that is shown. */
  seller_keys: z.record(z.string(), z.string()),
  management_key: z.string(),
})

/** The keys that the seeds made: of the funded buyer, of each seller, and of an operator. */
export type SeededKeys = z.infer<typeof SeededKeysSchema>

/** Where a home keeps them, by the name inside it. */
export const SEEDED_KEYS_FILE = 'keys.json'

export function readSeededKeys(file: string): SeededKeys | undefined {
  return existsSync(file) ? SeededKeysSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

export function writeSeededKeys(file: string, keys: SeededKeys): void {
  writeFileSync(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
}
