import { describe, expect, it } from 'vitest'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { keptBps, picoUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import {
  buildModel,
  buildOffer,
  buildPayer,
  buildPlan,
  buildRaw,
  buildTarget,
  buildTestMarket,
  NO_RATES,
} from '#test/support/bytes/build-market.ts'
import { eventsOf, RECEIPT, streamMessage, wholeMessage } from '#test/support/bytes/message-answers.ts'
import { dataOf, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const MESSAGES = buildOffer({ apiFormat: 'messages' })
const TOKENS: UnitPrices = { input: picoUsd(3_000_000n), output: picoUsd(15_000_000n) }
const SEARCHES: UnitPrices = { ...TOKENS, searches: picoUsd(10_000_000_000n) }
const FUNCTION = { name: 'f', input_schema: { type: 'object' } }
const search = (members: object = {}) => ({ type: 'web_search_20250305', name: 'web_search', ...members })

/** The request that a seller of the messages protocol receives. */
function sent(tools: readonly object[], unitPrices: UnitPrices, members: object = {}) {
  const body = { model: 'gpt-5-mini', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], tools, ...members }
  const target = { ...buildTarget(), price: { version: 'test', unitPrices } }
  const call = messages.read(buildRaw(JSON.stringify(body)))
  const { body: text, adaptedParams } = call.encode(
    buildPlan({ offer: offerOf(MESSAGES), target, maxOutputTokens: 50 }),
  )
  return { body: JSON.parse(text), adaptedParams, demand: call.demand }
}

describe('a search at the maker of a model', () => {
  it('is forwarded where searches have a price, with its bound', () => {
    const { body, adaptedParams, demand } = sent([search({ max_uses: 8 }), FUNCTION], SEARCHES)
    expect(body.tools).toEqual([search({ max_uses: 8 }), FUNCTION])
    expect(adaptedParams).toEqual([])
    expect(demand).toMatchObject({ needs: { searches: 8 } })
  })

  it.each([
    ['none', {}, 5],
    ["a bound above the market's", { max_uses: 500 }, 20],
    ['a bound that is not a number', { max_uses: 'many' }, 5],
  ])('is bounded where the request names %s', (_name, members, bound) => {
    const { body, adaptedParams, demand } = sent([search(members)], SEARCHES)
    expect(body.tools).toEqual([search({ max_uses: bound })])
    expect(adaptedParams).toEqual(['tools.max_uses'])
    expect(demand).toMatchObject({ needs: { searches: bound } })
  })

  it('may be the tool that the answer must use', () => {
    const choice = { tool_choice: { type: 'tool', name: 'web_search' } }
    expect(sent([search({ max_uses: 1 }), { type: 'bash_20250124', name: 'bash' }], SEARCHES, choice)).toMatchObject({
      body: { tools: [search({ max_uses: 1 })], ...choice },
      adaptedParams: ['tools', 'tools.bash_20250124'],
    })
  })

  it('is left out where searches have no price, and named', () => {
    const { body, adaptedParams } = sent([search(), FUNCTION], TOKENS, {
      tool_choice: { type: 'tool', name: 'web_search' },
    })
    expect(body.tools).toEqual([FUNCTION])
    expect(body).not.toHaveProperty('tool_choice')
    expect(adaptedParams).toEqual(['tools', 'tools.web_search_20250305', 'tool_choice'])
  })
})

describe('the seller of a search', () => {
  /** The protocols of a call's possible sellers, lowest price first. */
  function asked(unitPrices: UnitPrices, formats: readonly ProtocolName[], tools: readonly object[]) {
    const model = buildModel()
    const offers = formats.map((apiFormat, place) =>
      buildOffer({ apiFormat, provider: `p${place}`, keptBps: keptBps(5_000 + place) }),
    )
    const market = buildTestMarket(offers, model)
    const price = { version: 'test', unitPrices, effectiveAt: 0, source: 'test' }
    const priced = { ...market, prices: new Map([[model.id, price]]) }
    const body = { model: model.id, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }], tools }
    const { demand } = messages.read(buildRaw(JSON.stringify(body)))
    const health = { isAllWell: () => true, blockedUntil: () => 0 }
    const ports = { market: priced, health, caps: createSpentCaps(), rates: NO_RATES, now: 0 }
    const { candidates } = selectOffers(ports, buildTarget(model), readChoice(priced, demand, buildPayer()))
    return candidates.map(({ apiFormat }) => apiFormat)
  }

  it('uses the protocol, where such a seller of the model exists and searches have a price', () => {
    expect(asked(SEARCHES, ['openai', 'messages'], [search()])).toEqual(['messages'])
    expect(asked(SEARCHES, ['openai', 'messages'], [FUNCTION])).toEqual(['openai', 'messages'])
    expect(asked(TOKENS, ['openai', 'messages'], [search()])).toEqual(['openai', 'messages'])
    expect(asked(SEARCHES, ['openai', 'responses'], [search()])).toEqual(['openai', 'responses'])
  })
})

