import type { Demand, MarketOffer, Target } from '#data-plane/call.ts'
import type { CreditHold } from '#data-plane/payment.ts'
import type { CallQuote } from '#data-plane/pipeline/quote-call.ts'
import { limitWithin, quoteCall } from '#data-plane/pipeline/quote-call.ts'
import type { RequestId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsd, min, ZERO } from '#shared/money.ts'
import { chargeUsage, listCost } from '#shared/pricing.ts'
import { violation } from './checks.ts'
import type { Ground } from './ground.ts'
import type { DataNode, Machine } from './machine.ts'
import type { Buyer, Market } from './market.ts'
import type { Model, ModelRequest } from './model.ts'
import { eventText } from './usage-text.ts'

/** What happens to one call, drawn before it begins. */
export type CallPlan = {
  readonly buyer: number
  /** Offers in the order in which they are tried. */
  readonly offers: readonly number[]
  /** How many attempts fail before content. */
  readonly failures: number
  readonly inputTokens: number
  readonly maxOutputTokens: number | undefined
  readonly pieces: readonly number[]
  readonly paceMs: number
  readonly ending: 'done' | 'cut' | 'cancelled'
}

type Parts = { readonly ground: Ground; readonly market: Market; readonly model: Model; readonly onMoney: () => void }

const TOTAL_MS = 600_000
/** How long a take of an offer's cap counts when nobody settles it. */
export const TAKE_MS = TOTAL_MS + 60_000

type Call = {
  readonly node: DataNode
  readonly request: ModelRequest
  readonly hold: CreditHold
  readonly target: Target
  readonly demand: Demand
  readonly quote: CallQuote
  readonly buyer: Buyer
  readonly startedAt: number
}

/** Serves one call as the pipeline does, in its order of steps: a data plane without its protocols. */
export async function runCall(parts: Parts, machine: Machine, plan: CallPlan): Promise<void> {
  const node = machine.node()
  if (node === undefined || node.calls.isEnding || !node.journal.isWritable()) return
  node.calls.running += 1
  await admit(parts, { machine, node }, plan)
  node.calls.running -= 1
}

type Place = { readonly machine: Machine; readonly node: DataNode }

async function admit(parts: Parts, { machine, node }: Place, plan: CallPlan): Promise<void> {
  const { market, model, ground } = parts
  const buyer = market.buyers[plan.buyer % market.buyers.length] ?? market.buyers[0]
  const offers = plan.offers.map((index) => market.offers[index % market.offers.length] ?? market.offers[0])
  const target = market.target()
  const demand = market.demand(plan.inputTokens, plan.maxOutputTokens)
  const rid: RequestId = node.ids.requestId()
  const priced = ground.mutant === 'hold_without_failover_price' ? offers.slice(0, 1) : offers
  const quote = quoteCall({ rid, target, demand, totalMs: TOTAL_MS }, priced)
  const { account, keyId, dailyMicro } = buyer
  const request = model.start({ rid, account, keyId, machine: machine.id, pid: node.process.pid })
  const caps = { dailyMicro, monthlyMicro: null }
  const startedAt = node.process.time.monotonic()
  let hold: CreditHold
  try {
    hold = await node.funds.reserve({ ...quote, account, keyId, caps })
  } catch {
    request.state = 'refused'
    return
  }
  request.state = 'running'
  request.heldMicro = hold.grantedMicro
  await serve(parts, { node, request, hold, target, demand, quote, buyer, startedAt }, offers, plan)
}

/** Tries offers until one answers; what fails before content costs nothing. */
async function serve(parts: Parts, call: Call, offers: readonly MarketOffer[], plan: CallPlan): Promise<void> {
  const { node, hold, request } = call
  const time = node.process.time
  let attempts = 0
  for (const [index, offer] of offers.entries()) {
    const limit = limitOf(parts.ground, call, offer)
    if (limit === undefined) continue
    const attempt = `${hold.rid}.${attempts}`
    if (!(await node.caps.take(offer, attempt, hold.grantedMicro, TAKE_MS))) continue
    const taken = { amount: hold.grantedMicro, pid: node.process.pid, deadline: time.monotonic() + TAKE_MS - 1_000 }
    parts.model.takes.take(offer, attempt, taken)
    await time.sleep(plan.paceMs)
    attempts += 1
    if (index < plan.failures) {
      parts.model.takes.settle(offer, attempt, 0n, time.monotonic())
      void node.caps.settle(offer, attempt, ZERO)
      continue
    }
    return deliver(parts, call, { offer, attempt, attempts, limit, plan })
  }
  request.state = 'released'
  parts.onMoney()
  await node.funds.release(
    hold,
    'upstream_error',
    eventOf(call, undefined, { tokens: 0, chargeMicro: ZERO, outcome: 'failed', attempts }),
  )
}

