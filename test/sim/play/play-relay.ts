import type { RequestHead } from '#data-plane/call.ts'
import { serveCall } from '#data-plane/pipeline/serve-call.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { PATIENCE_MS } from '#test/sim/check/end-checks.ts'
import type { Received } from '#test/sim/model/buyer-reply.ts'
import { createReply } from '#test/sim/model/buyer-reply.ts'
import type { RelayPlan } from '#test/sim/plan/relay-plan.ts'
import { RELAY_RESOURCE, relayPrices } from '#test/sim/providers/lent-keys.ts'
import type { Buyer } from '#test/sim/providers/market.ts'
import type { PlayedRelay } from '#test/sim/providers/relay-providers.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { DataNode, NodeParts } from '#test/sim/world/data-node.ts'
import type { Machine } from '#test/sim/world/machine.ts'
import { checkTakes } from '#test/sim/world/watched.ts'
import { acknowledge } from './play-call.ts'

/** Plays a buyer's call on a lent key. The product's own pipeline quotes, holds, relays and captures the call. */
export async function playRelay(parts: NodeParts, machine: Machine, plan: RelayPlan): Promise<void> {
  const node = machine.node()
  if (node === undefined || node.calls.isEnding) return
  const { market, watch, providers } = parts
  const buyer = market.buyers[plan.buyer % market.buyers.length] ?? market.buyers[0]
  const rid = node.ids.requestId()
  const { account, keyId } = buyer
  const key = { rid, account, keyId, machine: machine.id, pid: node.process.pid, isPaidWhole: true }
  const request = watch.model.start(key)
  const relay: PlayedRelay = {
    request,
    plan,
    prices: relayPrices(market.published()),
    refused: 0,
    sent: 0,
    leave: () => reply.leave(),
  }
  const reply = createReply(node.process, plan.stallMs, (received) => told(node, relay, received))
  const words = providers.relays.expect(relay)
  const head = headOf(node, buyer, rid, plan)
  const body = Buffer.from(JSON.stringify({ prompt: words, n: plan.ordered }))
  node.calls.running += 1
  await serveCall(
    node.plane,
    node.routes.resource,
    { head, read: () => Promise.resolve({ ...head, body }), largeBytes: () => 0 },
    reply,
  )
  node.calls.running -= 1
  providers.relays.forget(words)
  const tookMs = node.process.time.monotonic() - head.startedAt
  const isDisturbed = node.calls.isEnding || tookMs > PATIENCE_MS
  over(parts, node, { relay, received: reply.received(), isDisturbed })
}

function headOf(
  { process: { time } }: DataNode,
  { keyId }: Buyer,
  requestId: RequestHead['requestId'],
  { route }: RelayPlan,
): RequestHead {
  return {
    requestId,
    method: 'POST',
    path: `/resources/${RELAY_RESOURCE}/${route}`,
    query: new URLSearchParams(),
    params: {},
    pathFloorPercent: undefined,
    peer: () => '127.0.0.1',
    headers: { authorization: `Bearer ${keyId}`, 'content-type': 'application/json' },
    receivedAt: time.now(),
    startedAt: time.monotonic(),
  }
}

/** The cost in the head of an answer, in micro-USD. */
function costIn({ headers }: Received): bigint | undefined {
  const { 'x-mkt-buyer-cost-micro': cost = '' } = headers
  return cost === '' ? undefined : BigInt(cost)
}

/**
 * I13: the cost in the head of an answer is the captured charge. Only an answer that goes out as it arrives states the
 * cost in advance.
 */
function told(node: DataNode, { request, plan }: PlayedRelay, received: Received): void {
  const { rid, state, chargeMicro = 0n } = request
  const cost = costIn(received)
  const isGood = received.isWhole && received.status === 200
  const isKnown = cost !== undefined && (cost === 0n || state === 'captured')
  if (isGood && (!isKnown || cost !== chargeMicro)) {
    node.watch.fail(
      violation('I13', `${rid} (${plan.route}) has ${cost} in its answer, is ${state} and costs ${chargeMicro}`),
    )
  }
  acknowledge(node, request)
}

type RelayEnd = { readonly relay: PlayedRelay; readonly received: Received; readonly isDisturbed: boolean }

/** Checks a call on a lent key as soon as it is over. */
function over({ watch, market }: NodeParts, node: DataNode, end: RelayEnd): void {
  const { request, plan, sent, refused } = end.relay
  if (request.state === 'asking') {
    request.state = 'refused'
    watch.model.unresolved.delete(request)
  }
  const { rid, state, chargeMicro = 0n, deliveredMicro, offer } = request
  if (state === 'running') throw violation('I6', `${rid} is over and its hold has no end`)
  if (!request.isAcknowledged) acknowledge(node, request)
  const served = market.lentOffers.find(({ id }) => id === offer)
  checkTakes(request, watch.model, served?.capDailyMicro != null)
  if (chargeMicro !== deliveredMicro) {
    const what = `${state} ${plan.route} ${plan.failure ?? plan.ending}`
    throw violation('I6', `${rid} is ${what}, owes ${deliveredMicro} and costs ${chargeMicro}`)
  }
  const event = request.endEvent === undefined ? undefined : readUsageEvent(request.endEvent)
  if (event === undefined) return
  const isTold = event.attempts.length === sent + refused && outcomesOf(end).includes(event.outcome)
  if (isTold) return
  const facts = `${plan.route} ${plan.failure ?? plan.ending}, ${refused} refused and ${sent} sent`
  throw violation(
    'I6',
    `${rid} was ${facts}, and is reported as ${event.outcome} after ${event.attempts.length} attempts`,
  )
}

/** The outcomes that may be reported for the end of a call. */
function outcomesOf({ relay, isDisturbed }: RelayEnd): readonly UsageEvent['outcome'][] {
  const { plan, sent } = relay
  if (isDisturbed) return ['succeeded', 'failed', 'cut', 'cancelled']
  if (sent === 0 || plan.failure !== undefined) return ['failed']
  if (plan.ending === 'cut') return [plan.route === 'film' ? 'cut' : 'failed']
  return [plan.ending === 'done' ? 'succeeded' : 'cancelled']
}
