import { describe, expect, it } from 'vitest'
import type { Ending } from '#data-plane/call.ts'
import { meterUsage } from '#data-plane/pipeline/meter-usage.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
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
