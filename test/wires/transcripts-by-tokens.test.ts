import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { boundOf } from '#data-plane/pipeline/plan/quote-call.ts'
import { transcriptions } from '#data-plane/wires/transcriptions/index.ts'
import { wavTone } from '#dev/provider/media/sound.ts'
import { microUsd, picoUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildTarget } from '#test/support/bytes/build-market.ts'
import type { FormFields } from '#test/support/bytes/transcription-form.ts'
import { transcriptionForm } from '#test/support/bytes/transcription-form.ts'
import { headOf } from '#test/support/bytes/wire-bytes.ts'

const read = (...fields: FormFields) => transcriptions.read(transcriptionForm([['model', 'm'], ...fields]))

const BY_TOKENS = {
  ...buildTarget(buildModel({ contextLength: 16_000, maxCompletionTokens: 2_000, features: ['streaming'] })),
  price: {
    version: 'test',
    unitPrices: { input: picoUsd(2_500_000n), audioInput: picoUsd(6_000_000n), output: picoUsd(10_000_000n) },
  },
}

describe('a transcript that is billed by its tokens', () => {
  const plan = buildPlan({ target: BY_TOKENS })
  const TOKENS = {
    type: 'tokens',
    input_tokens: 80,
    input_token_details: { text_tokens: 5, audio_tokens: 75 },
    output_tokens: 20,
    total_tokens: 100,
  }
  const heard = (usage?: object, members: object = {}) => JSON.stringify({ text: 'It is so.', usage, ...members })
  const boundOfForm = (...fields: FormFields) => boundOf(BY_TOKENS, read(...fields).demand)
  const chargeOf = (fields: FormFields, bytes: string, type = 'application/json') => {
    const request = read(...fields)
    const decoder = request.decoder(plan)
    expect(decoder.head?.takes?.(headOf(type))).toBe(true)
    decoder.push(Buffer.from(bytes))
    decoder.end()
    expect(decoder.failure()).toBeUndefined()
    const metered = meterUsage(plan, request.demand, decoder.ending())
    return { ...metered, pico: billUsage(BY_TOKENS.price, metered).whole }
  }
  const done = (usage: object) =>
    `data: ${JSON.stringify({ type: 'transcript.text.done', text: 'It is so.', usage })}\n\n`

  it("is charged by text and sound in and text out, by its provider's report, whole and streamed", () => {
    // 5 tokens at 2.50, 75 at 6 and 20 at 10 US dollars per million.
    const charge = { usage: { input: 5, audioInput: 75, output: 20 }, source: 'reported', pico: 662_500_000n }
    expect(chargeOf([], heard(TOKENS))).toMatchObject({ ...charge, anomalies: [] })
    expect(chargeOf([['stream', 'true']], done(TOKENS), 'text/event-stream')).toMatchObject(charge)
    expect(chargeOf([['stream', 'true']], heard(TOKENS))).toMatchObject(charge)
    expect(chargeOf([], '{"text":"","usage":{"input_tokens":75,"output_tokens":0}}').usage).toEqual({})
  })

  it('counts unsplit input as sound, except for the prompt', () => {
    const { input_token_details: _details, ...sum } = TOKENS
    expect(chargeOf([], heard(sum)).usage).toMatchObject({ input: 0, audioInput: 80 })
    expect(chargeOf([['prompt', 'eight by']], heard(sum)).usage).toMatchObject({ input: 2, audioInput: 78 })
  })

  it('is estimated by its audio, its prompt and its text where no tokens are reported', () => {
    const usage = { input: 2, audioInput: 75, output: 3 }
    const asked: FormFields = [['prompt', 'eight by']]
    const estimated = { source: 'estimated', anomalies: ['usage_missing'] }
    expect(chargeOf(asked, heard())).toMatchObject({ ...estimated, usage })
    expect(chargeOf(asked, heard({ type: 'duration', seconds: 4 })).usage.audioInput).toBe(40)
    expect(chargeOf(asked, heard({ type: 'duration', seconds: 400 })).usage.audioInput).toBe(75)
    const cues = '1\n00:00:00,000 --> 00:00:05,000\nIt is so.\n'
    expect(chargeOf([...asked, ['response_format', 'srt']], cues, 'text/plain')).toMatchObject({
      ...estimated,
      usage: { input: 2, audioInput: 50 },
    })
    expect(chargeOf([], heard({ ...TOKENS, output_tokens: -1 })).anomalies).toEqual(['usage_insane', 'usage_missing'])
  })

  it('has a hold for every token that audio, prompt and limit can cause, and is charged no more', () => {
    const plain = boundOfForm()
    // 7.5 seconds of 25 tokens, the frame of a prompt and the limit of the model.
    expect(plain).toMatchObject({ units: { input: 64, audioInput: 188, output: 2_000 }, isWhole: true })
    expect(BigInt(plain.bill)).toBe(64n * 2_500_000n + 188n * 6_000_000n + 2_000n * 10_000_000n)
    expect(boundOfForm(['prompt', 'ä'.repeat(1_000)]).units?.input).toBe(2_064)
    const vast = { input_tokens: 9e6, input_token_details: { audio_tokens: 8e6 }, output_tokens: 9e6 }
    const clipped = chargeOf([], heard(vast))
    expect(clipped.anomalies).toEqual(['input_clipped', 'output_clipped'])
    expect(clipped.pico).toBe(plain.bill)
  })

  it('never costs more than its hold, whatever is reported', () => {
    const count = fc.option(fc.oneof(fc.nat({ max: 5_000 }), fc.nat({ max: 1_000_000_000 })), { nil: undefined })
    const usage = fc.record({ input_tokens: count, output_tokens: count, audio: count })
    fc.assert(
      fc.property(usage, fc.boolean(), fc.string({ maxLength: 200 }), ({ audio, ...sums }, isCut, prompt) => {
        const fields: FormFields = [['prompt', prompt.replace(/[\r\n]/g, ' ')], ...(isCut ? CUT : [])]
        const { pico, usage: used } = chargeOf(fields, heard({ ...sums, input_token_details: { audio_tokens: audio } }))
        expect(pico).toBeLessThanOrEqual(boundOfForm(...fields).bill)
        expect(used.audioInput).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  const CUT: FormFields = [['chunking_strategy[type]', 'server_vad']]

  it('that its provider splits has no limit of the model, and reads its prompt with each piece', () => {
    const long = transcriptionForm(
      [
        ['model', 'm'],
        ['prompt', 'p'],
      ],
      wavTone(120),
    )
    const cut = transcriptionForm([['model', 'm'], ['prompt', 'p'], ...CUT], wavTone(120))
    const unitsOf = (raw: typeof long) => boundOf(BY_TOKENS, transcriptions.read(raw).demand).units
    expect(unitsOf(long)).toEqual({ input: 65, audioInput: 3_000, output: 2_000 })
    expect(unitsOf(cut)).toEqual({ input: 65 * 12, audioInput: 3_000, output: 3_000 })
  })

  it('reaches the buyer with its tokens and its cost', () => {
    const usage = { input: 5, audioInput: 75, output: 20 }
    const receipt = { chargeMicro: microUsd(45), listMicro: microUsd(75), listInputMicro: microUsd(0), usage }
    const whole = read().decoder(plan)
    whole.push(Buffer.from(heard(TOKENS)))
    whole.end()
    expect(JSON.parse(whole.finish(receipt))).toMatchObject({
      text: 'It is so.',
      usage: { ...TOKENS, buyer_cost_micro: 45 },
    })
    const streamed = read(['stream', 'true']).decoder(plan)
    streamed.head?.takes?.(headOf('text/event-stream'))
    streamed.push(Buffer.from(done(TOKENS)))
    expect(JSON.parse(streamed.finish(receipt).slice(6)).usage).toMatchObject({ ...TOKENS, buyer_cost_micro: 45 })
  })
})
