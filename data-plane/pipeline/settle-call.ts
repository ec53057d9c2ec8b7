import type { AttemptPlan, Decoder, Demand, Metered, Receipt, Target, UpstreamRequest } from '#data-plane/call.ts'
import type { RailRecord, Settled } from '#data-plane/payment.ts'
import { toMicrosecond } from '#shared/clock.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { MAX_WORD_CHARS } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AppError } from '#shared/errors.ts'
import type { MicroUsd } from '#shared/money.ts'
import { chargeShare, KEEP_ALL, min, splitCharge, ZERO } from '#shared/money.ts'
import { cleanLine } from '#shared/texts.ts'
import { isNothing, outputTokens } from '#shared/usage.ts'
import type { CallPlane } from './call-plane.ts'
import { asSubmit, bindJob } from './forwarded-job.ts'
import { billUsage } from './meter/bill-usage.ts'
import { meterUsage } from './meter/meter-usage.ts'
import type { AdmittedCall, Outcome, Relay, Settlement, UsageEventText } from './stages.ts'

const NOTHING: Metered = { usage: {}, source: 'reported', finishReason: null, anomalies: [] }

/**
 * Charges the metered usage, at most the hold, and makes the charge durable. It is written to the journal and settled
 * by the rail of the hold. Until the rail is final, the charge is on disk before any other process learns of it. A call
 * that costs nothing releases its hold.
 */
export async function settleCall(
  plane: CallPlane,
  call: AdmittedCall,
  relay: Relay,
  hasProgress: boolean,
): Promise<Settlement> {
  const { last } = relay
  const outcome = outcomeOf(relay)
  const metered = last === undefined ? NOTHING : meter(call.demand, last, outcome)
  const charge = chargeOf(call, last?.plan, metered)
  const called = writeEvent(plane, call, {
    plan: last?.plan,
    attempts: relay.attempts,
    relay,
    outcome,
    error: relay.error,
    charge,
  })
  const startedJob = relay.error === undefined ? last?.decoder.job?.started() : undefined
  const event = startedJob === undefined ? called : asSubmit(plane.jobs, call, called, startedJob)
  const text = JSON.stringify(event)
  const seller = last?.plan.offer
  if (startedJob !== undefined && seller?.servedBy === 'marketplace') {
    await bindJob(plane.jobs, call, { offer: seller, submit: text, job: startedJob.id })
  }
  let settled = RELEASED
  // A call with progress in the journal must end in a capture, even of nothing.
  if (charge.chargeMicro === ZERO && !hasProgress) {
    void call.payment.release(call.hold, relay.error?.code ?? outcome, text)
  } else {
    crashPoint('before_C')
    plane.money.journal.capture(call.hold, text)
    crashPoint('before_capture')
    settled = await call.payment.settle(call.hold, charge.chargeMicro, text)
    // A disk that refuses writes does not keep a call from its end. The rail still has the charge in memory.
    if (settled.state === 'pending') await plane.money.journal.sync().catch(() => undefined)
    crashPoint('after_capture')
  }
  // The take waits until the capture is certain. An heir that brings the capture settles the take and must still find
  // it.
  if (last !== undefined && last.plan.offer.capDailyMicro !== null) {
    const attempt = `${call.hold.rid}.${relay.attempts.length - 1}`
    void plane.caps.offers.settle(last.plan.offer, attempt, charge.chargeMicro)
    void plane.caps.shares.settle(attempt, charge.chargeMicro)
  }
  const { booking, headers, refusal } = settled
  const receipt = receiptOf(charge, { members: settled.members, adaptedParams: last?.request.adaptedParams })
  return { outcome, receipt, metered: charge.metered, event: text, booking, headers, refusal }
}

/** A released hold. Its event goes to the booking. */
const RELEASED: Settled = { state: 'final', booking: 'by-event' }

/** Members of the body besides the usage and its cost. */
type BodyMembers = {
  readonly members: Settled['members'] | undefined
  readonly adaptedParams: Receipt['adaptedParams'] | undefined
}
const NOTHING_ADAPTED: readonly string[] = []

