import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { CredentialForm } from '#shared/protocols/protocol.ts'
import { readServiceAccount, ServiceAccountSchema, writeServiceAccount } from '#shared/protocols/service-account.ts'

/** An access token is longer than a key: Google names 2,048 bytes as the most. */
const KeyOrToken = z
  .string()
  .min(8)
  .max(2_048)
  .regex(/^[\x21-\x7e]+$/)

/** The prefix of an access token that was made for a service account. No key contains a space. */
const MADE = 'Bearer '

/** An API key of Vertex AI, an access token, or the JSON of a service account. */
export const VERTEX_KEY = formOf('an API key of Vertex AI, an access token, or the JSON of a service account')

/** An access token of Google Cloud, or the JSON of a service account. */
export const VERTEX_TOKEN = formOf('an access token of Google Cloud, or the JSON of a service account')

function formOf(words: string): CredentialForm {
  return {
    words,
    schema: z.string().transform((text, issues) => {
      const isAccount = text.trimStart().startsWith('{')
      const read = isAccount ? ServiceAccountSchema.safeParse(parseJson(text)) : KeyOrToken.safeParse(text)
      if (!read.success) issues.addIssue({ code: 'custom', message: 'no credential of Google Cloud' })
      return typeof read.data === 'object' ? writeServiceAccount(read.data) : (read.data ?? '')
    }),
    accountOf: readServiceAccount,
    secretsOf(text) {
      const account = readServiceAccount(text)
      if (account === undefined) return [tokenIn(text) ?? text]
      const { private_key: pem } = account
      return [pem, pem.replace(/-----[A-Z ]+-----|\s/g, '')]
    },
  }
}

/** Writes an access token in the form that replaces its service account. */
export function madeToken(token: string): string {
  return MADE + token
}

/** The access token that was made for a service account. Undefined in any other text. */
export function tokenIn(sealed: string): string | undefined {
  return sealed.startsWith(MADE) ? sealed.slice(MADE.length) : undefined
}

/** Throws for a text that is a service account, whose private key goes to no provider. */
export function refuseAccount(sealed: string): void {
  if (sealed.startsWith('{')) throw new AppError('internal_error')
}
