import { describe, expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { checkCapability } from '#data-plane/pipeline/plan/check-capability.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { AppError } from '#shared/errors.ts'
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

const PDF = 'JVBERi0xLjQ='
const URL_OF_PDF = 'https://files.example/a.pdf'
const WIRES = { chat, messages, responses }
type Kind = keyof typeof WIRES

const user = (part: object) => [{ role: 'user', content: [part] }]
const document = (source: object, members: object = {}) => ({
  max_tokens: 50,
  messages: user({ type: 'document', source, ...members }),
})
const DATA = { type: 'base64', media_type: 'application/pdf', data: PDF }
const BY_DATA: Readonly<Record<Kind, object>> = {
  chat: {
    messages: user({ type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } }),
  },
  messages: document(DATA),
  responses: {
    input: user({ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }),
  },
}
const BY_URL = {
  messages: document({ type: 'url', url: URL_OF_PDF }),
  responses: { input: user({ type: 'input_file', file_url: URL_OF_PDF }) },
} as const

function refusalOf(run: () => unknown): string {
  try {
    run()
    return ''
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${String(error.detail['capability'])}`
    throw error
  }
}

const read = (kind: Kind, body: object) => WIRES[kind].read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...body })))

/** The request that the only seller of the model receives. Throws like the plan of the call. */
function sent(kind: Kind, body: object, apiFormat: ProtocolName): string {
  const model = buildModel({ inputModalities: ['text', 'file'], parameters: [] })
  const market = buildTestMarket([buildOffer({ apiFormat })], model)
  const target: ModelPlan['target'] = buildTarget(model)
  const call = read(kind, body)
  checkCapability(target, call.demand)
  const health = { isAllWell: () => true, blockedUntil: () => 0 }
  const ports = { market, health, caps: createSpentCaps(), rates: NO_RATES, now: 0 }
  const { candidates } = selectOffers(ports, target, readChoice(market, call.demand, buildPayer()))
  const [offer] = candidates
  if (offer === undefined) throw new Error('there is no offer')
  return call.encode(buildPlan({ offer, target })).body
}

describe('a document', () => {
  it.each(Object.keys(WIRES) as Kind[])('needs a model that reads files or images, on %s', (kind) => {
    const { demand } = read(kind, BY_DATA[kind])
    const check = (inputModalities: string[]) => () =>
      checkCapability(buildTarget(buildModel({ inputModalities })), demand)
    expect(refusalOf(check(['text']))).toBe('model_capability_unsupported file_input')
    expect(refusalOf(check(['text', 'image']))).toBe('')
    expect(refusalOf(check(['text', 'file']))).toBe('')
  })

  it('in plain text needs neither', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'High water is at six.' }
    const { demand } = read('messages', document(source))
    expect(refusalOf(() => checkCapability(buildTarget(buildModel({ inputModalities: ['text'] })), demand))).toBe('')
  })

  it.each([
    ['messages', 'messages'],
    ['messages', 'responses'],
    ['messages', 'gemini'],
    ['responses', 'messages'],
    ['responses', 'responses'],
  ] as const)('by URL is forwarded from %s to a seller of %s', (kind, apiFormat) => {
    expect(sent(kind, BY_URL[kind], apiFormat)).toContain(URL_OF_PDF)
  })

  it.each(['messages', 'responses'] as const)('by URL is refused from %s where no seller accepts it', (kind) => {
    expect(refusalOf(() => sent(kind, BY_URL[kind], 'openai'))).toBe('model_capability_unsupported file_url')
    expect(sent(kind, BY_DATA[kind], 'openai')).toContain(`data:application/pdf;base64,${PDF}`)
  })

  it('keeps its title and its context at sellers of another protocol', () => {
    const about = { title: 'Tides', context: 'From the harbour office.' }
    const file = JSON.parse(sent('messages', document(DATA, about), 'openai')).messages[0].content
    expect(file).toEqual([
      { type: 'text', text: 'Context: From the harbour office.' },
      { type: 'file', file: { filename: 'Tides', file_data: `data:application/pdf;base64,${PDF}` } },
    ])
    const text = { type: 'text', media_type: 'text/plain', data: 'High water is at six.' }
    expect(sent('messages', document(text, about), 'openai')).toContain(
      'Document: Tides\\nContext: From the harbour office.',
    )
  })
})