function limitOf(ground: Ground, { target, quote, hold }: Call, offer: MarketOffer): number | undefined {
  if (ground.mutant === 'hold_without_failover_price') return quote.bound.maxOutputTokens
  return limitWithin(target, quote.bound, offer.keptBps, hold.grantedMicro)
}

type Attempt = {
  readonly offer: MarketOffer
  /** The id of its take, and the attempts so far, this one among them. */
  readonly attempt: string
  readonly attempts: number
  readonly limit: number
  readonly plan: CallPlan
}

const PROGRESS_TOKENS = 60

async function deliver(parts: Parts, call: Call, served: Attempt): Promise<void> {
  const { node, hold, request } = call
  const { offer, attempt, attempts, limit, plan } = served
  request.offer = offer.id
  request.sellerAccount = offer.sellerAccount
  let tokens = 0
  let progressed = -PROGRESS_TOKENS
  for (const piece of plan.pieces) {
    await node.process.time.sleep(plan.paceMs)
    tokens = Math.min(limit, tokens + piece)
    request.deliveredMicro = costOf(call, offer, tokens)
    if (tokens - progressed >= PROGRESS_TOKENS) {
      progressed = tokens
      writeProgress(parts, call, served, tokens)
    }
    if (tokens === limit) break
  }
  const due = costOf(call, offer, tokens)
  if (due > hold.grantedMicro) throw violation('I7', `${hold.rid} delivered ${due} on a hold of ${hold.grantedMicro}`)
  const chargeMicro = min(due, hold.grantedMicro)
  const outcome = plan.ending === 'done' ? 'succeeded' : plan.ending
  const text = eventOf(call, offer, { tokens, chargeMicro, outcome, attempts, mutant: parts.ground.mutant })
  parts.model.takes.settle(offer, attempt, chargeMicro, node.process.time.monotonic())
  request.state = 'captured'
  request.chargeMicro = chargeMicro
  request.capturedAt = parts.ground.scheduler.now()
  parts.onMoney()
  parts.ground.crash.pass('before capture')
  node.journal.capture({ ...hold, rail: 'credit' }, text)
  const captured = await node.funds.capture(hold, chargeMicro, text)
  void node.caps.settle(offer, attempt, chargeMicro)
  // What Redis was not there to take is in the journal alone.
  if (captured === 'queued') request.faults.add('redis_lost')
  // A disk that takes nothing keeps no call from its end, but nobody has promised anything then.
  request.isAcknowledged = captured === 'accepted' || (await isSynced(node))
  parts.ground.queue.add(node.process, captured === 'accepted' ? [hold.rid, hold.account] : text)
}

function isSynced({ journal }: DataNode): Promise<boolean> {
  return journal.sync().then(
    () => true,
    () => false,
  )
}

function writeProgress({ ground }: Parts, call: Call, { offer, attempts }: Attempt, tokens: number): void {
  const { node, hold, request } = call
  const due = min(costOf(call, offer, tokens), hold.grantedMicro)
  const chargeMicro = ground.mutant === 'progress_above_delivered' ? microUsd((due + hold.grantedMicro + 1n) / 2n) : due
  request.progressMicro = due
  const event = eventOf(call, offer, { tokens, chargeMicro, outcome: 'cut', attempts })
  node.journal.progress({ hold, offer: offer.id, outputTokens: tokens, chargeMicro, event })
}

function costOf({ target, demand }: Call, offer: MarketOffer, tokens: number): MicroUsd {
  const usage = { input: demand.bounds.inputTokens, output: tokens }
  return tokens === 0 ? ZERO : chargeUsage(target.price.unitPrices, usage, offer.keptBps)
}

type End = {
  readonly tokens: number
  readonly chargeMicro: MicroUsd
  readonly outcome: 'succeeded' | 'failed' | 'cut' | 'cancelled'
  readonly attempts: number
  readonly mutant?: Ground['mutant']
}

function eventOf(
  call: Call,
  offer: MarketOffer | undefined,
  { tokens, chargeMicro, outcome, attempts, mutant }: End,
): string {
  const { hold, target, demand, node, startedAt } = call
  const usage = { input: demand.bounds.inputTokens, output: tokens }
  const time = node.process.time
  return eventText({
    hold,
    offer,
    usage,
    chargeMicro,
    listMicro: listCost(target.price.unitPrices, usage),
    outcome,
    attempts,
    node: call.request.machine,
    target,
    endedAt: time.now(),
    durationMs: Math.round(time.monotonic() - startedAt),
    isFeeApart: mutant === 'fee_rounded_apart',
  })
}
