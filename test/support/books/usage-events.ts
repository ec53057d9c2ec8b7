import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { keptBps, microUsd, splitCharge } from '#shared/money.ts'

const ids = createIds(systemClock)

/** The fields of an event that tests set. Amounts are plain numbers of micro-USD. */
export type EventFields = {
  readonly rid?: string
  readonly account?: string
  readonly sellerAccount?: string | null
  readonly charge?: number
  readonly hold?: number
  readonly feeBps?: number
  readonly model?: string
  readonly startedAt?: number
}

/** A usage event as JSON. It can be posted, unless `changes` make it invalid. */
export function usageEvent(fields: EventFields = {}, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const { charge = 1_000, feeBps = 500, model = 'gpt-5-mini', startedAt = Date.now() - 1_500 } = fields
  const { sellerNet, fee } = splitCharge(microUsd(charge), keptBps(feeBps))
  return {
    v: 1,
    rid: fields.rid ?? ids.ulid(),
    startedAt,
    endedAt: startedAt + 1_400,
    node: 'node-1',
    account: fields.account ?? 'acc_buyer',
    keyId: 'key_test',
    rail: 'credit',
    wire: 'chat',
    endpoint: 'chat',
    model,
    requestedModel: model,
    offer: 'ofr_test',
    sellerAccount: fields.sellerAccount === undefined ? 'acc_seller' : fields.sellerAccount,
    provider: 'sandbox-a',
    servedBy: 'marketplace',
    isStreamed: false,
    outcome: charge > 0 ? 'succeeded' : 'failed',
    errorCode: charge > 0 ? null : 'upstream_error',
    finishReason: charge > 0 ? 'stop' : null,
    usage: { input: 120, cacheRead: 30, output: 40, reasoning: 10 },
    usageSource: 'reported',
    anomalies: [],
    priceVersion: 'v1',
    keptBps: 6_000,
    feeBps,
    holdMicro: String(fields.hold ?? Math.max(charge, 5_000)),
    chargeMicro: String(charge),
    listMicro: String(charge * 2),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
    ttftMs: 210,
    streamMs: 900,
    overheadMs: 0.7,
    attempts: [{ offer: 'ofr_test', provider: 'sandbox-a', status: 200, ms: 1_390, errorClass: null }],
    explanation: {
      ranked: [{ offer: 'ofr_test', provider: 'sandbox-a', estimateMicro: '900' }],
      excluded: [{ offer: 'ofr_other', reason: 'backed_off' }],
    },
    ...changes,
  }
}

/** A usage event as text. */
export function eventText(fields: EventFields = {}, changes: Record<string, unknown> = {}): string {
  return JSON.stringify(usageEvent(fields, changes))
}
