import { describe, expect, it } from 'vitest'
import type { CallFacts } from '#data-plane/call.ts'
import { createMetrics } from '#data-plane/observe/metrics.ts'
import { systemClock } from '#shared/clock.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { createIds } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'

const ids = createIds(systemClock)
const attemptAt = (provider: string): Attempt => ({ offer: null, provider, status: 200, ms: 3, errorClass: null })

function factsOf(given: Partial<CallFacts> = {}): CallFacts {
  return {
    rid: ids.requestId(),
    wire: 'chat',
    model: 'm',
    provider: 'p',
    outcome: 'succeeded',
    errorCode: null,
    status: 200,
    isStreamed: false,
    attempts: 1,
    durationMs: 12,
    overheadMs: 1,
    ttftMs: null,
    inputTokens: 1,
    outputTokens: 2,
    chargeMicro: microUsd(3n),
    ...given,
  }
}

async function providersShown(text: Promise<string>): Promise<string[]> {
  return [...(await text).matchAll(/^market_attempts_total\{provider="([^"]+)"/gm)].map((match) => match[1] ?? '')
}

describe('the metrics of calls', () => {
  it('show a thousand unknown models and providers under one label', async () => {
    const metrics = createMetrics((provider) => provider === 'listed')
    metrics.observe(factsOf({ model: 'm0' }), [attemptAt('listed'), attemptAt('strange-0')])
    const linesOf = async () => (await metrics.text()).split('\n').filter((line) => line.startsWith('market_')).length
    const before = await linesOf()
    for (let at = 1; at <= 1_000; at++) metrics.observe(factsOf({ model: `m${at}` }), [attemptAt(`strange-${at}`)])
    expect(await providersShown(metrics.text())).toEqual(['listed', 'other'])
    expect(await linesOf()).toBe(before)
  })

  it('give at most 200 providers of an allow-list a label of their own', async () => {
    const metrics = createMetrics(() => true)
    for (let at = 0; at < 300; at++) metrics.observe(factsOf(), [attemptAt(`listed-${at}`)])
    const shown = await providersShown(metrics.text())
    expect(shown).toHaveLength(201)
    expect(shown).toContain('other')
  })

  it('count attempts by their failure, and a call with two attempts as a failover', async () => {
    const metrics = createMetrics(() => true)
    metrics.observe(factsOf({ attempts: 2 }), [{ ...attemptAt('a'), errorClass: 'timeout', status: 0 }, attemptAt('b')])
    const text = await metrics.text()
    expect(text).toContain('market_attempts_total{provider="a",error_class="timeout"} 1')
    expect(text).toContain('market_attempts_total{provider="b",error_class="none"} 1')
    expect(text).toContain('market_failovers_total{wire="chat"} 1')
    expect(text).toContain('market_call_duration_seconds_sum{wire="chat",streamed="false"} 0.012')
  })
})
