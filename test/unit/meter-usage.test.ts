import { describe, expect, it } from 'vitest'
import type { Ending } from '#data-plane/call.ts'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import type { CostlyMember } from '#shared/members/surcharge.ts'
import type { PicoUsd } from '#shared/money.ts'
import { KEEP_ALL, microUsd, picoUsd } from '#shared/money.ts'
import type { PriceOverride } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { chargeUsage } from '#shared/pricing.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeMessagesUsage } from '#shared/protocols/messages/usage.ts'
import { buildDemand, buildModel, buildPlan, buildTarget } from '#test/support/bytes/build-market.ts'

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
  it('splits the provider’s usage into disjoint classes', () => {
    const reported = { inputTokens: 100, outputTokens: 30, cachedTokens: 60, cacheWriteTokens: 10, reasoningTokens: 12 }
    expect(meter(reported)).toEqual({
      usage: { input: 30, cacheRead: 60, cacheWrite: 10, output: 18, reasoning: 12 },
      source: 'reported',
      finishReason: 'stop',
      anomalies: [],
    })
  })

  it('counts one-hour cache writes apart when the call requests them, else as plain cache writes', () => {
    const reported = { inputTokens: 100_060, outputTokens: 1, cacheWriteTokens: 100_000, cacheWriteLongTokens: 100_000 }
    const bounds = { ...buildDemand().bounds, inputTokens: 500_000, inputBytes: 500_000 }
    const usageOf = (costly: readonly CostlyMember[]) => {
      const demand = { ...buildDemand({ bounds }), needs: { imageInput: false, costly } }
      const end = { finishReason: 'stop', contentBytes: 40, reasoningBytes: 0 }
      const target = buildTarget(buildModel({ contextLength: 200_000 }))
      return meterUsage(buildPlan({ target }), demand, { ...end, reported: { insaneFields: 0, ...reported } }).usage
    }
    const ordered = usageOf([{ param: 'messages.0.cache_control', surcharge: 'cache_write_long' }])
    expect(ordered).toEqual({ input: 60, cacheWriteLong: 100_000, output: 1 })
    expect(usageOf([])).toEqual({ input: 60, cacheWrite: 100_000, output: 1 })
    // Claude Sonnet 4.5 by its maker's list: 3 dollars a million tokens, 6 for a cache of an hour.
    const prices = { input: picoUsd(3_000_000n), cacheWriteLong: picoUsd(6_000_000n), output: picoUsd(0n) }
    expect(chargeUsage(prices, ordered, KEEP_ALL)).toBe(600_180n)
  })

  it('charges the region that a call requests, and searches by the context size of the call or the provider', () => {
    const unitPrices = { input: picoUsd(10n), output: picoUsd(0n), calls: picoUsd(5_000n) }
    const lineOf = (name: string, when: PriceOverride['when'], own: UnitPrices) => ({ name, when, unitPrices: own })
    const overrides = [
      lineOf('us', { regions: ['us'] }, { input: picoUsd(11n) }),
      ...(['low', 'high'] as const).map((size) => {
        return lineOf(size, { searchContext: size }, { calls: picoUsd(size === 'low' ? 5_000n : 12_000n) })
      }),
    ]
    const price = { version: 'test', unitPrices, overrides }
    const costOf = (costly: readonly CostlyMember[], told: Partial<ReportedUsage>) => {
      const reported = { insaneFields: 0, inputTokens: 100, outputTokens: 1, ...told }
      const plan = buildPlan({ target: { ...buildTarget(), price } })
      const demand = { ...buildDemand(), needs: { imageInput: false, costly } }
      const end = { finishReason: 'stop', contentBytes: 40, reasoningBytes: 0 }
      const metered = meterUsage(plan, demand, { ...end, reported })
      expect(billUsage(price, { ...metered, each: [metered.usage] })).toEqual(billUsage(price, metered))
      const { whole, conditions } = billUsage(price, metered)
      return [Number(whole), ...conditions]
    }
    const region: CostlyMember = { param: 'inference_geo', surcharge: 'region', region: 'us' }
    expect(costOf([], {})).toEqual([6_000])
    expect(costOf([region], {})).toEqual([6_100, 'us'])
    expect(costOf([region], { region: 'us' })).toEqual([6_100, 'us'])
    expect(costOf([region], { region: 'not_available' })).toEqual([6_100, 'us'])
    expect(costOf([region], { region: 'global' })).toEqual([6_000])
    // A workspace of the seller's may run in a region that the call did not request.
    expect(costOf([], { region: 'us' })).toEqual([6_000])
    const search = (searchContext?: 'low' | 'high'): CostlyMember => {
      return { param: 'web_search_options', surcharge: 'search', ...(searchContext && { searchContext }) }
    }
    expect(costOf([search('high')], {})).toEqual([13_000, 'high'])
    expect(costOf([search('low')], { searchContext: 'high' })).toEqual([6_000, 'low'])
    // A model may search without a request.
    expect(costOf([], { searchContext: 'high' })).toEqual([13_000, 'high'])
    expect(costOf([search()], { searchContext: 'vast' })).toEqual([6_000])
  })

  it('counts searches when they have a price and the call requests them, up to the hold', () => {
    const unitPrices = { input: picoUsd(1n), output: picoUsd(1n), searches: picoUsd(10_000_000_000n) }
    const search: CostlyMember = { param: 'web_search_options', surcharge: 'search' }
    const metered = (needs: object, searches?: number, prices: object = unitPrices) => {
      const target = { ...buildTarget(), price: { version: 'test', unitPrices: prices } }
      const reported = {
        insaneFields: 0,
        inputTokens: 60,
        outputTokens: 1,
        ...(searches !== undefined && { searches }),
      }
      const end = { reported, finishReason: 'stop', contentBytes: 40, reasoningBytes: 0 }
      const { usage, anomalies } = meterUsage(
        buildPlan({ target }),
        buildDemand({ needs: { imageInput: false, ...needs } }),
        end,
      )
      return [usage.searches, anomalies]
    }
    expect(metered({ costly: [search] }, 2)).toEqual([2, []])
    // OpenAI reports no number of searches in a chat. Each answer that searches has searched once.
    expect(metered({ costly: [search] })).toEqual([1, []])
    expect(metered({ costly: [search] }, 0)).toEqual([undefined, []])
    expect(metered({ costly: [search] }, 9)).toEqual([5, ['searches_clipped']])
    expect(metered({ searches: 8 }, 8)).toEqual([8, []])
    expect(metered({ searches: 8 })).toEqual([undefined, []])
    expect(metered({ searches: 8 }, 9)).toEqual([8, ['searches_clipped']])
    // The price per call includes its searches.
    const perCall = { input: picoUsd(1n), output: picoUsd(1n), calls: picoUsd(5_000_000_000n) }
    expect(metered({ costly: [search] }, 2, perCall)).toEqual([undefined, []])
    expect(metered({}, 2)).toEqual([undefined, []])
  })

  it('counts cached audio once, although providers report it both as cached and as audio', () => {
    const reported = {
      inputTokens: 100,
      outputTokens: 1,
      cachedTokens: 60,
      cachedAudioTokens: 40,
      audioInputTokens: 50,
    }
    expect(meter(reported).usage).toEqual({ input: 30, cacheRead: 20, cachedAudio: 40, audioInput: 10, output: 1 })
  })

  it('never counts a detail beyond its total', () => {
    const { usage } = meter({ inputTokens: 10, outputTokens: 5, cachedTokens: 99, reasoningTokens: 99 })
    expect(usage).toEqual({ input: 0, cacheRead: 10, output: 0, reasoning: 5 })
  })

  it('an answer without content is charged the tokens that its provider reports', () => {
    const hidden = { inputTokens: 1_000, outputTokens: 40, reasoningTokens: 40 }
    expect(meter(hidden, { contentBytes: 0 }, ['reasoning'])).toMatchObject({
      usage: { input: 1_000, output: 0, reasoning: 40 },
      source: 'reported',
      anomalies: ['content_missing'],
    })
    // A false report stays bounded: by the limit where reasoning may be hidden, and by the end of the answer elsewhere.
    expect(meter({ inputTokens: 9, outputTokens: 900 }, { contentBytes: 0 }, ['reasoning']).usage.output).toBe(114)
    expect(meter({ inputTokens: 9, outputTokens: 900 }, { contentBytes: 0 }).usage.output).toBe(64)
  })

  it('an answer without content and without a token of output is free', () => {
    for (const reported of [{}, { inputTokens: 1_000 }, { inputTokens: 1_000, outputTokens: 0 }]) {
      expect(meter(reported, { contentBytes: 0 })).toMatchObject({ usage: {}, source: 'reported', anomalies: [] })
    }
  })

  it('zeros are usage, also for an answer with content', () => {
    const zero = { inputTokens: 0, outputTokens: 0 }
    expect(meter(zero)).toMatchObject({ usage: {}, source: 'reported', anomalies: ['usage_zero'] })
    // Some gateways send zeros until the last frame.
    expect(meter(zero, { isUnfinished: true })).toMatchObject({ usage: { input: 0, output: 10 }, source: 'estimated' })
    expect(meter({ inputTokens: 0 })).toMatchObject({ usage: { input: 0, output: 10 }, source: 'estimated' })
  })

  it('reasoning tokens that only the total includes are counted for a model that reasons', () => {
    const gemini = { inputTokens: 10, outputTokens: 12, unnamedTokens: 20 }
    expect(meter(gemini, {}, ['reasoning']).usage).toEqual({ input: 10, output: 12, reasoning: 20 })
    expect(meter(gemini)).toMatchObject({ usage: { input: 10, output: 12 }, anomalies: [] })
    const unseen = meter({ ...gemini, outputTokens: 0 }, { contentBytes: 0 }, ['reasoning'])
    expect(unseen.usage).toEqual({ input: 10, output: 0, reasoning: 20 })
  })

  it('accepts the report of a part of unknown size, up to the context window', () => {
    const plan = buildPlan({ target: buildTarget(buildModel()), maxOutputTokens: 50 })
    const { bounds } = buildDemand()
    const demand = buildDemand({ bounds: { ...bounds, isOpenEnded: true } })
    const metered = (inputTokens: number) =>
      meterUsage(plan, demand, {
        reported: { insaneFields: 0, inputTokens, outputTokens: 5 },
        finishReason: 'stop',
        contentBytes: 40,
        reasoningBytes: 0,
      })
    expect(metered(120_000)).toMatchObject({ usage: { input: 120_000 }, anomalies: [] })
    expect(metered(300_000)).toMatchObject({ usage: { input: 128_000 + 1_024 }, anomalies: ['input_clipped'] })
  })

  it('accepts the rejected tokens of a prediction, up to the limit', () => {
    const plan = buildPlan({ target: buildTarget(buildModel()), maxOutputTokens: 10_050 })
    const { bounds } = buildDemand()
    const ending = { finishReason: 'stop', contentBytes: 2, reasoningBytes: 0 }
    const reported = { insaneFields: 0, inputTokens: 9, outputTokens: 10_020 }
    const predicted = buildDemand({ bounds: { ...bounds, isPredicted: true } })
    expect(meterUsage(plan, predicted, { ...ending, reported })).toMatchObject({
      usage: { input: 9, output: 10_020 },
      anomalies: [],
    })
    expect(meterUsage(plan, buildDemand(), { ...ending, reported })).toMatchObject({
      usage: { input: 9, output: 66 },
      anomalies: ['output_clipped'],
    })
  })

  it("records a provider's own cost that differs from the list cost", () => {
    const reported = { inputTokens: 100, outputTokens: 30 }
    const list = chargeUsage(buildTarget().price.unitPrices, { input: 100, output: 30 }, KEEP_ALL)
    const noted = (micro: bigint) => meter({ ...reported, ownCost: picoUsd(micro * 1_000_000n) }).anomalies
    for (const same of [list, list + 1n, list - 1n, (list * 101n) / 100n]) expect(noted(same)).toEqual([])
    for (const other of [list * 2n, (list * 97n) / 100n, 0n]) expect(noted(other)).toEqual(['cost_differs'])
    expect(meter({ ownCost: picoUsd(7n) }, { contentBytes: 0 }).anomalies).toEqual([])
  })

  it('records the provider’s own cost for free calls, and for several exchanges only when it is complete', () => {
    expect(meter({ ownCost: picoUsd(7n) }, { contentBytes: 0 })).toMatchObject({ usage: {}, ownCost: 7n })
    const ending = { finishReason: 'stop', contentBytes: 40, reasoningBytes: 0 }
    const reported = { insaneFields: 0, inputTokens: 10, outputTokens: 5 }
    const exchange = (ownCost?: PicoUsd) => ({ ...ending, reported: { ...reported, ...(ownCost && { ownCost }) } })
    const costOf = (...costs: (PicoUsd | undefined)[]) =>
      meterUsage(buildPlan(), buildDemand(), { ...exchange(), each: costs.map(exchange) }).ownCost
    expect(costOf(picoUsd(3n), picoUsd(4n))).toBe(7n)
    expect(costOf(picoUsd(3n), undefined)).toBeUndefined()
  })

  it('compares the provider’s own cost with the prices that apply to the call', () => {
    const target = buildTarget()
    const { input = picoUsd(0n), output = picoUsd(0n) } = target.price.unitPrices
    const unitPrices = { input: picoUsd(input * 2n), output: picoUsd(output * 2n) }
    const overrides = [{ name: 'prompt_tokens>=100', when: { minPromptTokens: 100 }, unitPrices }]
    const plan = buildPlan({ target: { ...target, price: { ...target.price, overrides } }, maxOutputTokens: 50 })
    const ownCost = picoUsd(2n * (100n * input + 30n * output))
    const reported = { inputTokens: 100, outputTokens: 30, insaneFields: 0, ownCost }
    const ending = { finishReason: 'stop', contentBytes: 40, reasoningBytes: 0, reported }
    expect(meterUsage(plan, buildDemand(), ending).anomalies).toEqual([])
  })

  it('counts one call where calls have a price, and none where the call consumed nothing', () => {
    const target = buildTarget(buildModel())
    const price = { ...target.price, unitPrices: { ...target.price.unitPrices, calls: picoUsd(5_000_000n) } }
    const plan = buildPlan({ target: { ...target, price }, maxOutputTokens: 50 })
    const ending = { finishReason: 'stop', contentBytes: 40, reasoningBytes: 0 }
    const reported = { inputTokens: 100, outputTokens: 30, insaneFields: 0 }
    const { usage } = meterUsage(plan, buildDemand(), { ...ending, reported })
    expect(usage).toEqual({ input: 100, output: 30, calls: 1 })
    const without = chargeUsage(target.price.unitPrices, usage, KEEP_ALL)
    expect(chargeUsage(price.unitPrices, usage, KEEP_ALL)).toBe(microUsd(without + 5n))
    // The provider's own cost includes the price of the call.
    const ownCost = picoUsd((without + 5n) * 1_000_000n)
    expect(meterUsage(plan, buildDemand(), { ...ending, reported: { ...reported, ownCost } }).anomalies).toEqual([])
    const nothing = { ...reported, outputTokens: 0 }
    expect(meterUsage(plan, buildDemand(), { ...ending, contentBytes: 0, reported: nothing }).usage).toEqual({})
  })

  it('meters each of several exchanges by its own usage, and counts each call that has a price', () => {
    const target = buildTarget(buildModel())
    const price = { ...target.price, unitPrices: { ...target.price.unitPrices, calls: picoUsd(5_000_000n) } }
    const plan = buildPlan({ target: { ...target, price }, maxOutputTokens: 50 })
    const own = buildDemand().bounds
    const demand = buildDemand({ bounds: { ...own, inputTokens: 200, inputBytes: 72, choices: 2, each: [own, own] } })
    const reported = { insaneFields: 0, inputTokens: 20, outputTokens: 8, cachedTokens: 5 }
    const whole = { reported, finishReason: 'stop', contentBytes: 30, reasoningBytes: 0 }
    const cut = { ...whole, reported: { insaneFields: 0 }, finishReason: 'length', contentBytes: 12 }
    const empty = { ...whole, reported: { insaneFields: 0 }, contentBytes: 0 }
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

  it('estimates a quarter of the bytes where the usage is missing or zero', () => {
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

  it('estimates no more than the requested limit', () => {
    expect(meter({ inputTokens: 9 }, { contentBytes: 4_000 }).usage).toEqual({ input: 9, output: 50 })
  })

  it.each([-500, -1, 0.5, Number.NaN, 1e300, '12', true])('reads %s as no count, in any member', (wrong) => {
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

  it('clips impossible usage: more input than was sent, more output than was delivered', () => {
    const { usage, anomalies } = meter({ inputTokens: 1_000_000, outputTokens: 1_000_000 })
    expect(usage).toEqual({ input: 100 + 1_024, output: 40 + 64 })
    expect(anomalies).toEqual(['output_clipped', 'input_clipped'])
  })

  it('lets a model with hidden reasoning count up to its limit', () => {
    expect(meter({ inputTokens: 9, outputTokens: 100 }, { contentBytes: 4 }, ['reasoning']).usage.output).toBe(100)
    expect(meter({ inputTokens: 9, outputTokens: 500 }, { contentBytes: 4 }, ['reasoning']).usage.output).toBe(114)
  })

  it('reports usage that was not readable', () => {
    expect(meter({ inputTokens: 9, outputTokens: 5, insaneFields: 2 }).anomalies).toEqual(['usage_insane'])
  })
})
