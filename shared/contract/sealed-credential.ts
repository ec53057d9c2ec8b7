import { z } from 'zod'

/**
 * A provider key at rest in Postgres and in the snapshot. A data key of its own encrypts it (AES-256-GCM), and a key of
 * the ring wraps the data key. The bound facts are authenticated, so a row that was moved to another tenant, host or
 * credential does not open. All binary fields are base64url.
 */
export const SealedCredentialSchema = z.object({
  v: z.literal(1),
  id: z.string().startsWith('crd_'),
  /** Account that owns it. */
  tenant: z.string(),
  /** The only host that it may be sent to. */
  host: z.string(),
  purpose: z.enum(['offer', 'resource', 'own-provider', 'webhook', 'job-end', 'mail']),
  /** The key of the ring that wraps the data key. */
  ringKeyId: z.string(),
  wrapIv: z.string(),
  wrappedKey: z.string(),
  iv: z.string(),
  ciphertext: z.string(),
})
export type SealedCredential = z.infer<typeof SealedCredentialSchema>
