import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { buildOffer, buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { RECEIPT } from '#test/support/bytes/message-answers.ts'
import { chatFrame, dataOf, decodePieces, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const URLS = ['https://a.invalid/tides', 'https://b.invalid/moon'] as const
const TEXT = 'High water is at six.'
const USAGE = { prompt_tokens: 9, completion_tokens: 8 }
/** The members in which Perplexity names its pages. */
const FOUND = {
  citations: URLS,
  search_results: [{ title: 'Tides', url: URLS[0], date: null }],
  related_questions: ['And the moon?'],
}
const ANNOTATIONS = [
  { type: 'url_citation', url_citation: { url: URLS[0], title: 'Tides', start_index: 1, end_index: 5 } },
]
const CITATION = {
  type: 'web_search_result_location',
  url: URLS[0],
  title: 'Tides',
  cited_text: TEXT,
  encrypted_index: 'Eo8B',
}

const PERPLEXITY = {
  whole: {
    choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
    usage: USAGE,
    ...FOUND,
  },
  stream:
    chatFrame({ delta: { role: 'assistant', content: TEXT } }, FOUND) +
    chatFrame({ delta: {}, finish_reason: 'stop' }, { ...FOUND, usage: USAGE }) +
    'data: [DONE]\n\n',
}
const OPENAI = {
  whole: {
    choices: [
      { index: 0, message: { role: 'assistant', content: TEXT, annotations: ANNOTATIONS }, finish_reason: 'stop' },
    ],
    usage: USAGE,
  },
  stream:
    chatFrame({ delta: { role: 'assistant', content: TEXT } }) +
    chatFrame({ delta: { annotations: ANNOTATIONS } }) +
    chatFrame({ delta: {}, finish_reason: 'stop' }) +
    chatFrame(null, { usage: USAGE }) +
    'data: [DONE]\n\n',
}
const CLAUDE = {
  whole: {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: TEXT, citations: [CITATION] }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 9, output_tokens: 8 },
  },
  stream: [
    { type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: [] } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } },
    { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: CITATION } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 8 } },
    { type: 'message_stop' },
  ]
    .map(messagesEvent)
    .join(''),
}

const RESPONSE_PART = {
  type: 'output_text',
  text: TEXT,
  annotations: [{ type: 'url_citation', url: URLS[0], title: 'Tides', start_index: 0, end_index: 4 }],
}
const RESPONSE = {
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [RESPONSE_PART] }],
  usage: { input_tokens: 9, output_tokens: 8 },
}
const at = { item_id: 'm', output_index: 0, content_index: 0 }
const RESPONSES = {
  whole: RESPONSE,
  stream: [
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'm', content: [] } },
    { type: 'response.output_text.delta', ...at, delta: TEXT },
    {
      type: 'response.output_text.annotation.added',
      ...at,
      annotation_index: 0,
      annotation: RESPONSE_PART.annotations[0],
    },
    { type: 'response.output_item.done', output_index: 0, item: RESPONSE.output[0] },
    { type: 'response.completed', response: RESPONSE },
  ]
    .map(messagesEvent)
    .join(''),
}

const WIRES = { chat, messages, responses }
const ASKS = {
  chat: { messages: [{ role: 'user', content: 'When?' }] },
  messages: { max_tokens: 50, messages: [{ role: 'user', content: 'When?' }] },
  responses: { input: 'When?' },
}
type Kind = keyof typeof WIRES
type Bytes = { readonly whole: object; readonly stream: string }

/** The answer that a buyer gets, as text. */
function answered(
  kind: Kind,
  isStreamed: boolean,
  { whole, stream }: Bytes,
  apiFormat: ProtocolName = 'openai',
): string {
  const body = { model: 'gpt-5-mini', stream: isStreamed, ...ASKS[kind] }
  const call = WIRES[kind].read(buildRaw(JSON.stringify(body)))
  const decoder = call.decoder(buildPlan({ offer: offerOf(buildOffer({ apiFormat })) }))
  const out = decodePieces(decoder, isStreamed ? stream : JSON.stringify(whole), [])
  return out + decoder.finish(RECEIPT)
}

/** The data of a stream's events. */
function framesOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): unknown => JSON.parse(line.slice(6)))
}

const annotation = (url: string, title: string) => ({
  type: 'url_citation',
  url_citation: { url, title, start_index: 0, end_index: 0 },
})
const location = (url: string, title: string) => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: '',
  encrypted_index: '',
})
const cited = (url: string, title: string) => ({
  type: 'url_citation',
  url,
  title,
  start_index: 0,
  end_index: TEXT.length,
})
const PAGES = [
  [URLS[0], 'Tides'],
  [URLS[1], ''],
] as const

