import { isDeepStrictEqual } from 'node:util'
import type { Answer, SampleCall } from './answer.ts'
import { answerPlainly, errorBody, sendCompletion, sendEnding } from './answer.ts'
import type { Completion } from './completion.ts'
import { chunkOf, closingChunk, contentChunks, deltaChunk, openingChunk, usageChunk, wholeBody } from './completion.ts'

const FIRST_TOKEN_DELAY_MS = 3_000
const SILENCE_MS = 90_000
const DRIP_MS = 1_000
/** Short enough to reach a limit soon, long enough to spare the machine. Milliseconds. */
const ENDLESS_PAUSE_MS = 5
const ENDLESS_TOKENS_PER_PAUSE = 8
const BIG_LINE_BYTES = 1_500_000
const COMMENT_FLOOD = 1_000
/** The number of bytes sent one by one before pieces of three follow. */
const SINGLE_BYTES = 400

export const answerSlowly: Answer = async (call) => {
  await call.reply.wait(FIRST_TOKEN_DELAY_MS)
  await answerPlainly(call)
}

/** Half of the answer, a long silence, and the rest. */
export const answerWithSilence: Answer = async (call) => {
  const { completion, reply, request } = call
  if (!request.isStream) {
    await reply.wait(SILENCE_MS)
    return answerPlainly(call)
  }
  const chunks = contentChunks(completion)
  const half = Math.ceil(chunks.length / 2)
  await sendOpening(call, completion, chunks.slice(0, half))
  await reply.wait(SILENCE_MS)
  for (const chunk of chunks.slice(half)) await reply.event(chunk)
  await sendEnding(call, completion)
}

/** Half of the answer, and then the connection breaks. */
export const answerHalf: Answer = async (call) => {
  const { completion, reply, request } = call
  const chunks = contentChunks(completion)
  if (request.isStream) {
    await sendOpening(call, completion, chunks.slice(0, Math.ceil(chunks.length / 2)))
  } else {
    const text = JSON.stringify(wholeBody(completion))
    reply.headers(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) })
    await reply.write(text.slice(0, text.length / 2))
  }
  await settle(call)
  reply.cut()
}

/** The headers and, in a stream, the role. Then the connection breaks. */
export const answerNothing: Answer = async (call) => {
  if (call.request.isStream) await sendOpening(call, call.completion, [])
  await settle(call)
  call.reply.cut()
}

/** Events that no parser can read, among valid ones. */
export const answerMalformed: Answer = async (call) => {
  const { completion, reply, request } = call
  if (!request.isStream) {
    reply.headers(200, { 'content-type': 'application/json' })
    return reply.end('{"id":"chatcmpl-broken","choices":[{"index":0,"message":{"role":"assist')
  }
  reply.openStream()
  await reply.event('{"id":"chatcmpl-broken","choi')
  await reply.write('data {"no":"colon"}\n\n: a comment\n\ndata:\n\n\n')
  for (const chunk of contentChunks(completion)) await reply.event(chunk)
  await reply.event('not json at all')
  await sendEnding(call, completion)
}

/** Characters of two to four bytes, cut at every place. */
export const answerInPieces: Answer = async (call) => {
  const completion = call.recompose({
    text: 'Grüße aus Zürich: 你好，世界 🌍🚀 und ein „Zitat“ von Ωmega, naïve café 👩‍👩‍👧‍👦.',
  })
  const { reply, request } = call
  if (!request.isStream) {
    reply.headers(200, { 'content-type': 'application/json' })
    await sendPieces(call, Buffer.from(JSON.stringify(wholeBody(completion))))
    return reply.end()
  }
  reply.openStream()
  const chunks = [openingChunk(completion), ...contentChunks(completion), closingChunk(completion)]
  const usage = request.wantsUsage ? [usageChunk(completion)] : []
  await sendPieces(call, Buffer.from([...chunks, ...usage, '[DONE]'].map((chunk) => `data: ${chunk}\n\n`).join('')))
  reply.end()
}

async function sendPieces({ reply }: SampleCall, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const size = at < SINGLE_BYTES ? 1 : 3
    await reply.write(bytes.subarray(at, at + size))
    await reply.flush()
    at += size
  }
}

