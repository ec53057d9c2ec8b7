import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const SecretsSchema = z.strictObject({
  CREDENTIAL_KEYS: z.string(),
  KEY_PEPPER: z.string(),
  FINGERPRINT_PEPPER: z.string(),
  SESSION_SECRET: z.string(),
})

/** The secrets of one home, named as the planes' environment variables. */
export type NetworkSecrets = z.infer<typeof SecretsSchema>

/** Reads the secrets of a home, made at random on its first start and kept with mode 0600. */
export function keepSecrets(file: string): NetworkSecrets {
  if (!existsSync(file)) {
    const random = () => randomBytes(32).toString('base64')
    const fresh: NetworkSecrets = {
      CREDENTIAL_KEYS: `dev1:${random()}`,
      KEY_PEPPER: random(),
      FINGERPRINT_PEPPER: random(),
      SESSION_SECRET: random(),
    }
    writeFileSync(file, `${JSON.stringify(fresh, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  }
  return SecretsSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}
