import type { SampleCall } from '#dev/provider/answer.ts'
import { BEHAVIOURS, SANDBOX_LAB } from '#dev/provider/behaviours.ts'
import { readChatRequest } from '#dev/provider/chat-request.ts'
import { complete } from '#dev/provider/completion.ts'
import type { Reply } from '#dev/provider/reply.ts'

const SLOW_MS = 3_000
const SILENCE_MS = 90_000
const DRIP_MS = 1_000
const DRIPS = 8

/** An answer outside chat: its bytes, and those of an empty answer. */
export type MediaAnswer = { readonly contentType: string; readonly bytes: Buffer; readonly empty: Buffer }

/** Behaviours that answer without reading the request. */
const ASKED_NOTHING: ReadonlySet<string> = new Set([
  'rate-limited',
  'overloaded',
  'server-error',
  'unauthorized',
  'error-in-200',
  'html-in-200',
  'context-overflow',
  'bad-request',
  'redirect',
  'hang',
  'not-found',
  'payment-required',
  'no-content',
  'deep-json',
  'gzip-bomb',
])

/** The behaviour of a model: the name after `sandbox/`, or an empty text for a working model. */
export function actOf(model: string): string {
  return model.startsWith(`${SANDBOX_LAB}/`) ? model.slice(SANDBOX_LAB.length + 1) : ''
}

/** Sends an answer with the model's behaviour. */
export async function sendMedia(reply: Reply, act: string, answer: MediaAnswer): Promise<void> {
  const { bytes, contentType } = answer
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2))
  const open = () => reply.headers(200, { 'content-type': contentType })
  if (ASKED_NOTHING.has(act)) return BEHAVIOURS[act]?.answer(blankCall(reply))
  switch (act) {
    case 'slow-first-token':
      await reply.wait(SLOW_MS)
      break
    case 'empty':
      open()
      return reply.end(answer.empty)
    case 'malformed-sse':
      open()
      return reply.end('{')
    case 'cut-before-content':
      open()
      await reply.flush()
      return reply.cut()
    case 'cut-mid-stream':
      open()
      await reply.write(half)
      await reply.wait(50)
      return reply.cut()
    case 'silence':
      open()
      await reply.write(half)
      await reply.wait(SILENCE_MS)
      return reply.end(bytes.subarray(half.length))
    case 'drip':
      open()
      for (const piece of piecesOf(bytes)) {
        await reply.write(piece)
        await reply.wait(DRIP_MS)
      }
      return reply.end()
  }
  reply.headers(200, { 'content-type': contentType, 'content-length': String(bytes.length) })
  reply.end(bytes)
}

function piecesOf(bytes: Buffer): readonly Buffer[] {
  const size = Math.max(1, Math.ceil(bytes.length / DRIPS))
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

/** A call of which only the reply is used. */
function blankCall(reply: Reply): SampleCall {
  const request = readChatRequest({ model: 'none', messages: [{ role: 'user', content: 'nothing' }] })
  if (request === undefined) throw new Error('a blank request is a chat request')
  const completion = complete(request, { cachedTokens: 0, now: 0 })
  return { request, completion, recompose: () => completion, reply }
}