/** Sends a token per second. */
export const answerInDrips: Answer = async (call) => {
  const { completion, reply, request } = call
  const chunks = contentChunks(completion)
  if (!request.isStream) {
    await reply.wait(chunks.length * DRIP_MS)
    return answerPlainly(call)
  }
  await sendOpening(call, completion, [])
  for (const chunk of chunks) {
    await reply.wait(DRIP_MS)
    await reply.event(chunk)
  }
  await sendEnding(call, completion)
}

/** Streams until the client disconnects, whatever the request allows. */
export const answerEndlessly: Answer = async ({ completion, reply, request }) => {
  const token = deltaChunk(completion, { content: ' again' })
  if (request.isStream) {
    reply.openStream()
    await reply.event(openingChunk(completion))
  } else {
    reply.headers(200, { 'content-type': 'application/json' })
    await reply.write('{"id":"chatcmpl-endless","choices":[{"index":0,"message":{"role":"assistant","content":"')
  }
  const piece = request.isStream ? `data: ${token}\n\n` : ' again'
  while (!reply.isGone()) {
    await reply.write(piece.repeat(ENDLESS_TOKENS_PER_PAUSE))
    await reply.wait(ENDLESS_PAUSE_MS)
  }
}

/** Tries to smuggle events, ids, retry times and text past the end into the buyer's stream. */
export const answerWithInjection: Answer = async (call) => {
  const completion = call.recompose({
    text: 'One line\r\n\r\nevent: evil\ndata: {"injected":true}\n\nand\ra bare return.',
  })
  const { reply, request } = call
  if (!request.isStream) return sendCompletion(call, completion)
  reply.openStream()
  await reply.write('retry: 0\nid: 7\nevent: evil\n\n')
  await reply.write(': comment\n'.repeat(COMMENT_FLOOD))
  await reply.write(`event: message\r\nid: 8\r\ndata: ${openingChunk(completion)}\r\n\r\n`)
  for (const chunk of contentChunks(completion)) await reply.write(`id: 9\rdata: ${chunk}\r\r`)
  await reply.write(`data: ${closingChunk(completion)}\n\n`)
  if (request.wantsUsage) await reply.event(usageChunk(completion))
  await reply.event('[DONE]')
  await reply.event(deltaChunk(completion, { content: ' after the end' }))
  reply.end('event: evil\ndata: {"no":"blank line at the end"}')
}

/** Sends an event of more than a megabyte. */
export const answerBigLine: Answer = (call) =>
  sendCompletion(call, { ...call.completion, content: ['x'.repeat(BIG_LINE_BYTES)] })

/** The arguments of a tool call in single characters, as most providers stream them. */
export function answerToolCrumbs(hasIndex: boolean): Answer {
  return async (call) => {
    const completion = withToolCall(call)
    const { reply, request } = call
    const { toolCall } = completion
    if (!request.isStream || !toolCall) return sendCompletion(call, completion)
    const part = (fields: object) =>
      deltaChunk(completion, { tool_calls: [hasIndex ? { index: 0, ...fields } : fields] })
    const head = part({ id: toolCall.id, type: 'function', function: { name: toolCall.name, arguments: '' } })
    await sendOpening(call, completion, [head])
    for (const crumb of toolCall.arguments) await reply.event(part({ function: { arguments: crumb } }))
    await sendEnding(call, completion)
  }
}

/** A tool call in one piece. */
export const answerToolWhole: Answer = (call) => sendCompletion(call, withToolCall(call))

/** Two calls under one index, distinguished only by their ids. */
export const answerToolsUnderOneIndex: Answer = async (call) => {
  const completion = withToolCall(call)
  const { toolCall } = completion
  if (!call.request.isStream || !toolCall) return sendCompletion(call, completion)
  const { id, name, arguments: input } = toolCall
  const calls = [id, `${id}b`].map((one) =>
    deltaChunk(completion, {
      tool_calls: [{ index: 0, id: one, type: 'function', function: { name, arguments: input } }],
    }),
  )
  await sendOpening(call, completion, calls)
  await sendEnding(call, completion)
}

