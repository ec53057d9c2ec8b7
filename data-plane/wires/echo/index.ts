import type { RawRequest } from '#data-plane/call.ts'
import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { mustBe } from '#data-plane/wires/fields.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { errorFrame, KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import { TOKENS_A_MESSAGE } from '#data-plane/wires/text-demand.ts'
import { translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import { chatUsageJson } from '#data-plane/wires/usage-json.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { PLAIN_CONVERSATION } from '#shared/protocols/middle-form/conversation.ts'

const MAX_TEXT_CHARS = 4_096
const MAX_OUTPUT_TOKENS = 1_024

type EchoRequest = Routing & { readonly model: string; readonly text: string }

/** A text put to a model by its address alone, `GET /v1/echo/{model}?text=`, and answered as a stream of JSON texts. */
export const echo: AnyWire = defineWire<EchoRequest>({
  name: 'echo',
  envelope: openAiEnvelope,
  parse: readEchoRequest,
  demand: ({ model, text, hints, floorPercents, maxCostMicro }) => ({
    endpoint: 'chat',
    model,
    isStreamed: true,
    hints,
    floorPercents,
    needs: { imageInput: false },
    inputParam: 'text',
    bounds: {
      inputTokens: Buffer.byteLength(text) + TOKENS_A_MESSAGE,
      inputImages: 0,
      inputBytes: Buffer.byteLength(text),
      maxOutputTokens: MAX_OUTPUT_TOKENS,
      choices: 1,
    },
    maxCostMicro,
  }),
  encode({ text }, plan) {
    const turns = [{ role: 'user' as const, parts: [{ kind: 'text' as const, text }] }]
    return translateRequest({ ...PLAIN_CONVERSATION, turns, maxTokens: MAX_OUTPUT_TOKENS, isStreamed: true }, plan)
  },
  decoder: (_request, plan) => translateAnswer(plan, true, () => echoWriter(plan.rid)),
})

function readEchoRequest(raw: RawRequest): EchoRequest {
  const text = raw.query.get('text') ?? ''
  if (text === '' || text.length > MAX_TEXT_CHARS) throw mustBe('text', `a text of up to ${MAX_TEXT_CHARS} characters`)
  const { model = '' } = raw.params
  return { model, text, ...readRouting({}, raw) }
}

function echoWriter(rid: RawRequest['requestId']): AnswerWriter {
  return {
    write: (event) => (event.kind === 'text' ? `data: ${JSON.stringify(event.text)}\n\n` : ''),
    finish: (receipt) => `data: {"usage":${chatUsageJson(receipt)}}\n\n`,
    fail: (error) => errorFrame(error, rid),
    keepAlive: () => KEEP_ALIVE,
  }
}
