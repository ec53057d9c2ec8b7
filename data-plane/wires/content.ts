import type { InlinedSource } from '#data-plane/call.ts'
import { fullLength } from './inlined-data.ts'

/** The size of a conversation: images and documents, characters of inlined data, and characters of other text. */
export type Content = {
  images: number
  inlinedChars: number
  spokenChars: number
  /** Kinds of blocks or parts that only some sellers know. Absent where there are none. */
  otherKinds?: Set<string>
  /** The length of a text of the request, with the data that was left in its bytes. */
  readonly lengthOf: (text: string) => number
}

/** An empty count. Only where we have put stand-ins in does one count as its data: a buyer could write one. */
export function newContent({ hasStandIns }: Pick<InlinedSource, 'hasStandIns'>): Content {
  return { images: 0, inlinedChars: 0, spokenChars: 0, lengthOf: hasStandIns ? fullLength : charsOf }
}

/** Notes a kind of block or part that only some sellers know. */
export function noteKind(content: Content, kind: string): void {
  content.otherKinds ??= new Set()
  content.otherKinds.add(kind)
}

/** Bytes of a request's body that may become tokens one by one: all but its inlined data. */
export function textBytesOf(body: Buffer, { inlinedChars }: Content): number {
  return Math.max(0, body.length - inlinedChars)
}

function charsOf(text: string): number {
  return text.length
}