/** Calls the tool of the request, or one of its own when the request has none. */
function withToolCall(call: SampleCall): Completion {
  if (call.completion.toolCall) return call.completion
  const toolCall = { id: 'call_sandbox', name: 'get_weather', arguments: '{"city":"Zürich","days":3}' }
  return { ...call.completion, content: [], toolCall, finishReason: 'tool_calls' }
}

/** An answer without a token. */
export const answerEmpty: Answer = async (call) => {
  const usage = { ...call.completion.usage, completion_tokens: 0, total_tokens: call.completion.usage.prompt_tokens }
  await sendCompletion(call, { ...call.completion, content: [], reasoning: [], toolCall: undefined, usage })
}

/** Counts the tokens of its answer and shows none of them. */
export function answerUnseen(finishReason: Completion['finishReason']): Answer {
  return async (call) => {
    const { usage } = call.completion
    const thoughts = { reasoning_tokens: usage.completion_tokens }
    await sendCompletion(call, {
      ...call.completion,
      content: [],
      reasoning: [],
      toolCall: undefined,
      finishReason,
      usage: { ...usage, completion_tokens_details: thoughts },
    })
  }
}

/** Reports any usage: `final` is sent in a whole answer and at a stream's end, `each` in every chunk. */
export function answerWithUsage(
  final: (completion: Completion) => unknown,
  each?: (completion: Completion, index: number) => unknown,
): Answer {
  return async (call) => {
    const { completion, reply, request } = call
    const usage = final(completion)
    if (!request.isStream) return reply.json(200, { ...wholeBody(completion), usage })
    reply.openStream()
    const deltas = completion.content.map((token) => ({ index: 0, delta: { content: token }, finish_reason: null }))
    for (const [index, choice] of deltas.entries()) {
      await reply.event(chunkOf(completion, [choice], each ? { usage: each(completion, index) } : {}))
    }
    await reply.event(closingChunk(completion))
    if (request.wantsUsage && usage !== undefined) await reply.event(usageChunk(completion, usage))
    reply.end('data: [DONE]\n\n')
  }
}

/** The Unix seconds of a provider whose clock is wrong. */
const LONG_AGO = 1_000_000_000

/** A successful answer with a wrong creation time. */
export const answerLongAgo: Answer = (call) => sendCompletion(call, { ...call.completion, created: LONG_AGO })

const THOUGHT = 'A tool knows.'
const SIGNED = { extra_content: { google: { thought_signature: 'c2FtcGxlK3NpZ25hdHVyZS8=' } } }

/** Thinks and calls a tool. Continues only when its thought and the call's signature come back. */
export const answerWithKeptParts: Answer = async (call) => {
  const { lastAnswer } = call.request
  const calls = lastAnswer?.['tool_calls']
  if (!Array.isArray(calls)) {
    const completion = withToolCall(call)
    const toolCall = completion.toolCall && { ...completion.toolCall, extra: SIGNED }
    return sendCompletion(call, { ...completion, reasoning: [THOUGHT], toolCall })
  }
  const isSigned = calls.some(
    (one) =>
      typeof one === 'object' &&
      one !== null &&
      isDeepStrictEqual(Reflect.get(one, 'extra_content'), SIGNED.extra_content),
  )
  if (isSigned && lastAnswer?.['reasoning_content'] === THOUGHT) return answerPlainly(call)
  const missing = isSigned ? 'reasoning_content' : 'thought_signature'
  call.reply.json(400, errorBody(`Function call is missing a ${missing}.`, 'invalid_request_error', 'invalid_value'))
}

/** A stream for a call for an object, and an object for a call for a stream. */
export const answerInOtherForm: Answer = (call) => {
  const request = { ...call.request, isStream: !call.request.isStream, wantsUsage: true }
  return sendCompletion({ ...call, request }, call.completion)
}

async function sendOpening({ reply }: SampleCall, completion: Completion, chunks: readonly string[]): Promise<void> {
  reply.openStream()
  await reply.event(openingChunk(completion))
  for (const chunk of chunks) await reply.event(chunk)
}

/** Lets written bytes leave before the connection is broken. */
async function settle({ reply }: SampleCall): Promise<void> {
  await reply.flush()
  await reply.wait(20)
}
