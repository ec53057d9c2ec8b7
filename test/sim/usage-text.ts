import type { MarketOffer, Target } from '#data-plane/call.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import type { UsageEventText } from '#data-plane/pipeline/settle-call.ts'
import type { MicroUsd } from '#shared/money.ts'
import { KEEP_ALL, microUsd, splitCharge } from '#shared/money.ts'
import type { Usage } from '#shared/usage.ts'
import { FEE_BPS } from './market.ts'

type Facts = {
  readonly hold: CreditHold
  readonly offer: MarketOffer | undefined
  readonly usage: Usage
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly outcome: UsageEventText['outcome']
  /** How many there were, the one that answered included. */
  readonly attempts: number
  readonly node: string
  readonly target: Target
  readonly endedAt: number
  readonly durationMs: number
  /** Rounds the fee by itself instead of taking what is left: the two may miss the charge. */
  readonly isFeeApart: boolean
}

const ATTEMPT = { provider: 'simulated', status: 200, ms: 1, errorClass: null }

/** A usage event as its bytes. */
export function eventText(facts: Facts): string {
  const { hold, offer, usage, chargeMicro, outcome, target, endedAt } = facts
  const { sellerNet, fee } = facts.isFeeApart ? splitApart(chargeMicro) : splitCharge(chargeMicro, FEE_BPS)
  const event: UsageEventText = {
    v: 1,
    rid: hold.rid,
    startedAt: endedAt - facts.durationMs,
    endedAt,
    node: facts.node,
    account: hold.account,
    keyId: hold.keyId,
    rail: 'credit',
    wire: 'chat',
    endpoint: target.endpoint,
    model: target.model.id,
    requestedModel: target.requestedModel,
    offer: offer?.id ?? null,
    sellerAccount: offer?.sellerAccount ?? null,
    provider: offer?.provider ?? null,
    servedBy: offer === undefined ? null : 'marketplace',
    isStreamed: true,
    outcome,
    errorCode: outcome === 'succeeded' ? null : 'upstream_error',
    finishReason: outcome === 'succeeded' ? 'stop' : null,
    usage,
    usageSource: 'reported',
    anomalies: [],
    priceVersion: target.price.version,
    keptBps: Number(offer?.keptBps ?? KEEP_ALL),
    feeBps: Number(FEE_BPS),
    holdMicro: hold.grantedMicro.toString(),
    chargeMicro: chargeMicro.toString(),
    listMicro: facts.listMicro.toString(),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
    ttftMs: 1,
    streamMs: 1,
    overheadMs: 0,
    attempts: Array.from({ length: facts.attempts }, () => ({ ...ATTEMPT, offer: offer?.id ?? null })),
    explanation: null,
  }
  return JSON.stringify(event)
}

function splitApart(chargeMicro: MicroUsd): { sellerNet: MicroUsd; fee: MicroUsd } {
  const { sellerNet } = splitCharge(chargeMicro, FEE_BPS)
  return { sellerNet, fee: microUsd((chargeMicro * FEE_BPS) / 10_000n) }
}
