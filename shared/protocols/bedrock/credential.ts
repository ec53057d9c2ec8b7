import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import type { CredentialForm } from '#shared/protocols/protocol.ts'

/** Short-term keys hold a signed URL, so they are long. */
const ApiKey = z
  .string()
  .min(8)
  .max(4_096)
  .regex(/^[\x21-\x7e]+$/)

const Pair = z.strictObject({
  access_key_id: z.string().regex(/^[A-Z0-9]{16,128}$/),
  secret_access_key: z.string().regex(/^[A-Za-z0-9/+=]{16,128}$/),
  session_token: z
    .string()
    .min(16)
    .max(4_096)
    .regex(/^[\x21-\x7e]+$/)
    .optional(),
})

/** An access key of AWS, which signs requests. */
export type AccessKey = z.infer<typeof Pair>

/** An API key of Bedrock in one line, or an access key as JSON in any order and spacing. */
export const BEDROCK_CREDENTIAL: CredentialForm = {
  schema: z.string().transform((text, issues) => {
    const isPair = text.trimStart().startsWith('{')
    const read = isPair ? Pair.safeParse(parseJson(text)) : ApiKey.safeParse(text)
    if (!read.success) issues.addIssue({ code: 'custom', message: 'no credential of Bedrock' })
    return typeof read.data === 'object' ? textOf(read.data) : (read.data ?? '')
  }),
  words:
    'an API key of Bedrock, or a JSON object with access_key_id, secret_access_key and, where it is temporary, session_token',
  secretsOf(text) {
    const pair = readPair(text)
    if (pair === undefined) return [text]
    // The id identifies the account. No other party has to know it.
    const { access_key_id: id, secret_access_key: secret, session_token: token } = pair
    return token === undefined ? [secret, id] : [secret, token, id]
  },
}

/** The access key in a sealed credential. Undefined for an API key. */
export function readPair(sealed: string): AccessKey | undefined {
  return sealed.startsWith('{') ? Pair.safeParse(parseJson(sealed)).data : undefined
}

function textOf({ access_key_id, secret_access_key, session_token }: AccessKey): string {
  return JSON.stringify({ access_key_id, secret_access_key, ...(session_token !== undefined && { session_token }) })
}
