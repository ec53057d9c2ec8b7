import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const SeededKeysSchema = z.strictObject({
  buyer_key: z.string(),
  /** By seller id. The first one is shown to the user. */
  seller_keys: z.record(z.string(), z.string()),
  management_key: z.string(),
})

/** The seeds' keys: of the funded buyer, of each seller, and of an operator. */
export type SeededKeys = z.infer<typeof SeededKeysSchema>

/** The file in a home with these keys. */
export const SEEDED_KEYS_FILE = 'keys.json'

export function readSeededKeys(file: string): SeededKeys | undefined {
  return existsSync(file) ? SeededKeysSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

export function writeSeededKeys(file: string, keys: SeededKeys): void {
  writeFileSync(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
}