describe('the pages that an answer cites', () => {
  it('stay unchanged, on the chat wire', () => {
    expect(JSON.parse(answered('chat', false, PERPLEXITY))).toMatchObject(FOUND)
    const frames = framesOf(answered('chat', true, PERPLEXITY))
    expect(frames.filter((frame) => dataOf(frame, 'citations') !== undefined)).toEqual([
      expect.objectContaining({ ...FOUND, choices: [expect.objectContaining({ finish_reason: 'stop' })] }),
    ])
    expect(dataOf(JSON.parse(answered('chat', false, OPENAI)), 'choices', '0', 'message', 'annotations')).toEqual(
      ANNOTATIONS,
    )
  })

  it.each([
    ['messages', CLAUDE],
    ['responses', RESPONSES],
  ] as const)('are annotations of a chat, from a seller of the protocol %s', (apiFormat, bytes) => {
    const annotations = [annotation(URLS[0], 'Tides')]
    const body = JSON.parse(answered('chat', false, bytes, apiFormat))
    expect(body.choices[0].message.annotations).toEqual(annotations)
    const deltas = framesOf(answered('chat', true, bytes, apiFormat)).map((frame) =>
      dataOf(frame, 'choices', '0', 'delta', 'annotations'),
    )
    expect(deltas.filter((one) => one !== undefined)).toEqual([annotations])
  })

  it.each([
    ['Perplexity', PERPLEXITY, PAGES, 'openai'],
    ['OpenAI', OPENAI, PAGES.slice(0, 1), 'openai'],
    ['OpenAI’s responses', RESPONSES, PAGES.slice(0, 1), 'responses'],
  ] as const)('are citations of a message, from %s', (_name, bytes, pages, apiFormat) => {
    const citations = pages.map(([url, title]) => location(url, title))
    expect(JSON.parse(answered('messages', false, bytes, apiFormat)).content).toEqual([
      { type: 'text', text: TEXT, citations },
    ])
    const deltas = framesOf(answered('messages', true, bytes, apiFormat)).map((frame) =>
      dataOf(frame, 'delta', 'citation'),
    )
    expect(deltas.filter((one) => one !== undefined)).toEqual(citations)
  })

  it.each([
    ['Perplexity', PERPLEXITY, 'openai', PAGES],
    ['OpenAI', OPENAI, 'openai', PAGES.slice(0, 1)],
    ['a seller of the messages protocol', CLAUDE, 'messages', PAGES.slice(0, 1)],
    ['OpenAI’s responses', RESPONSES, 'responses', PAGES.slice(0, 1)],
  ] as const)('are annotations of a response, from %s', (_name, bytes, apiFormat, pages) => {
    // A seller of the same protocol knows the place of each page in the text.
    const annotations =
      apiFormat === 'responses' ? RESPONSE_PART.annotations : pages.map(([url, title]) => cited(url, title))
    const body = JSON.parse(answered('responses', false, bytes, apiFormat))
    expect(body.output[0].content[0]).toMatchObject({ type: 'output_text', text: TEXT, annotations })
    const events = framesOf(answered('responses', true, bytes, apiFormat))
    const added = events.filter((event) => dataOf(event, 'type') === 'response.output_text.annotation.added')
    expect(added.map((event) => dataOf(event, 'annotation'))).toEqual(annotations)
    expect(added.map((event) => dataOf(event, 'annotation_index'))).toEqual(pages.map((_, at) => at))
    const last = events.at(-1)
    expect(dataOf(last, 'response', 'output', '0', 'content', '0', 'annotations')).toEqual(annotations)
  })

  it('return to the maker of a model only where that maker has written them', () => {
    const earlier = [{ type: 'text', text: TEXT, citations: [location(URLS[1], ''), CITATION] }]
    const body = {
      model: 'gpt-5-mini',
      max_tokens: 50,
      messages: [
        { role: 'user', content: 'When?' },
        { role: 'assistant', content: earlier },
        { role: 'user', content: [{ type: 'text', text: 'And?', note: 1 }] },
      ],
    }
    const call = messages.read(buildRaw(JSON.stringify(body)))
    const { body: sent, adaptedParams } = call.encode(
      buildPlan({ offer: offerOf(buildOffer({ apiFormat: 'messages' })) }),
    )
    expect(JSON.parse(sent).messages[1].content).toEqual([{ type: 'text', text: TEXT, citations: [CITATION] }])
    expect(JSON.parse(sent).messages[2]).toEqual(body.messages[2])
    expect(adaptedParams).toEqual([])
  })

  it('are skipped where they are unreadable', () => {
    const odd = { citations: [1, null, { url: 5 }, ''], search_results: 'none', images: {} }
    const bytes = { ...PERPLEXITY, whole: { ...PERPLEXITY.whole, ...odd } }
    expect(JSON.parse(answered('messages', false, bytes)).content).toEqual([{ type: 'text', text: TEXT }])
    expect(JSON.parse(answered('chat', false, bytes))).not.toHaveProperty('search_results')
  })
})
