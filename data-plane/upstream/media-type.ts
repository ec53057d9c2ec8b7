/** The type of bytes of an unknown kind. Browsers only save them. */
const UNKNOWN_TYPE = 'application/octet-stream'
/** Bytes at the beginning of a file that identify its kind. */
export const HEAD_BYTES = 512

/** Kinds of files by their first bytes, as latin-1. */
const KINDS: readonly { readonly type: string; readonly head: RegExp }[] = [
  { type: 'image/png', head: /^\x89PNG\r\n.\n/s },
  { type: 'image/jpeg', head: /^\xff\xd8\xff/ },
  { type: 'image/gif', head: /^GIF8[79]a/ },
  { type: 'image/webp', head: /^RIFF.{4}WEBP/s },
  { type: 'image/avif', head: /^.{4}ftypavi[fs]/s },
  { type: 'image/heic', head: /^.{4}ftyp(?:hei[cxms]|hev[cx]|mif1|msf1)/s },
  { type: 'audio/mp4', head: /^.{4}ftypM4[AB] /s },
  { type: 'video/quicktime', head: /^.{4}(?:ftypqt {2}|moov|wide)/s },
  { type: 'video/mp4', head: /^.{4}ftyp/s },
  { type: 'video/webm', head: /^.E\xdf\xa3/s },
  { type: 'video/x-msvideo', head: /^RIFF.{4}AVI /s },
  { type: 'audio/wav', head: /^RIFF.{4}WAVE/s },
  { type: 'audio/ogg', head: /^OggS/ },
  { type: 'audio/flac', head: /^fLaC/ },
  { type: 'audio/mpeg', head: /^(?:ID3|\xff[\xe2-\xe7\xf2-\xf7\xfa\xfb])/ },
  { type: 'audio/aac', head: /^\xff[\xf0\xf1\xf8\xf9]/ },
]

/** Containers of video or sound. Only the content type of the server says which. */
const EITHER: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['video/mp4', new Set(['audio/mp4'])],
  ['video/webm', new Set(['audio/webm'])],
  ['audio/ogg', new Set(['audio/opus', 'video/ogg'])],
])

/** Types of documents. A server that declares one has sent a page or a message and no media. */
const DOCUMENT = /^(?:text\/|application\/(?:xhtml\+xml|xml|json|javascript|problem\+json)$|image\/svg)/

/**
 * The media type of a file by its first bytes. The server's declaration only decides between types with the same bytes.
 * Undefined for a text, or a file declared as one: a page, a message, a program.
 */
export function mediaTypeOf(head: Buffer, declared: string): string | undefined {
  const declaredType = declared.toLowerCase().split(';', 1)[0]?.trim() ?? ''
  const text = head.toString('latin1', 0, HEAD_BYTES)
  const kind = KINDS.find((each) => each.head.test(text))
  if (kind !== undefined) return EITHER.get(kind.type)?.has(declaredType) === true ? declaredType : kind.type
  return DOCUMENT.test(declaredType) || isText(text) ? undefined : UNKNOWN_TYPE
}

/** True for bytes without control characters other than those of lines and terminals, and for none at all. */
function isText(text: string): boolean {
  return ![...text].some((sign) => sign < ' ' && !'\t\n\v\f\r\x1b'.includes(sign))
}
