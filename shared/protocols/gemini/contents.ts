import { readJsonObject } from '#shared/json-members.ts'
import type {
  AssistantPart,
  Conversation,
  ConversationTurn,
  DataSource,
  FilePart,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  UrlSource,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { textOf } from '#shared/protocols/middle-form/conversation.ts'
import { joinedTexts } from '#shared/protocols/middle-form/joined-texts.ts'
import { writtenName } from './function-names.ts'
import { checksSignatures } from './generation.ts'
import { signatureIn, textSignatureIn, UNSIGNED } from './signatures.ts'

/**
 * The user's text where the protocol wants one: in an empty conversation, and ahead of one that begins with an answer.
 */
const OPENING = 'Continue.'

/** A turn with the texts of its parts, and commas between them. */
type Content = { readonly role: 'user' | 'model'; parts: string }

/** The calls of the turns so far by their ids: the functions that they call, and their places among all. */
type Calls = { readonly names: Map<string, string>; readonly places: Map<string, number>; count: number }

/**
 * The list of `contents` and the text of `systemInstruction`, empty without one. Calls keep their input letter by
 * letter.
 */
export function contentsOf(
  { system, turns }: Pick<Conversation, 'system' | 'turns'>,
  name: string,
): { readonly contents: string; readonly system: string } {
  const contents: Content[] = []
  if (turns[0]?.role === 'assistant') contents.push({ role: 'user', parts: textPart(OPENING) })
  const calls: Calls = { names: new Map(), places: new Map(), count: 0 }
  const whole = wholeTurns(turns)
  // The provider checks signatures only in the turns since the user's last text.
  const spokenAt = whole.findLastIndex(({ role, parts }) => role === 'user' && parts.some(isSpoken))
  for (const [index, turn] of whole.entries()) {
    const mustSign = index > spokenAt && checksSignatures(name)
    const role = turn.role === 'user' ? 'user' : 'model'
    const parts = turn.role === 'user' ? userParts(turn.parts, calls) : modelParts(turn.parts, calls, mustSign)
    const before = contents.at(-1)
    if (parts === '') continue
    if (before?.role === role) before.parts += `,${parts}`
    else contents.push({ role, parts })
  }
  if (contents.length === 0) contents.push({ role: 'user', parts: textPart(OPENING) })
  return {
    contents: `[${contents.map(({ role, parts }) => `{"role":"${role}","parts":[${parts}]}`).join(',')}]`,
    system: joinedTexts(system.map(({ text }) => textPart(text))),
  }
}

/** The turns, without the user's empty ones. Successive turns of the model are joined. */
function wholeTurns(turns: readonly ConversationTurn[]): readonly ConversationTurn[] {
  const whole: ConversationTurn[] = []
  for (const turn of turns) {
    const before = whole.at(-1)
    if (turn.role === 'user') {
      if (turn.parts.some((part) => part.kind !== 'text' || part.text !== '')) whole.push(turn)
    } else if (before?.role === 'assistant') {
      whole[whole.length - 1] = { role: 'assistant', parts: [...before.parts, ...turn.parts] }
    } else whole.push(turn)
  }
  return whole
}

function isSpoken({ kind }: UserPart | AssistantPart): boolean {
  return kind !== 'toolResult'
}

/** A text part. An empty text gives none, because the protocol refuses it. */
function textPart(text: string, signature?: string): string {
  return text === '' ? '' : `{"text":${JSON.stringify(text)}${signatureText(signature)}}`
}

function signatureText(signature: string | undefined): string {
  return signature === undefined ? '' : `,"thoughtSignature":${JSON.stringify(signature)}`
}

/**
 * Results come first, in the order of their calls, because models whose calls have no ids match results by their order.
 * The pictures of results follow, with the user's own parts.
 */
function userParts(parts: readonly UserPart[], calls: Calls): string {
  const results = parts.filter((part) => part.kind === 'toolResult')
  const placeOf = ({ callId }: ToolResultPart) => calls.places.get(callId) ?? calls.count
  results.sort((a, b) => placeOf(a) - placeOf(b))
  const media = results.flatMap((part) => part.parts.filter(({ kind }) => kind !== 'text'))
  const saidParts = parts.filter((part) => part.kind !== 'toolResult')
  return joinedTexts([...results.map((part) => resultPart(part, calls)), ...[...media, ...saidParts].map(saidPart)])
}

function saidPart(part: TextPart | ImagePart | FilePart): string {
  return part.kind === 'text' ? textPart(part.text) : sourcePart(part.source, part.kind)
}

/** Inlined data, or an address that the provider fetches. */
function sourcePart(source: DataSource | UrlSource, kind: 'image' | 'file'): string {
  if (source.kind === 'data') {
    const { mediaType, data } = source
    return `{"inlineData":{"mimeType":${JSON.stringify(mediaType)},"data":${JSON.stringify(data)}}}`
  }
  const mimeType = typeIn(source.url) ?? (kind === 'file' ? 'application/pdf' : undefined)
  const typed = mimeType === undefined ? '' : `"mimeType":${JSON.stringify(mimeType)},`
  return `{"fileData":{${typed}"fileUri":${JSON.stringify(source.url)}}}`
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
])

