import { describe, expect, it } from 'vitest'
import { canServe, PROTOCOLS, ProtocolNameSchema } from '#shared/protocols/index.ts'
import { PLAIN_CONVERSATION } from '#shared/protocols/middle-form/conversation.ts'
import { buildModel } from '#test/support/build-market.ts'

const protocol = PROTOCOLS.contents
/** As that protocol's providers write them: two frames of a stream. */
const STREAM =
  'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":3}}\n\n' +
  'data: {"candidates":[{"content":{"parts":[{"text":"lo"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}\n\n'

describe('a third protocol', () => {
  it('is known by its name, sends its key in a header of its own, and has chats alone', () => {
    const headers: string[] = []
    protocol.addCredential(headers, 'key-of-a-seller')
    expect(headers).toEqual(['x-goog-api-key', 'key-of-a-seller'])
    expect(ProtocolNameSchema.parse('contents')).toBe('contents')
    const speaker = { apiFormat: 'contents' } as const
    expect([canServe(speaker, 'chat'), canServe(speaker, 'openai'), canServe(speaker, 'video')]).toEqual([
      true,
      false,
      false,
    ])
  })

  it('lists, probes and reads refusals', () => {
    expect(protocol.listing.read('{"models":[{"name":"models/a-model"}]}')).toEqual(new Set(['a-model']))
    expect(protocol.probe.request('a-model').path).toBe('/models/a-model:generateContent')
    expect(protocol.readError('{"error":{"code":400,"message":"bad part"}}')).toEqual({
      message: 'bad part',
      isContext: false,
    })
  })

  it('writes a conversation', () => {
    const conversation = {
      ...PLAIN_CONVERSATION,
      isStreamed: true,
      turns: [{ role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }],
    } as const
    const plan = { offer: { providerModel: 'a-model' }, target: { model: buildModel() }, maxOutputTokens: 9 }
    const { path, body } = protocol.encode(conversation, plan)
    expect(path).toBe('/models/a-model:streamGenerateContent?alt=sse')
    expect(JSON.parse(body)).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: { maxOutputTokens: 9 },
    })
  })

  it('reads a stream, cut anywhere', () => {
    for (let cut = 0; cut <= STREAM.length; cut++) {
      const reader = protocol.reader(true)
      const events = [
        ...reader.push(Buffer.from(STREAM.slice(0, cut))),
        ...reader.push(Buffer.from(STREAM.slice(cut))),
        ...reader.end(),
      ]
      expect(events.flatMap((event) => (event.kind === 'text' ? [event.text] : [])).join('')).toBe('Hello')
      expect(events.at(-1)).toEqual({ kind: 'finish', reason: 'stop', stopSequence: null })
      expect(reader.failure()).toBeUndefined()
      expect(reader.reported()).toEqual({ inputTokens: 3, outputTokens: 2, insaneFields: 0 })
    }
  })
})
