import { z } from 'zod'
import type { CredentialForm } from '#shared/protocols/protocol.ts'

/** An access token is longer than a key: Google names 2,048 bytes as the most. */
const Token = z
  .string()
  .min(8)
  .max(2_048)
  .regex(/^[\x21-\x7e]+$/, 'a token is printable ASCII without spaces')

/** An access token of Google Cloud. */
export const CLAUDE_CREDENTIAL: CredentialForm = {
  schema: Token,
  words: 'an access token of Google Cloud',
}
