import { describe, expect, it } from 'vitest'
import type { Ending } from '#data-plane/call.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { KEEP_ALL, microUsd, picoUsd } from '#shared/money.ts'
import { chargeUsage } from '#shared/pricing.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeMessagesUsage } from '#shared/protocols/messages/usage.ts'
import { buildDemand, buildModel, buildPlan, buildTarget } from '#test/support/build-market.ts'

function meter(reported: Partial<ReportedUsage>, ending: Partial<Ending> = {}, features: string[] = []) {
  const plan = buildPlan({ target: buildTarget(buildModel({ features })), maxOutputTokens: 50 })
  return meterUsage(plan, buildDemand(), {
    reported: { insaneFields: 0, ...reported },
    finishReason: 'stop',
    contentBytes: 40,
    reasoningBytes: 0,
    ...ending,
  })
}

describe('metering', () => {
  it('splits the provider’s figures into disjoint classes', () => {
    const reported = { inputTokens: 100, outputTokens: 30, cachedTokens: 60, cacheWriteTokens: 10, reasoningTokens: 12 }
    expect(meter(reported)).toEqual({
      usage: { input: 30, cacheRead: 60, cacheWrite: 10, output: 18, reasoning: 12 },
      source: 'reported',
      finishReason: 'stop',
      anomalies: [],
    })
  })

  it('never counts a detail past its total', () => {
    const { usage } = meter({ inputTokens: 10, outputTokens: 5, cachedTokens: 99, reasoningTokens: 99 })
    expect(usage).toEqual({ input: 0, cacheRead: 10, output: 0, reasoning: 5 })
  })

  it('an answer without content consumed nothing, whatever the provider says', () => {
    expect(meter({ inputTokens: 1_000, outputTokens: 500 }, { contentBytes: 0 }).usage).toEqual({})
  })

  it('counts the call once where calls have a price of their own, and no call that consumed nothing', () => {
    const target = buildTarget(buildModel())
    const price = { ...target.price, unitPrices: { ...target.price.unitPrices, calls: picoUsd(5_000_000n) } }
    const plan = buildPlan({ target: { ...target, price }, maxOutputTokens: 50 })
    const ending = { finishReason: 'stop', contentBytes: 40, reasoningBytes: 0 }
    const reported = { inputTokens: 100, outputTokens: 30, insaneFields: 0 }
    const { usage } = meterUsage(plan, buildDemand(), { ...ending, reported })
    expect(usage).toEqual({ input: 100, output: 30, calls: 1 })
    const without = chargeUsage(target.price.unitPrices, usage, KEEP_ALL)
    expect(chargeUsage(price.unitPrices, usage, KEEP_ALL)).toBe(microUsd(without + 5n))
    expect(meterUsage(plan, buildDemand(), { ...ending, contentBytes: 0, reported }).usage).toEqual({})
  })

  it('meters each of several exchanges by its own figures, and counts each call that has a price', () => {
    const target = buildTarget(buildModel())
    const price = { ...target.price, unitPrices: { ...target.price.unitPrices, calls: picoUsd(5_000_000n) } }
    const plan = buildPlan({ target: { ...target, price }, maxOutputTokens: 50 })
    const own = buildDemand().bounds
    const demand = buildDemand({ bounds: { ...own, inputTokens: 200, inputBytes: 72, choices: 2, each: [own, own] } })
    const reported = { insaneFields: 0, inputTokens: 20, outputTokens: 8, cachedTokens: 5 }
    const whole = { reported, finishReason: 'stop', contentBytes: 30, reasoningBytes: 0 }
    const cut = { ...whole, reported: { insaneFields: 0 }, finishReason: 'length', contentBytes: 12 }
    const empty = { ...whole, contentBytes: 0 }
    const sum = { ...whole, reported: { insaneFields: 0 }, contentBytes: 42 }
    expect(meterUsage(plan, demand, { ...sum, each: [whole, cut] })).toEqual({
      usage: { input: 15 + 9, cacheRead: 5, output: 8 + 3, calls: 2 },
      source: 'estimated',
      finishReason: 'length',
      anomalies: ['usage_missing'],
    })
    expect(meterUsage(plan, demand, { ...sum, each: [whole, empty] }).usage).toEqual({
      input: 15,
      cacheRead: 5,
      output: 8,
      calls: 1,
    })
    expect(meterUsage(plan, demand, { ...sum, each: [] })).toMatchObject({ usage: {}, finishReason: null })
  })

  it('estimates a quarter of the bytes where figures are missing or zero', () => {
    expect(meter({})).toMatchObject({
      usage: { input: 9, output: 10 },
      source: 'estimated',
      anomalies: ['usage_missing'],
    })
    expect(meter({ inputTokens: 9, outputTokens: 0 })).toMatchObject({
      usage: { input: 9, output: 10 },
      source: 'estimated',
      anomalies: ['usage_zero'],
    })
  })

  it('estimates no more than was asked for', () => {
    expect(meter({ inputTokens: 9 }, { contentBytes: 4_000 }).usage).toEqual({ input: 9, output: 50 })
  })

  it.each([-500, -1, 0.5, Number.NaN, 1e300, '12', true])('reads %s as no count in any member', (wrong) => {
    const sound = { prompt_tokens: 100, completion_tokens: 30 }
    const input = { cached_tokens: wrong, cache_write_tokens: wrong, audio_tokens: wrong }
    const output = { reasoning_tokens: wrong, audio_tokens: wrong }
    const openai: ReportedUsage = { insaneFields: 0 }
    mergeUsage(openai, { ...sound, prompt_tokens_details: input, completion_tokens_details: output })
    expect(openai).toEqual({ inputTokens: 100, outputTokens: 30, insaneFields: 5 })
    expect(meter(openai)).toMatchObject({ usage: { input: 100, output: 30 }, anomalies: ['usage_insane'] })
    mergeUsage(openai, { prompt_tokens: wrong, completion_tokens: wrong, prompt_cache_hit_tokens: wrong })
    expect(openai).toMatchObject({ inputTokens: 100, outputTokens: 30, insaneFields: 8 })

    const messages: ReportedUsage = { insaneFields: 0 }
    const classes = { fresh: 0, cacheRead: 0, cacheWrite: 0 }
    const read = { cache_read_input_tokens: wrong, cache_creation_input_tokens: wrong }
    mergeMessagesUsage(messages, classes, { input_tokens: 100, output_tokens: 30, ...read }, true)
    expect(messages).toEqual({ inputTokens: 100, outputTokens: 30, insaneFields: 2 })
    mergeMessagesUsage(messages, classes, { input_tokens: wrong, output_tokens: wrong }, true)
    expect(messages).toMatchObject({ inputTokens: 100, outputTokens: 30, insaneFields: 4 })
  })

  it('clips what cannot be: more input than was sent, more output than was seen', () => {
    const { usage, anomalies } = meter({ inputTokens: 1_000_000, outputTokens: 1_000_000 })
    expect(usage).toEqual({ input: 100 + 1_024, output: 40 + 64 })
    expect(anomalies).toEqual(['output_clipped', 'input_clipped'])
  })

  it('lets a model that reasons out of sight count up to its limit', () => {
    expect(meter({ inputTokens: 9, outputTokens: 100 }, { contentBytes: 4 }, ['reasoning']).usage.output).toBe(100)
    expect(meter({ inputTokens: 9, outputTokens: 500 }, { contentBytes: 4 }, ['reasoning']).usage.output).toBe(114)
  })

  it('reports figures that were no figures', () => {
    expect(meter({ inputTokens: 9, outputTokens: 5, insaneFields: 2 }).anomalies).toEqual(['usage_insane'])
  })
})
