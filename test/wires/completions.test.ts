import { describe, expect, it } from 'vitest'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { framesOf } from '#test/support/bytes/chat-answers.ts'
import { chatFrame, decodePieces, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'gpt-5-mini', prompt: 'Once' }
const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 12, output: 6 },
}
const PLAN = buildPlan()
const MESSAGES = { ...PLAN, offer: offerOf({ apiFormat: 'messages' }) }
/** The plan for a model that serves the old protocol itself. */
const NATIVE: ModelPlan = { ...PLAN, target: { ...PLAN.target, endpoint: 'completions' } }
const HEAD = {
  id: `cmpl-${PLAN.rid}`,
  object: 'text_completion',
  created: PLAN.createdAt,
  model: 'gpt-5-mini',
  provider: 'a',
}
const COST = { prompt_tokens: 12, completion_tokens: 6, total_tokens: 18, cost: 0.000038, buyer_cost_micro: 38 }

const read = (body: object) => completions.read(buildRaw(JSON.stringify(body)))

function refusalOf(body: object): { code: string; param: string | undefined } | undefined {
  try {
    read(body)
    return undefined
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { code: error.code, param: error.param }
  }
}

function forwarded(body: object, plan: Partial<ModelPlan> = {}) {
  const { body: text, ...rest } = read(body).encode({ ...PLAN, ...plan })
  return { ...rest, json: JSON.parse(text) }
}

describe('a completions request', () => {
  it.each([
    ['without a model', { prompt: 'x' }, 'invalid_request', 'model'],
    ['without a prompt', { model: 'm' }, 'invalid_request', 'prompt'],
    ['without a prompt in its list', { ...GOOD, prompt: [] }, 'invalid_request', 'prompt'],
    ['of tokens', { ...GOOD, prompt: [1] }, 'invalid_request', 'prompt'],
    ['of lists of tokens', { ...GOOD, prompt: [[1, 2]] }, 'invalid_request', 'prompt'],
    ['of 10,000', { ...GOOD, prompt: Array.from({ length: 10_000 }, () => 'x') }, 'invalid_request', 'prompt'],
    [
      'of too many answers',
      { ...GOOD, prompt: Array.from({ length: 20 }, () => 'x'), n: 8 },
      'invalid_request',
      'prompt',
    ],
    ['of 3 MB', { ...GOOD, prompt: 'x'.repeat(3_000_000) }, 'request_too_large', 'prompt'],
    ['with a limit of 0', { ...GOOD, max_tokens: 0 }, 'invalid_request', 'max_tokens'],
    ['with a wrong top_p', { ...GOOD, top_p: 2 }, 'invalid_request', 'top_p'],
    ['with an empty stop', { ...GOOD, stop: '' }, 'invalid_request', 'stop'],
    ['with stream as a number', { ...GOOD, stream: 1 }, 'invalid_request', 'stream'],
    ['with best_of', { ...GOOD, best_of: 3 }, 'invalid_request', 'best_of'],
    ['with too many log probabilities', { ...GOOD, logprobs: 6 }, 'invalid_request', 'logprobs'],
    ['with echo as a string', { ...GOOD, echo: 'yes' }, 'invalid_request', 'echo'],
    ['with a suffix of the wrong type', { ...GOOD, suffix: 5 }, 'invalid_request', 'suffix'],
    ['with an unreadable block list', { ...GOOD, providers_blocked: {} }, 'invalid_request', 'providers_blocked'],
    ['with a floor as a string', { ...GOOD, min_discount_pct: 'abc' }, 'invalid_minimum_discount', 'min_discount_pct'],
  ])('%s is refused', (_name, body, code, param) => {
    expect(refusalOf(body)).toEqual({ code, param })
  })

  it("with one prompt is a user's turn, to any seller of text", () => {
    const body = { ...GOOD, max_tokens: 50, temperature: 0.5, stop: 'END', user: 'u', n: 1, best_of: 1, echo: false }
    expect(read(body).demand).toMatchObject({
      endpoint: 'chat',
      bounds: { inputTokens: 68, inputBytes: 4, inputs: 1, choices: 1, maxOutputTokens: 50 },
    })
    expect(forwarded({ ...body, provider: 'a', usage: { include: true } })).toMatchObject({
      path: '/chat/completions',
      json: {
        model: 'vendor-gpt-5-mini',
        messages: [{ role: 'user', content: 'Once' }],
        temperature: 0.5,
        max_tokens: 50,
      },
      adaptedParams: ['stop'],
    })
    expect(forwarded({ ...GOOD, prompt: ['Once'] }, MESSAGES)).toMatchObject({
      path: '/messages',
      json: { max_tokens: 50, messages: [{ role: 'user', content: [{ type: 'text', text: 'Once' }] }] },
      adaptedParams: ['max_tokens'],
    })
  })

  it('with an empty prompt has one prompt for every seller', () => {
    expect(forwarded({ ...GOOD, prompt: '' }).json.messages).toEqual([{ role: 'user', content: '' }])
    expect(forwarded({ ...GOOD, prompt: '' }, MESSAGES).json.messages).toHaveLength(1)
  })

  it.each([
    ['several prompts', { prompt: ['a', 'bc'] }, 2],
    ['several answers', { n: 3 }, 3],
    ['both', { prompt: ['a', 'b'], n: 2 }, 4],
    ['an echo', { echo: true }, 1],
    ['a suffix', { suffix: 'end' }, 1],
  ])('with %s is native, and the hold counts every answer', (_name, given, choices) => {
    const { demand } = read({ ...GOOD, ...given })
    expect(demand.endpoint).toBe('completions')
    expect(demand.bounds).toMatchObject({ choices })
  })

  it("that is native is forwarded unchanged, except for the market's members", () => {
    const text =
      '{"model":"x","prompt":[ "a", "b\\u00e9" ],"logit_bias":{"5":1.0},"suffix":"z","provider":"a","temperature":0.50}'
    const call = completions.read(buildRaw(text))
    const { body, path, adaptedParams } = call.encode(PLAN)
    expect([path, adaptedParams]).toEqual(['/completions', ['logit_bias', 'max_tokens']])
    expect(body).toBe(
      '{"model":"vendor-gpt-5-mini","prompt":[ "a", "b\\u00e9" ],"suffix":"z","temperature":0.50,"max_tokens":50}',
    )
    expect(call.demand.needs.parameters).toBeUndefined()
    expect(read({ ...GOOD, logprobs: 0 }).demand.needs.parameters).toEqual(['logprobs'])
  })
})

