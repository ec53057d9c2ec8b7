import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'

const MARK = 'gAAAA'
const Sealed = z.object({ account: z.string(), text: z.string(), extra: z.looseObject({}).optional() })

/** A thought that only its maker's account can read again, with members of the calls after it. */
export type SampleThought = { readonly text: string; readonly extra?: object | undefined }

/** The account of a key. */
export function accountOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 12)
}

export function sealThought(thought: SampleThought, account: string): string {
  return MARK + Buffer.from(JSON.stringify({ account, ...thought })).toString('base64url')
}

/** Undefined for the thought of another account, or for another text. */
export function openThought(sealed: string, account: string): SampleThought | undefined {
  if (!sealed.startsWith(MARK)) return undefined
  const parsed = Sealed.safeParse(parseJson(Buffer.from(sealed.slice(MARK.length), 'base64url').toString('utf8')))
  return parsed.success && parsed.data.account === account ? parsed.data : undefined
}