function receiptOf(
  { chargeMicro, listMicro, listInputMicro, metered }: Charge,
  { members, adaptedParams = NOTHING_ADAPTED }: BodyMembers,
): Receipt {
  const { usage } = metered
  return members === undefined
    ? { chargeMicro, listMicro, listInputMicro, usage, adaptedParams }
    : { chargeMicro, listMicro, listInputMicro, usage, adaptedParams, members }
}

/** The receipt of a call whose cost is known before its end. */
export function receiptAhead(
  call: AdmittedCall,
  { plan, decoder, request }: Answered & { readonly request: UpstreamRequest },
): Receipt {
  const charge = chargeOf(call, plan, meter(call.demand, { plan, decoder }, 'succeeded'))
  return receiptOf(charge, { members: undefined, adaptedParams: request.adaptedParams })
}

/** The event to capture if this process died now. It counts the answer so far as a cut one. */
export function progressEvent(
  plane: CallPlane,
  call: AdmittedCall,
  at: { readonly plan: AttemptPlan; readonly decoder: Decoder; readonly attempts: readonly Attempt[] },
): { event: string; chargeMicro: MicroUsd; outputTokens: number } {
  const charge = chargeOf(call, at.plan, meter(call.demand, at, 'cut'))
  const event = writeEvent(plane, call, {
    plan: at.plan,
    attempts: at.attempts,
    relay: undefined,
    outcome: 'cut',
    error: undefined,
    charge,
  })
  return {
    event: JSON.stringify(event),
    chargeMicro: charge.chargeMicro,
    outputTokens: outputTokens(charge.metered.usage),
  }
}

type Answered = { readonly plan: AttemptPlan; readonly decoder: Decoder }

function meter(demand: Demand, { plan, decoder }: Answered, outcome: Outcome): Metered {
  const ending = decoder.ending()
  const metered = meterUsage(plan, demand, outcome === 'succeeded' ? ending : { ...ending, isUnfinished: true })
  // Half of a sound, a transcript or an image is worthless, and which half it is cannot be known. Nothing of a failed
  // answer has been sent, whatever part of it was held.
  const isWorthless = outcome === 'failed' || (isPaidWhole(demand) && outcome === 'cut')
  return isWorthless ? { ...metered, usage: {} } : metered
}

function isPaidWhole(demand: Demand): boolean {
  return demand.bounds.units !== undefined || (demand.kind === 'model' && demand.bounds.images !== undefined)
}

function outcomeOf(relay: Relay): Outcome {
  if (relay.isGone) return 'cancelled'
  if (relay.error === undefined) return 'succeeded'
  return (relay.last?.decoder.contentPieces() ?? 0) > 0 ? 'cut' : 'failed'
}

type Charge = {
  readonly metered: Metered
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly listInputMicro: MicroUsd
  /** The conditions of the applied prices. */
  readonly conditions: readonly string[]
}

const NO_CHARGE = { chargeMicro: ZERO, listMicro: ZERO, listInputMicro: ZERO, conditions: [] } as const

function chargeOf({ target, hold }: AdmittedCall, plan: AttemptPlan | undefined, metered: Metered): Charge {
  if (plan === undefined || isNothing(metered.usage)) return { ...NO_CHARGE, metered }
  const bill = billUsage(target.price, metered)
  const due = chargeShare(bill.whole, plan.offer.keptBps)
  const chargeMicro = min(due, hold.grantedMicro)
  const isClipped = chargeMicro !== due
  return {
    metered: isClipped ? { ...metered, anomalies: [...metered.anomalies.slice(0, 9), 'charge_clipped'] } : metered,
    chargeMicro,
    listMicro: chargeShare(bill.whole, KEEP_ALL),
    listInputMicro: chargeShare(bill.input, KEEP_ALL),
    conditions: bill.conditions,
  }
}

type Facts = {
  readonly charge: Charge
  readonly plan: AttemptPlan | undefined
  readonly attempts: readonly Attempt[]
  readonly relay: Relay | undefined
  readonly outcome: Outcome
  readonly error: AppError | undefined
}