function decode(body: object, text: string, plan: ModelPlan = PLAN, cuts: readonly number[] = []) {
  const decoder = read({ ...GOOD, ...body }).decoder(plan)
  const out = decodePieces(decoder, text, cuts)
  return { decoder, out }
}

const piece = (index: number, text: string, rest: object = {}) => ({
  ...HEAD,
  choices: [{ index, text, logprobs: null, finish_reason: null, ...rest }],
})
const END = [{ ...HEAD, choices: [], usage: expect.objectContaining(COST) }, 'done']

const CHAT_STREAM = [
  chatFrame({ delta: { role: 'assistant', content: '' } }),
  chatFrame({ delta: { reasoning: 'hm' } }),
  chatFrame({ delta: { content: 'Grüße' } }),
  chatFrame({ delta: { content: ' 🌍' } }, { usage: { prompt_tokens: 12, completion_tokens: 1 } }),
  chatFrame({ delta: {}, finish_reason: 'length' }),
  chatFrame(null, { usage: { prompt_tokens: 12, completion_tokens: 6 } }),
  'data: [DONE]\n\n',
].join('')

const MESSAGES_STREAM = [
  messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 1 } } }),
  messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }),
  messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }),
  messagesEvent({ type: 'content_block_stop', index: 0 }),
  messagesEvent({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }),
  messagesEvent({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Grüße' } }),
  messagesEvent({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' 🌍' } }),
  messagesEvent({ type: 'content_block_stop', index: 1 }),
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 6 } }),
  messagesEvent({ type: 'message_stop' }),
].join('')

