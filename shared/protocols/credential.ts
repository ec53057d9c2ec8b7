import { z } from 'zod'
import type { Speaker } from './index.ts'
import { protocolOf } from './index.ts'
import type { CredentialForm } from './protocol.ts'
import type { ServiceAccount } from './service-account.ts'

/** A key of one line, limited to characters that a header can hold. */
export const PLAIN_KEY: CredentialForm = {
  schema: z
    .string()
    .min(8)
    .max(512)
    .regex(/^[\x21-\x7e]+$/, 'a key is printable ASCII without spaces'),
  words: '8 to 512 characters of printable ASCII without spaces',
}

function formOf(speaker: Speaker): CredentialForm {
  return protocolOf(speaker).credential ?? PLAIN_KEY
}

/**
 * The normal form of a credential, in which it is encrypted. Undefined for a text that the protocol does not accept.
 */
export function readCredential(speaker: Speaker, text: string): string | undefined {
  return formOf(speaker).schema.safeParse(text).data
}

/** Describes in words the text that {@link readCredential} accepts. */
export function credentialWords(speaker: Speaker): string {
  return formOf(speaker).words
}

/** The parts of a sealed credential that only its owner may read. */
export function secretsOf(speaker: Speaker, text: string): readonly string[] {
  return formOf(speaker).secretsOf?.(text) ?? [text]
}

/**
 * The service account for which access tokens are made from an encrypted credential. Undefined where the credential
 * itself authorizes the calls.
 */
export function accountOf(speaker: Speaker, text: string): ServiceAccount | undefined {
  return formOf(speaker).accountOf?.(text)
}