function writeEvent(plane: CallPlane, call: AdmittedCall, facts: Facts): UsageEventText {
  const { plan, relay } = facts
  const { metered, chargeMicro, listMicro, conditions } = facts.charge
  const { sellerNet, fee } = splitCharge(chargeMicro, call.feeBps)
  const now = plane.clock.monotonic()
  const { receivedAt, startedAt } = call.raw
  const durationMs = now - startedAt
  const result = relay?.last?.result
  // An offer that failed before content sold nothing.
  const sold = facts.outcome === 'failed' ? undefined : plan
  const { hold } = call
  const event: UsageEventText = {
    v: 1,
    rid: hold.rid,
    startedAt: receivedAt,
    endedAt: receivedAt + Math.round(durationMs),
    node: plane.site.nodeId,
    account: hold.account,
    keyId: hold.keyId,
    ...(hold.budgets && { budgets: [...hold.budgets] }),
    rail: hold.rail,
    wire: call.route.wire.name,
    endpoint: call.target.endpoint,
    ...soldIn(call.target),
    model: call.target.id,
    requestedModel: call.target.requested,
    offer: sold?.offer.id ?? null,
    sellerAccount: sold?.offer.sellerAccount ?? null,
    provider: sold?.offer.provider ?? null,
    servedBy: sold?.offer.servedBy ?? null,
    isStreamed: call.demand.isStreamed,
    outcome: facts.outcome,
    errorCode: facts.error?.code ?? null,
    // A provider's own value, in some protocols.
    finishReason: metered.finishReason === null ? null : cleanLine(metered.finishReason, MAX_WORD_CHARS),
    usage: metered.usage,
    usageSource: metered.source,
    anomalies: [...metered.anomalies],
    priceVersion: call.target.price.version,
    ...(conditions.length > 0 && { priceConditions: [...conditions] }),
    keptBps: Number(sold?.offer.keptBps ?? KEEP_ALL),
    feeBps: Number(call.feeBps),
    holdMicro: hold.grantedMicro.toString(),
    chargeMicro: chargeMicro.toString(),
    listMicro: listMicro.toString(),
    ...(metered.ownCost !== undefined && { ownCostPico: metered.ownCost.toString() }),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
    ttftMs: call.demand.isStreamed ? rounded(result?.firstContentAt, startedAt) : null,
    streamMs: call.demand.isStreamed ? rounded(result?.lastContentAt, result?.firstContentAt) : null,
    overheadMs: Math.max(0, toMicrosecond(durationMs - (relay?.waitedMs ?? 0))),
    attempts: [...facts.attempts],
    explanation: explain(call),
  }
  return hold.account !== null && hold.record === null ? event : { ...event, ...walletPart(hold) }
}

/**
 * The members of an event that a wallet's payment adds. The wallet is named besides its account: a restored ledger may
 * have lost the account, and books the call for the wallet.
 */
export function walletPart({ account, wallet, record }: WalletPart): Pick<UsageEventText, 'wallet' | 'payment'> {
  if (account !== null && record === null) return {}
  return { ...(wallet !== null && { wallet }), ...(record !== null && { payment: record }) }
}

type WalletPart = {
  readonly account: string | null
  readonly wallet: string | null
  readonly record: RailRecord | null
}

function soldIn(target: Target): Pick<UsageEventText, 'sold'> {
  if (target.kind === 'model') return {}
  const { kind, name: id, good, endpoint: route } = target
  return { sold: { kind, id, good, route } }
}

function rounded(at: number | undefined, since: number | undefined): number | null {
  return at === undefined || since === undefined ? null : Math.max(0, Math.round(at - since))
}

/** The offers in order with the most that the call could have cost at each, and the reasons of the skipped offers. */
function explain({ ranked, quote }: AdmittedCall): UsageEventText['explanation'] {
  return {
    ranked: ranked.candidates.map(({ id, servedBy, provider, keptBps }) => ({
      offer: id ?? servedBy,
      provider,
      estimateMicro: chargeShare(quote.bound.bill, keptBps).toString(),
    })),
    excluded: ranked.excluded.map(({ offer, reason }) => ({ offer, reason })),
    ...(ranked.affinity && {
      affinity: { offer: ranked.affinity.offer, savingMicro: ranked.affinity.savingMicro.toString() },
    }),
  }
}