describe('an answer to one prompt', () => {
  it.each([
    ['of the OpenAI protocol', CHAT_STREAM, PLAN],
    ['of the messages protocol', MESSAGES_STREAM, MESSAGES],
  ])('is streamed from a seller %s, wherever its bytes are cut', (_name, text, plan) => {
    for (let cut = 0; cut < Buffer.byteLength(text); cut++) {
      const { decoder, out } = decode({ stream: true }, text, plan, [cut])
      expect(framesOf(out + decoder.finish(RECEIPT)), `cut at ${cut}`).toEqual([
        piece(0, '', { reasoning: 'hm' }),
        piece(0, 'Grüße'),
        piece(0, ' 🌍'),
        piece(0, '', { finish_reason: 'length' }),
        ...END,
      ])
    }
  })

  it('is whole with its usage and cost, the same from both', () => {
    const chat = { message: { content: 'Grüße 🌍', reasoning: 'hm' }, finish_reason: 'stop' }
    const blocks = [
      { type: 'thinking', thinking: 'hm', signature: 'x' },
      { type: 'text', text: 'Grüße 🌍' },
    ]
    const fromChat = decode({}, JSON.stringify({ choices: [chat] }))
    const fromMessages = decode({}, JSON.stringify({ content: blocks, stop_reason: 'end_turn' }), MESSAGES)
    const whole = JSON.parse(fromChat.decoder.finish(RECEIPT))
    expect(whole).toMatchObject({
      ...HEAD,
      choices: [{ index: 0, text: 'Grüße 🌍', reasoning: 'hm', logprobs: null, finish_reason: 'stop' }],
      usage: COST,
    })
    expect(JSON.parse(fromMessages.decoder.finish(RECEIPT))).toEqual(whole)
  })

  it('breaks with the error of the wire', () => {
    const { decoder } = decode({ stream: true }, chatFrame({ delta: { content: 'x' } }))
    const [broken, done] = framesOf(decoder.fail(new AppError('upstream_error')))
    expect([broken, done]).toEqual([expect.objectContaining({ request_id: PLAN.rid }), 'done'])
    expect(decoder.keepAlive()).toBe(': keep-alive\n')
  })
})

const TWO = { prompt: ['a', 'b'] }
const textFrame = (choices: readonly object[], rest: object = {}) =>
  `data: ${JSON.stringify({ id: 'x', choices, ...rest })}\n\n`

const NATIVE_STREAM = [
  textFrame([{ index: 1, text: 'Grü' }]),
  textFrame([{ index: 0, text: 'eins', logprobs: { tokens: ['eins'] } }]),
  textFrame([{ index: 1, text: 'ße', finish_reason: 'length' }]),
  textFrame([{ index: 0, text: '', finish_reason: 'stop' }]),
  textFrame([{ index: 7, text: 'nobody asked' }]),
  textFrame([], { usage: { prompt_tokens: 12, completion_tokens: 6 } }),
  'data: [DONE]\n\ndata: {"choices":[{"index":0,"text":"after the end"}]}\n\n',
].join('')

