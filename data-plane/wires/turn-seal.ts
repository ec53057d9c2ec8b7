import { createHmac, timingSafeEqual } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { z } from 'zod'
import type { Secret } from '#shared/secret.ts'

/** The beginning of every seal. Clients send it back within an id, so it has only letters that ids may have. */
const MARK = 'mkt1_'
/** The end of the provider's own id in front of a seal. */
const BORDER = `__${MARK}`
const MAC_BYTES = 16
/** The longest seal that is opened, in characters, and the longest text in one. */
const MAX_SEAL_CHARS = 4_194_304
const MAX_TEXT_CHARS = 8_388_608
/** The longest id with a seal in it. */
export const MAX_SEALED_ID_CHARS = 98_304

const Members = z.record(z.string(), z.unknown())

/** A part of an answer that its provider expects back, and that a buyer's wire has no place for. */
const Content = z.discriminatedUnion('kind', [
  /** Members of a call that only the provider understands. */
  z.strictObject({ kind: z.literal('call'), members: Members }),
  /** Unsigned reasoning: its text, the member in which it came, and details that came with it. */
  z.strictObject({
    kind: z.literal('thought'),
    text: z.string(),
    member: z.string().optional(),
    details: z.array(Members).optional(),
  }),
  /** The maker's signature over visible reasoning, or reasoning that only the maker can read. */
  z.strictObject({ kind: z.literal('signature'), text: z.string() }),
  z.strictObject({ kind: z.literal('redacted'), text: z.string() }),
  /** The maker's name of the phase of the text that begins after this many characters of the answer's texts. */
  z.strictObject({ kind: z.literal('phase'), phase: z.string(), at: z.int().nonnegative() }),
])
const Sealed = z.tuple([z.string(), Content])

export type SealedContent = z.infer<typeof Content>

/** A seal of the market: its content, and the maker of its answer. */
export type OpenedSeal = { readonly maker: string; readonly content: SealedContent }

/**
 * Seals parts of an answer for the buyer to keep, because no turns are kept here. All data planes open the same seals.
 */
export type TurnSeal = {
  close(maker: string, content: SealedContent): string
  /** Undefined for a text that is not one of our seals. */
  open(text: string): OpenedSeal | undefined
}

/**
 * Makes seals that only this market can make: a mark, an authentication code and compressed JSON, in letters of
 * base64url.
 */
export function createTurnSeal(pepper: Secret): TurnSeal {
  const key = pepper.derive('parts of turns that buyers keep')
  const macOf = (bytes: Buffer) => createHmac('sha256', key.reveal()).update(bytes).digest().subarray(0, MAC_BYTES)
  return {
    close(maker, content) {
      const bytes = deflateRawSync(JSON.stringify([maker, content]))
      return MARK + Buffer.concat([macOf(bytes), bytes]).toString('base64url')
    },
    open(text) {
      if (!isSealed(text) || text.length > MAX_SEAL_CHARS) return undefined
      const sealBytes = Buffer.from(text.slice(MARK.length), 'base64url')
      const bytes = sealBytes.subarray(MAC_BYTES)
      if (sealBytes.length <= MAC_BYTES || !timingSafeEqual(sealBytes.subarray(0, MAC_BYTES), macOf(bytes)))
        return undefined
      const parsed = Sealed.safeParse(JSON.parse(inflateRawSync(bytes, { maxOutputLength: MAX_TEXT_CHARS }).toString()))
      if (!parsed.success) return undefined
      const [maker, content] = parsed.data
      return { maker, content }
    },
  }
}

/** True for a text that looks like a seal. */
export function isSealed(text: string): boolean {
  return text.startsWith(MARK)
}

/** True for JSON text that may have a seal as a member's value. */
export function mayHoldSeal(json: string): boolean {
  return json.includes(`"${MARK}`)
}

/** An id with a seal in it. It is what a client sends back with the call and with its result. */
export function withSeal(id: string, seal: string): string {
  const sealed = `${id}__${seal}`
  return sealed.length <= MAX_SEALED_ID_CHARS ? sealed : id
}

/** The provider's own id, and the seal behind it. */
export function splitId(id: string): { readonly id: string; readonly seal: string | undefined } {
  const at = id.lastIndexOf(BORDER)
  return at < 0 ? { id, seal: undefined } : { id: id.slice(0, at), seal: id.slice(at + 2) }
}
