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
  /** True with a part whose tokens do not follow from its bytes: a document, sound, film, a file by its address. */
  isOpenEnded?: true
  /** Documents that are no plain text, some of them by an address, or all as data. Absent where there are none. */
  documents?: 'data' | 'url'
  /** True with a picture or a document by its address, on the messages wire. */
  hasAddresses?: true
  /** Kinds of blocks or parts that only some sellers know. Absent where there are none. */
  otherKinds?: Set<string>
  /** Marks of a prompt cache that cost more than reading does, one of each kind. Absent where there are none. */
  costly?: CostlyMember[]
  /** True where a part, a turn or a tool has a mark of a prompt cache. */
  hasCacheMarks?: true
  /** True where earlier answers come back with seals of ours. */
  hasSeals?: true
  /** True where earlier answers come back with citations of ours. */
  hasForeignCitations?: true
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

/** Notes the marks of a prompt cache on a part, a turn or a tool. `only` are the protocols that carry them. */
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

/** True for a part, a turn or a tool with a mark of a prompt cache. */
export function hasCacheMark(holder: Readonly<Record<string, unknown>>): boolean {
  return CACHE_MARKS.some((name) => isGiven(holder[name]))
}

/** The costly members of a conversation: those at the top of its request, and the marks in it. */
export function costlyOf({ costly }: AskedMembers, content: Content): readonly CostlyMember[] {
  return content.costly === undefined ? costly : [...costly, ...content.costly]
}

/** Notes a document that is no plain text. Its pages are counted by its reader alone. */
export function noteDocument(content: Content, source: unknown): void {
  content.isOpenEnded = true
  const isByUrl = isRecord(source) && typeof source['url'] === 'string'
  if (isByUrl || content.documents === undefined) content.documents = isByUrl ? 'url' : 'data'
}

/** Notes inlined data or an address where an image is due. Some providers read documents, sound and film there. */
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