/** The refusal of a picture at an address that does not show its type. */
export const UNTYPED = 'The provider accepts an image URL only if it ends with the file type, such as .png.'

/** True for a picture at an address that does not show its type, also in the result of a call. */
export function isUntyped(part: UserPart | AssistantPart): boolean {
  if (part.kind === 'toolResult') return part.parts.some(isUntyped)
  return part.kind === 'image' && part.source.kind === 'url' && typeIn(part.source.url) === undefined
}

/** The media type by the file extension in a URL's path. A query does not count. */
export function typeIn(url: string): string | undefined {
  const [path = ''] = url.split(/[?#]/, 1)
  const ending = /\.([a-z]{3,4})$/i.exec(path)?.[1]
  return ending === undefined ? undefined : TYPES.get(ending.toLowerCase())
}

/** The result of a call, under the call's own name, as the object that the protocol wants. */
function resultPart({ callId, parts, isError }: ToolResultPart, { names }: Calls): string {
  const name = names.get(callId) ?? writtenName(callId.replace(/[^\w.:-]/g, '_'))
  const text = textOf(parts)
  const isObject = !isError && readJsonObject(text) !== undefined
  const response = isObject ? text.trim() : JSON.stringify(isError ? { error: text } : { output: text })
  return `{"functionResponse":{"id":${JSON.stringify(callId)},"name":${JSON.stringify(name)},"response":${response}}}`
}

/** An answer of the model. Thoughts are left out, because their maker only needs their signatures. */
function modelParts(parts: readonly AssistantPart[], calls: Calls, mustSign: boolean): string {
  const signature = textSignatureIn(parts)
  const lastText = parts.findLastIndex((part) => part.kind === 'text' && part.text !== '')
  // The signature of an empty text belongs to the first call.
  let spare = lastText < 0 ? signature : undefined
  if (mustSign) spare ??= UNSIGNED
  return joinedTexts(
    parts.map((part, index) => {
      if (part.kind === 'text') return textPart(part.text, index === lastText ? signature : undefined)
      if (part.kind === 'reasoning') return ''
      const own = signatureIn(part.members)
      const text = callPart(part, calls, own ?? spare)
      spare = undefined
      return text
    }),
  )
}

function callPart({ id, name: callName, input }: ToolCallPart, calls: Calls, signature?: string): string {
  const name = writtenName(callName)
  calls.names.set(id, name)
  calls.places.set(id, calls.count++)
  const args = readJsonObject(input) === undefined ? '{}' : input.trim()
  const call = `{"id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"args":${args}}`
  return `{"functionCall":${call}${signatureText(signature)}}`
}
