import type { UpstreamRequest } from '#data-plane/call.ts'
import type { JsonMember } from './json-members.ts'

/** A request's own text with the bytes that it was read from. */
export type BodySource = { readonly text: string; readonly bytes: Buffer }

/** From this size on a body is not put together as one text: a member of that size goes on as the bytes that came. */
const LARGE_BYTES = 1_048_576

/** Puts a seller's body together from texts of ours and members of the buyer's. */
export type BodyParts = {
  add(text: string): void
  /** The value of a member, as it came. */
  addValue(member: JsonMember): void
  done(): Pick<UpstreamRequest, 'body' | 'pieces'>
}

/** Images that lie in a body make it large: copied as text and as bytes they would be held four times over. */
export function createBodyParts(source: BodySource): BodyParts {
  const pieces: Buffer[] = []
  let body = ''
  function addBytes(member: JsonMember): void {
    pieces.push(Buffer.from(body), valueBytes(source, member))
    body = ''
  }
  return {
    add(text) {
      body += text
    },
    addValue(member) {
      if (member.end - member.start >= LARGE_BYTES) addBytes(member)
      else body += source.text.slice(member.start, member.end).trim()
    },
    done() {
      if (pieces.length === 0) return { body }
      return { body: '', pieces: [...pieces, Buffer.from(body)] }
    },
  }
}

/** Where the text is ASCII its places are those of the bytes; else what stands before is measured. */
function valueBytes({ text, bytes }: BodySource, { start, end }: JsonMember): Buffer {
  if (text.length === bytes.length) return bytes.subarray(start, end)
  const from = Buffer.byteLength(text.slice(0, start))
  return bytes.subarray(from, from + Buffer.byteLength(text.slice(start, end)))
}