describe('an answer of the completions protocol itself', () => {
  it('is streamed by choice, each with one end, wherever its bytes are cut', () => {
    for (let cut = 0; cut < Buffer.byteLength(NATIVE_STREAM); cut++) {
      const { decoder, out } = decode({ ...TWO, stream: true }, NATIVE_STREAM, NATIVE, [cut])
      expect(decoder.ending()).toMatchObject({
        contentBytes: 11,
        reported: { outputTokens: 6 },
        finishReason: 'length',
      })
      expect(framesOf(out + decoder.finish(RECEIPT)), `cut at ${cut}`).toEqual([
        piece(1, 'Grü'),
        piece(0, 'eins', { logprobs: { tokens: ['eins'] } }),
        piece(1, 'ße'),
        piece(0, '', { finish_reason: 'stop' }),
        piece(1, '', { finish_reason: 'length' }),
        ...END,
      ])
    }
  })

  it.each([
    ['the end of a choice is missing', textFrame([{ index: 0, text: 'x', finish_reason: 'stop' }]), 'cut'],
    ['it holds an error', 'data: {"error":{"message":"no"}}\n\n', 'error'],
    ['a frame is malformed', 'data: {"choices":\r[]}\n\n', 'malformed'],
  ])('fails as a stream where %s', (_name, text, kind) => {
    expect(decode({ ...TWO, stream: true }, text, NATIVE).decoder.failure()?.kind).toBe(kind)
  })

  it('is whole with every choice in its place', () => {
    const choices = [
      { index: 1, text: 'zwei', finish_reason: 'weird', secret: 1 },
      { index: 0, text: 'eins', finish_reason: 'length' },
    ]
    const { decoder } = decode(
      TWO,
      JSON.stringify({ choices, usage: { prompt_tokens: 12, completion_tokens: 6 } }),
      NATIVE,
    )
    expect(JSON.parse(decoder.finish(RECEIPT))).toMatchObject({
      ...HEAD,
      choices: [
        { index: 0, text: 'eins', logprobs: null, finish_reason: 'length' },
        { index: 1, text: 'zwei', logprobs: null, finish_reason: 'stop' },
      ],
      usage: COST,
    })
  })

  it.each([
    ['one prompt has no answer', { choices: [{ index: 0, text: 'x' }] }, 'malformed'],
    ['one prompt has two answers', { choices: [{ text: 'x' }, { text: 'y' }] }, 'malformed'],
    ['it is a chat answer', { choices: 'none' }, 'malformed'],
    ['it holds an error', { error: 'no' }, 'error'],
  ])('is malformed where %s', (_name, body, kind) => {
    expect(decode(TWO, JSON.stringify(body), NATIVE).decoder.failure()?.kind).toBe(kind)
  })
})

/** Answers of chat to one prompt after another, and their requests. */
function decodeEach(body: object, texts: readonly string[], plan: ModelPlan = PLAN) {
  const call = read({ ...GOOD, ...body })
  const first = call.encode(plan)
  const decoder = call.decoder(plan)
  let out = ''
  for (const [place, text] of texts.entries()) {
    if (place > 0) decoder.goOn?.()
    out += decodePieces(decoder, text, [])
  }
  return { decoder, out, requests: [first, ...(first.following ?? [])].map((request) => JSON.parse(request.body)) }
}

const chatAnswer = (texts: readonly string[], usage: object = { prompt_tokens: 5, completion_tokens: 3 }) =>
  JSON.stringify({
    choices: texts.map((content, index) => ({ index, message: { content }, finish_reason: index ? 'length' : 'stop' })),
    usage,
  })
/** A streamed chat answer of one piece per choice, each after its index. */
function chatStream(...pieces: readonly string[]): string {
  const choices = pieces.map((text) => ({ index: Number(text[0]), delta: { content: text.slice(2) } }))
  const ends = choices.map(({ index }) => chatFrame({ index, delta: {}, finish_reason: 'stop' }))
  const usage = chatFrame(null, { usage: { prompt_tokens: 5, completion_tokens: 3 } })
  return `${choices.map((choice) => chatFrame(choice)).join('')}${ends.join('')}${usage}data: [DONE]\n\n`
}

