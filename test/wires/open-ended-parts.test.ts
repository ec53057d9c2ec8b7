import { describe, expect, it } from 'vitest'
import { boundOf } from '#data-plane/pipeline/plan/quote-call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { buildModel, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'

const URL_OF = (name: string) => `https://files.example/${name}`
const WINDOW = 128_000
const TARGET = buildTarget(buildModel({ contextLength: WINDOW }))

const bodyOf = (part: object) => ({ model: 'gpt-5-mini', messages: [{ role: 'user', content: [part] }], max_tokens: 9 })
const itemOf = (part: object) => ({
  model: 'gpt-5-mini',
  input: [{ role: 'user', content: [part] }],
  max_output_tokens: 9,
})

/** The input tokens for which a call with the request makes a hold. */
function heldFor(wire: ModelWire, body: object): number {
  const { demand } = wire.read(buildRaw(JSON.stringify(body)))
  return boundOf(TARGET, demand).inputTokens
}

const pdf = Buffer.from('%PDF-1.7').toString('base64')

describe('a part whose tokens do not follow from its bytes', () => {
  it.each([
    ['chat', 'a file by its address', chat, bodyOf({ type: 'file', file: { file_data: URL_OF('a.pdf') } })],
    ['chat', 'a file', chat, bodyOf({ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } })],
    ['chat', 'a film', chat, bodyOf({ type: 'video_url', video_url: { url: URL_OF('a.mp4') } })],
    [
      'chat',
      'a film with words',
      chat,
      bodyOf({ type: 'video_url', text: 'see', video_url: { url: URL_OF('a.mp4') } }),
    ],
    ['chat', 'sound', chat, bodyOf({ type: 'input_audio', input_audio: { data: pdf, format: 'mp3' } })],
    [
      'chat',
      'a document in an image’s place',
      chat,
      bodyOf({ type: 'image_url', image_url: `data:application/pdf,${pdf}` }),
    ],
    [
      'chat',
      'a film in the assistant’s turn',
      chat,
      {
        ...bodyOf({ type: 'text', text: 'hi' }),
        messages: [{ role: 'assistant', content: [{ type: 'video_url', video_url: { url: URL_OF('a.mp4') } }] }],
      },
    ],
    [
      'messages',
      'a document by its address',
      messages,
      bodyOf({ type: 'document', source: { type: 'url', url: URL_OF('a.pdf') } }),
    ],
    [
      'messages',
      'a document',
      messages,
      bodyOf({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }),
    ],
    [
      'messages',
      'a document in a result',
      messages,
      bodyOf({
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'document', source: { type: 'url', url: URL_OF('a.pdf') } }],
      }),
    ],
    ['responses', 'a file by its address', responses, itemOf({ type: 'input_file', file_url: URL_OF('a.pdf') })],
    ['responses', 'a file', responses, itemOf({ type: 'input_file', filename: 'a.pdf', file_data: pdf })],
  ] as const)('%s makes a hold for the whole context: %s', (_wire, _part, wire, body) => {
    expect(heldFor(wire, body)).toBe(WINDOW)
  })

  it.each([
    ['chat', 'words', chat, bodyOf({ type: 'text', text: 'hi' })],
    ['chat', 'an image', chat, bodyOf({ type: 'image_url', image_url: { url: URL_OF('a.png') } })],
    [
      'chat',
      'an inlined image',
      chat,
      bodyOf({ type: 'image_url', image_url: { url: `data:image/png;base64,${pdf}` } }),
    ],
    ['messages', 'an image', messages, bodyOf({ type: 'image', source: { type: 'url', url: URL_OF('a.png') } })],
    [
      'messages',
      'a document of words',
      messages,
      bodyOf({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' } }),
    ],
    ['responses', 'an image', responses, itemOf({ type: 'input_image', image_url: URL_OF('a.png') })],
  ] as const)('%s makes a hold for the sent input: %s', (_wire, _part, wire, body) => {
    expect(heldFor(wire, body)).toBeLessThan(2_000)
  })

  it.each([
    ['chat', chat, bodyOf({ type: 'text', text: 'hi' })],
    ['completions', completions, { model: 'gpt-5-mini', prompt: 'hi' }],
  ] as const)('%s has a prediction', (_wire, wire, body) => {
    const predicted = (more: object) => {
      const { demand } = wire.read(buildRaw(JSON.stringify({ ...body, ...more })))
      return demand.bounds.isPredicted === true
    }
    expect(predicted({})).toBe(false)
    expect(predicted({ prediction: null })).toBe(false)
    expect(predicted({ prediction: { type: 'content', content: 'long' } })).toBe(true)
    expect(predicted({ speculation: 'long' })).toBe(true)
  })
})
