import type { InlinedSource } from '#data-plane/call.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import { CACHE_MARKS, cacheMarkCost } from '#shared/members/of-text.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import type { CostlyMember } from '#shared/members/surcharge.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { fullLength } from './inlined-data.ts'

/** The size of a conversation: images and documents, characters of inlined data, and characters of other text. */
export type Content = {
  images: number
  inlinedChars: number
  spokenChars: number
  /** True for a part whose tokens do not follow from its bytes: a document, sound, video, a file by URL. */
  isOpenEnded?: true
  /** Documents other than plain text, some by URL, or all as data. Absent without any. */
  documents?: 'data' | 'url'
  /** True for an image or a document by URL, on the messages wire. */
  hasAddresses?: true
  /** Kinds of blocks or parts that only some sellers support. Absent without any. */
  otherKinds?: Set<string>
  /** Cache marks that cost more than a read, one of each kind. Absent without any. */
  costly?: CostlyMember[]
  /** True when a part, a turn or a tool has a cache mark. */
  hasCacheMarks?: true
  /** True when earlier answers come back with our seals. */
  hasSeals?: true
  /** True when earlier answers come back with our citations. */
  hasForeignCitations?: true
  /** The length of a text of the request, including its data that was left in the bytes. */
  readonly lengthOf: (text: string) => number
}

/**
 * An empty count. A stand-in counts with the length of its data only in a request in which the data plane inserted it.
 * A buyer can write the same text, which then counts as text.
 */
export function newContent({ hasStandIns }: Pick<InlinedSource, 'hasStandIns'>): Content {
  return { images: 0, inlinedChars: 0, spokenChars: 0, lengthOf: hasStandIns ? fullLength : charsOf }
}

/** Records a kind of block or part that only some sellers support. */
export function noteKind(content: Content, kind: string): void {
  content.otherKinds ??= new Set()
  content.otherKinds.add(kind)
}

/** Records the cache marks on a part, a turn or a tool. `only` are the protocols that carry them. */
export function noteCacheMarks(
  content: Content,
  holder: Readonly<Record<string, unknown>>,
  at: string,
  only?: readonly ProtocolName[],
): void {
  for (const name of CACHE_MARKS) {
    const mark = holder[name]
    if (!isGiven(mark)) continue
    content.hasCacheMarks = true
    const surcharge = cacheMarkCost(name, mark)
    if (surcharge === undefined || content.costly?.some((costlyMember) => costlyMember.surcharge === surcharge))
      continue
    content.costly ??= []
    content.costly.push({ param: `${at}.${name}`, surcharge, ...(only !== undefined && { only }) })
  }
}

/** True for a part, a turn or a tool with a cache mark. */
export function hasCacheMark(holder: Readonly<Record<string, unknown>>): boolean {
  return CACHE_MARKS.some((name) => isGiven(holder[name]))
}

/** The costly members of a conversation: those at the top of its request, and the marks in it. */
export function costlyOf({ costly }: AskedMembers, content: Content): readonly CostlyMember[] {
  return content.costly === undefined ? costly : [...costly, ...content.costly]
}

/** Records a document that is no plain text. Only its reader counts its pages. */
export function noteDocument(content: Content, source: unknown): void {
  content.isOpenEnded = true
  const isByUrl = isRecord(source) && typeof source['url'] === 'string'
  if (isByUrl || content.documents === undefined) content.documents = isByUrl ? 'url' : 'data'
}

/** Records inlined data or a URL in the place of an image. Some providers read documents, sound and video there. */
export function noteSource(content: Content, url: string): void {
  if (/^data:(?!image\/)/i.test(url)) content.isOpenEnded = true
}

/** Bytes of a request's body that may become tokens one by one: all but its inlined data. */
export function textBytesOf(body: Buffer, { inlinedChars }: Content): number {
  return Math.max(0, body.length - inlinedChars)
}

function charsOf(text: string): number {
  return text.length
}
