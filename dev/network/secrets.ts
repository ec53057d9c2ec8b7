import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'

const SecretsSchema = z.strictObject({
  CREDENTIAL_KEYS: z.string(),
  KEY_PEPPER: z.string(),
  FINGERPRINT_PEPPER: z.string(),
  SESSION_SECRET: z.string(),
})

/** The secrets of one home, named as the planes' environment variables. */
export type NetworkSecrets = z.infer<typeof SecretsSchema>

type Keeping = {
  /** A file that exists once the market has data. Only the market's secrets open the data. */
  readonly data?: string
  /** Creates new secrets even beside existing data. */
  readonly mayReplace?: boolean
}

/**
 * Reads the secrets of a home. The first start creates them at random, with mode 0600. Throws AppError `conflict` when
 * the home has data and no secrets, because new ones would make every key and sealed credential useless.
 */
export function keepSecrets(file: string, { data, mayReplace = false }: Keeping = {}): NetworkSecrets {
  if (!existsSync(file)) {
    if (data !== undefined && existsSync(data) && !mayReplace) {
      const message = `${file} is missing, and this market has data: without it no API key and no stored provider key can be read. Put the file back from a backup; or start with \`npm start -- --new-secrets\`, which keeps the books and makes every key and stored provider key useless; or begin anew with \`npm start -- --reset\`.`
      throw new AppError('conflict', { message })
    }
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