const CALL = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'tides' } }
const RESULT = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [{ type: 'web_search_result', url: 'https://a.invalid', title: 'A', encrypted_content: 'Eq4B' }],
}
const CITATION = {
  type: 'web_search_result_location',
  url: 'https://a.invalid',
  title: 'A',
  encrypted_index: 'Eo8B',
  cited_text: 'High water is at six.',
}
const CONTENT = [
  { type: 'text', text: 'I look it up.' },
  CALL,
  RESULT,
  { type: 'text', text: 'High water is ' },
  { type: 'text', text: 'at six', citations: [CITATION] },
  { type: 'text', text: '.' },
]
const COUNTS = { input_tokens: 900, output_tokens: 20, server_tool_use: { web_search_requests: 1 } }

function started(index: number, content_block: object) {
  return messagesEvent({ type: 'content_block_start', index, content_block })
}
function fed(index: number, delta: object) {
  return messagesEvent({ type: 'content_block_delta', index, delta })
}
const stopped = (index: number) => messagesEvent({ type: 'content_block_stop', index })

const STREAM = [
  messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 900, output_tokens: 1 } } }),
  started(0, { type: 'text', text: '' }) + fed(0, { type: 'text_delta', text: 'I look it up.' }) + stopped(0),
  started(1, { ...CALL, input: {} }),
  fed(1, { type: 'input_json_delta', partial_json: '{"query":' }) +
    fed(1, { type: 'input_json_delta', partial_json: '"tides"}' }) +
    stopped(1),
  started(2, RESULT) + stopped(2),
  started(3, { type: 'text', text: '' }) + fed(3, { type: 'text_delta', text: 'High water is ' }) + stopped(3),
  started(4, { type: 'text', text: '', citations: [] }),
  fed(4, { type: 'citations_delta', citation: CITATION }) + fed(4, { type: 'text_delta', text: 'at six' }) + stopped(4),
  started(5, { type: 'text', text: '' }) + fed(5, { type: 'text_delta', text: '.' }) + stopped(5),
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'pause_turn' }, usage: COUNTS }),
  messagesEvent({ type: 'message_stop' }),
].join('')

/** The content that a client assembles from a stream. */
function contentOf(text: string): object[] {
  const blocks: Record<string, unknown>[] = []
  const inputs: string[] = []
  for (const event of eventsOf(text)) {
    const index = Number(event['index'])
    if (event.type === 'content_block_start') blocks[index] = { ...Object(event['content_block']) }
    if (event.type === 'content_block_delta') {
      const block = blocks[index] ?? {}
      const delta = Object(event['delta'])
      if (delta.type === 'text_delta') block['text'] = `${String(block['text'])}${delta.text}`
      if (delta.type === 'citations_delta') block['citations'] = [...(block['citations'] as object[]), delta.citation]
      if (delta.type === 'input_json_delta') inputs[index] = (inputs[index] ?? '') + delta.partial_json
    }
  }
  return blocks.map((block, index) =>
    inputs[index] === undefined ? block : { ...block, input: JSON.parse(inputs[index]) },
  )
}

describe('the answer to a search', () => {
  const receipt = { ...RECEIPT, usage: { ...RECEIPT.usage, searches: 1 } }

  it('keeps its results, its citations, and its pause: a whole one', () => {
    const decoder = wholeMessage(
      { type: 'message', role: 'assistant', content: CONTENT, stop_reason: 'pause_turn', usage: COUNTS },
      MESSAGES,
    )
    const body = JSON.parse(decoder.finish(receipt))
    expect(body.content).toEqual(CONTENT.map((block, index) => (index === 4 ? CONTENT[4] : block)))
    expect(body).toMatchObject({ stop_reason: 'pause_turn', usage: { server_tool_use: { web_search_requests: 1 } } })
    expect(decoder.ending()).toMatchObject({ finishReason: 'stop', reported: { searches: 1, inputTokens: 900 } })
    // Found pages are not output.
    expect(decoder.ending().contentBytes).toBe('I look it up.High water is at six.'.length)
  })

  it('keeps them in a stream, wherever its bytes are cut', () => {
    for (const cuts of [[], [100], [700], [900, 901, 1_200], [1_400]]) {
      const { out, decoder } = streamMessage(STREAM, MESSAGES, cuts)
      const whole = out + decoder.finish(receipt)
      expect(contentOf(whole), `cut at ${cuts.join()}`).toEqual(CONTENT)
      const end = eventsOf(whole).find(({ type }) => type === 'message_delta')
      expect(dataOf(end, 'delta', 'stop_reason')).toBe('pause_turn')
      expect(dataOf(end, 'usage', 'server_tool_use')).toEqual({ web_search_requests: 1 })
      expect(decoder.ending()).toMatchObject({ reported: { searches: 1 } })
    }
  })

  it('keeps a call without a result unchanged', () => {
    const cut = STREAM.slice(0, STREAM.indexOf(stopped(1)) + stopped(1).length)
    const { out } = streamMessage(cut, MESSAGES)
    expect(contentOf(out)).toEqual(CONTENT.slice(0, 2))
  })
})
