import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'

const MIN_KEY_BITS = 2_048
/** Members that are not named here are dropped. The token URL is one of them: it is the same for all accounts. */
export const ServiceAccountSchema = z.object({
  type: z.literal('service_account'),
  project_id: z.string().regex(/^[a-z0-9.:-]{1,64}$/),
  client_email: z.string().regex(/^[\w.+-]{1,100}@[a-z0-9.-]{1,150}$/i),
  private_key: z.string().max(6_000).transform(pemOf),
  private_key_id: z
    .string()
    .regex(/^[\w-]{1,128}$/)
    .optional(),
})

/** A service account of Google Cloud, for which access tokens are made. */
export type ServiceAccount = z.output<typeof ServiceAccountSchema>

/** The account in a sealed credential. Undefined in any other text. */
export function readServiceAccount(sealed: string): ServiceAccount | undefined {
  return sealed.startsWith('{') ? ServiceAccountSchema.safeParse(parseJson(sealed)).data : undefined
}

/** Writes a service account in its normal form. */
export function writeServiceAccount({
  type,
  project_id,
  client_email,
  private_key,
  private_key_id,
}: ServiceAccount): string {
  return JSON.stringify({
    type,
    project_id,
    client_email,
    private_key,
    ...(private_key_id !== undefined && { private_key_id }),
  })
}

/** Reads a private RSA key and writes it in PEM. */
function pemOf(text: string, issues: z.RefinementCtx): string {
  try {
    const key = createPrivateKey(text)
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
    if (key.asymmetricKeyType === 'rsa' && bits >= MIN_KEY_BITS) {
      return key.export({ type: 'pkcs8', format: 'pem' }).toString()
    }
  } catch {
    // A text that is no key is refused with the same message.
  }
  issues.addIssue({ code: 'custom', message: 'no private RSA key' })
  return z.NEVER
}
