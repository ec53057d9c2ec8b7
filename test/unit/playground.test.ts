import { describe, expect, it } from 'vitest'
import { readEvents } from '#control-plane/dashboard/data/read-events.ts'
import { callOf } from '#control-plane/dashboard/market/playground/call-of.ts'
import type { PlaygroundModel, ShownColumn } from '#control-plane/dashboard/market/playground/columns.ts'
import { addressOf, columnsOf, makingOf } from '#control-plane/dashboard/market/playground/columns.ts'
import { snippetOf } from '#control-plane/dashboard/market/playground/snippets.ts'

const CHAT: PlaygroundModel = {
  id: 'thinker',
  name: 'Thinker',
  endpoints: ['chat'],
  inputModalities: ['text', 'image'],
  outputModalities: ['text'],
  parameters: ['max_tokens', 'reasoning_effort'],
  maxCompletionTokens: 500,
  mediaUnit: null,
  best: { inputPer1m: 1, outputPer1m: 2, mediaUnitPrice: null },
  providers: [],
}
const column = (market: PlaygroundModel | undefined, provider?: string): ShownColumn => ({
  id: 'thinker',
  model: 'thinker',
  provider,
  market,
  making: makingOf(market, undefined),
})
const question = { text: 'And now?', pictures: [] }

describe('columns of a URL', () => {
  it('are four at most, with the seller where one is named, and read back unchanged', () => {
    const text = 'a/b,a/b,c@p1,d:free,e'
    const columns = columnsOf(text)
    expect(columns.map(({ id, model, provider }) => [id, model, provider])).toEqual([
      ['a/b', 'a/b', undefined],
      ['a/b#2', 'a/b', undefined],
      ['c@p1', 'c', 'p1'],
      ['d:free', 'd:free', undefined],
    ])
    expect(addressOf(columns)).toBe('a/b,a/b,c@p1,d:free')
    for (const odd of [undefined, '', ' , ,', '@p1']) expect(columnsOf(odd)).toHaveLength(1)
  })

  it('have the endpoint that their models are sold for', () => {
    const of = (endpoints: string[], outputModalities: string[]) =>
      makingOf({ ...CHAT, endpoints, outputModalities }, 'music')
    expect(of(['chat'], ['text', 'audio'])).toBe('chat')
    expect(of(['chat', 'image', 'image-edit'], ['image', 'text'])).toBe('image')
    expect(of(['speech'], ['audio'])).toBe('speech')
    expect(of(['video'], ['video'])).toBe('film')
    expect(of(['music'], ['audio'])).toBe('music')
    expect([makingOf(undefined, 'film'), makingOf(undefined, undefined)]).toEqual(['film', 'chat'])
  })
})

describe('the call of a column', () => {
  it('has the system prompt, the messages of the column, and the parameters that its model supports', () => {
    const exchanges = [{ question: { text: 'First', pictures: [] }, answer: 'One' }]
    const settings = { system: 'Be brief.', temperature: 0.5, effort: 'low' as const, topP: 0.9 }
    expect(callOf(column(CHAT, 'p1'), { settings, exchanges, question })).toEqual({
      path: '/v1/chat/completions',
      body: {
        model: 'thinker',
        provider: { only: ['p1'] },
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'First' },
          { role: 'assistant', content: 'One' },
          { role: 'user', content: 'And now?' },
        ],
        max_tokens: 500,
        reasoning_effort: 'low',
        stream: true,
      },
    })
  })

  it('has pictures in the form of its endpoint', () => {
    const pictured = { text: 'See', pictures: [{ name: 'a.png', bytes: 1, url: 'data:image/png;base64,AA' }] }
    const asked = { settings: { system: ' ', tokens: 9 }, exchanges: [], question: pictured }
    expect(callOf(column(CHAT), asked).body['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
        ],
      },
    ])
    const drawn = { ...CHAT, endpoints: ['image'], outputModalities: ['image'] }
    expect(callOf(column(drawn), asked).body).toMatchObject({
      prompt: 'See',
      images: [{ image_url: expect.any(String) }],
    })
    const filmed = { ...CHAT, endpoints: ['video'], outputModalities: ['video'] }
    expect(callOf(column(filmed), asked)).toMatchObject({
      path: '/v1/video/generations',
      body: { prompt: 'See', image_url: 'data:image/png;base64,AA' },
    })
  })
})

describe('the code of a call', () => {
  const { path, body } = callOf(column(CHAT, 'p1'), {
    settings: { system: "It's so", tokens: 9 },
    exchanges: [],
    question: { text: 'Look', pictures: [{ name: 'a', bytes: 1, url: `data:image/png;base64,${'A'.repeat(500)}` }] },
  })

  it('is safe to paste, reads its key from the environment, and shortens pictures', () => {
    for (const language of ['curl', 'Python', 'TypeScript'] as const) {
      const text = snippetOf(language, 'http://127.0.0.1:1', { path, body })
      expect(text).toContain('MARKET_KEY')
      expect(text).not.toContain('A'.repeat(200))
    }
    expect(snippetOf('curl', 'http://127.0.0.1:1', { path, body })).toContain(`It'\\''s so`)
  })

  it('is valid Python: members that the client does not know are in extra_body', () => {
    const text = snippetOf('Python', 'http://127.0.0.1:1', { path, body })
    expect(text).toContain('extra_body={"provider": {"only": ["p1"]}},')
    expect(text).toContain('stream=True,')
    expect(text).not.toMatch(/\btrue\b|\bnull\b/)
  })
})

describe('events of a stream', () => {
  const streamOf = (...parts: readonly string[]) =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        for (const part of parts) controller.enqueue(new TextEncoder().encode(part))
        controller.close()
      },
    })
  const read = async (...parts: readonly string[]) => {
    const events: unknown[] = []
    for await (const event of readEvents(streamOf(...parts))) events.push(event)
    return events
  }

  it('are read across any cuts, without comments, up to their end', async () => {
    const text = ': wait\n\ndata: {"a":"é"}\n\ndata: {"b":2}\n\ndata: [DONE]\n\ndata: {"c":3}\n\n'
    expect(await read(text)).toEqual([{ a: 'é' }, { b: 2 }])
    expect(await read(...text)).toEqual([{ a: 'é' }, { b: 2 }])
    expect(await read('data: {"a":1}\n\ndata: {"cut"')).toEqual([{ a: 1 }])
    await expect(read('data: nonsense\n\n')).rejects.toThrow()
  })
})