describe('several prompts or answers of a chat model', () => {
  it('are a chat call for each prompt, with a hold for the sum of their bounds', () => {
    const body = { prompt: ['a', 'bcd'], n: 2, best_of: 2, temperature: 0.5 }
    const { otherwise } = read({ ...GOOD, ...body, max_tokens: 50 }).demand
    expect(otherwise).toMatchObject({
      endpoint: 'chat',
      needs: { openAiFormat: true },
      bounds: {
        inputTokens: 132,
        inputBytes: 4,
        choices: 4,
        each: [
          { inputTokens: 65, inputBytes: 1, maxOutputTokens: 50, choices: 2 },
          { inputTokens: 67, inputBytes: 3, maxOutputTokens: 50, choices: 2 },
        ],
      },
    })
    expect(decodeEach(body, []).requests).toEqual(
      ['a', 'bcd'].map((content) => ({
        model: 'vendor-gpt-5-mini',
        messages: [{ role: 'user', content }],
        temperature: 0.5,
        n: 2,
        max_tokens: 50,
      })),
    )
    // The answer to each prompt can come from a seller of any protocol.
    const single = read({ ...GOOD, prompt: ['a', 'b'] })
    expect(single.demand.otherwise?.needs.openAiFormat).toBeUndefined()
    expect(single.encode(MESSAGES).following?.map(({ path }) => path)).toEqual(['/messages'])
    expect(decodeEach({ prompt: ['a', 'b'] }, []).requests.map((request) => 'n' in request)).toEqual([false, false])
  })

  it('are whole once all have arrived, by prompt and then by answer', () => {
    const { decoder } = decodeEach({ prompt: ['a', 'b'], n: 2 }, [chatAnswer(['a0', 'a1']), chatAnswer(['b0', 'b1'])])
    expect([decoder.failure(), decoder.contentPieces()]).toEqual([undefined, 2])
    expect(JSON.parse(decoder.finish(RECEIPT))).toMatchObject({
      ...HEAD,
      choices: [
        { index: 0, text: 'a0', finish_reason: 'stop' },
        { index: 1, text: 'a1', finish_reason: 'length' },
        { index: 2, text: 'b0', finish_reason: 'stop' },
        { index: 3, text: 'b1', finish_reason: 'length' },
      ],
      usage: COST,
    })
    expect(decoder.ending().each?.map(({ reported }) => reported.inputTokens)).toEqual([5, 5])
  })

  it('are refused as a whole while one is missing or malformed', () => {
    const good = chatAnswer(['a'])
    for (const texts of [[good], [good, '{"choices":[]}'], [good, '{"error":{"message":"no"}}']]) {
      const { decoder } = decodeEach({ prompt: ['a', 'b', 'c'].slice(0, Math.max(2, texts.length)) }, texts)
      expect([decoder.contentPieces(), decoder.ending().contentBytes, decoder.ending().each]).toEqual([0, 0, []])
    }
    expect(decodeEach({ n: 2 }, [chatAnswer(['only one'])]).decoder.failure()?.kind).toBe('malformed')
  })

  it('are streamed one after another under their indexes, with every end before the only usage', () => {
    const texts = [chatStream('1:a1', '0:a0'), chatStream('0:b0', '1:b1')]
    const { decoder, out } = decodeEach({ prompt: ['a', 'b'], n: 2, stream: true }, texts)
    expect(framesOf(out + decoder.finish(RECEIPT))).toEqual([
      piece(1, 'a1'),
      piece(0, 'a0'),
      piece(2, 'b0'),
      piece(3, 'b1'),
      ...[0, 1, 2, 3].map((index) => piece(index, '', { finish_reason: 'stop' })),
      ...END,
    ])
  })

  it('are streamed from a seller of the messages protocol too, and an answer cut short ends alone', () => {
    const body = { prompt: ['a', 'b'], stream: true }
    const { decoder, out } = decodeEach(body, [MESSAGES_STREAM, MESSAGES_STREAM], MESSAGES)
    const pieces = framesOf(out + decoder.finish(RECEIPT)).filter((frame) => JSON.stringify(frame).includes('Grüße'))
    expect(pieces).toEqual([piece(0, 'Grüße'), piece(1, 'Grüße')])
    const stopped = read({ ...GOOD, ...body }).decoder(PLAN)
    stopped.push(Buffer.from(chatFrame({ delta: { content: 'a' } })))
    stopped.stop()
    expect(stopped.isDone()).toBe(true)
    stopped.goOn?.()
    expect([stopped.isDone(), stopped.contentPieces()]).toEqual([false, 1])
    stopped.push(Buffer.from(chatStream('0:b')))
    expect(stopped.ending().each?.map(({ finishReason }) => finishReason)).toEqual(['length', 'stop'])
  })
})
