import { expect, it } from 'vitest'
import { relayWithFailover } from '#data-plane/pipeline/attempt/relay-with-failover.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd, picoUsd } from '#shared/money.ts'
import { buildDemand, buildMarketOffer, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'

/**
 * Relays calls to one lent key. Returns the shares that the relay took and gave back, and its answer. `encode` writes
 * the request.
 */
async function relayed(encode: () => unknown) {
  const steps: string[] = []
  const plane = {
    clock: { now: () => 0, monotonic: () => 0 },
    limits: { totalMs: 1_000, picturesMs: 1_000 },
    routing: {},
    caps: {
      offers: { take: async () => false, usedToday: async () => new Map() },
      spent: { mark: () => undefined, isSpent: () => false, refusalOf: () => undefined },
      shares: {
        take: async (_use: unknown, attempt: string) => steps.push(`takes ${attempt}`) > 0,
        settle: async (attempt: string, usedMicro: bigint) => void steps.push(`settles ${attempt} to ${usedMicro}`),
      },
    },
  }
  const lent = { buyerCapMicro: microUsd(10), ratePerMinute: null }
  const call = {
    target: buildTarget(),
    demand: buildDemand(),
    raw: { ...buildRaw('{}'), startedAt: 0 },
    asked: undefined,
    parsed: { encode },
    ranked: { candidates: [{ ...buildMarketOffer({ capDailyMicro: microUsd(10) }), lent }], excluded: [] },
    quote: { bound: { bill: picoUsd(0n), inputTokens: 0, maxOutputTokens: 0, choices: 1, prices: {} }, ttlMs: 1 },
    hold: { rid: 'r', account: 'acc_buyer', grantedMicro: microUsd(5) },
  }
  const turn = { call, before: { attempts: [], waitedMs: 0 }, maxAttempts: 3, decisionMs: 0, hasProgress: false }
  const relay = await relayWithFailover(plane as never, turn as never)
  return { relay, steps }
}

it("a call that the full cap of a lent key refuses gives back the buyer's share", async () => {
  const { relay, steps } = await relayed(() => ({}))
  expect([relay.last, relay.error?.detail]).toEqual([
    undefined,
    expect.objectContaining({ limit_source: 'seller_cap' }),
  ])
  expect(steps).toEqual(['takes r.0', 'settles r.0 to 0'])
})

it('a request that the protocol of the key cannot express takes no share', async () => {
  const { relay, steps } = await relayed(() => {
    throw new AppError('invalid_request', { message: 'not in this protocol' })
  })
  expect([relay.last, relay.error?.code]).toEqual([undefined, 'invalid_request'])
  expect(steps).toEqual([])
})
