import type { RequestHead } from '#data-plane/call.ts'
import { serveCall } from '#data-plane/pipeline/serve-call.ts'
import type { PlayedEnd } from '#test/sim/check/end-checks.ts'
import { endMistake } from '#test/sim/check/end-checks.ts'
import type { Received } from '#test/sim/model/buyer-reply.ts'
import { createReply } from '#test/sim/model/buyer-reply.ts'
import { mostDue } from '#test/sim/model/model.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { CallPlan } from '#test/sim/plan/call-plan.ts'
import type { Market } from '#test/sim/providers/market.ts'
import { CHAT_MODEL } from '#test/sim/providers/market.ts'
import type { PlayedCall } from '#test/sim/providers/providers.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { DataNode, NodeParts } from '#test/sim/world/data-node.ts'
import type { Machine } from '#test/sim/world/machine.ts'
import { checkTakes } from '#test/sim/world/watched.ts'

/** Plays a buyer's call. The product's own pipeline serves the call from its arrival to the last byte. */
export async function playCall(parts: NodeParts, machine: Machine, plan: CallPlan): Promise<void> {
  const node = machine.node()
  if (node === undefined || node.calls.isEnding) return
  const { market, watch, providers } = parts
  const buyer = market.buyers[plan.buyer % market.buyers.length] ?? market.buyers[0]
  const rid = node.ids.requestId()
  const { account, keyId } = buyer
  const request = watch.model.start({ rid, account, keyId, machine: machine.id, pid: node.process.pid })
  const reply = createReply(node.process, plan.stallMs, (received) => told(node, request, received))
  const call: PlayedCall = {
    request,
    plan,
    prices: market.pricesOf(CHAT_MODEL),
    attempts: 0,
    leave: reply.leave,
  }
  const words = providers.expect(call)
  const head = headOf(node, rid, { authorization: `Bearer ${keyId}` })
  const body = Buffer.from(bodyOf(market, plan, words))
  node.calls.running += 1
  await serveCall(
    node.plane,
    node.routes.chat,
    { head, read: () => Promise.resolve({ ...head, body }), largeBytes: () => 0 },
    reply,
  )
  node.calls.running -= 1
  providers.forget(words, call)
  const tookMs = node.process.time.monotonic() - head.startedAt
  over(parts, node, { call, received: reply.received(), tookMs, isStopping: node.calls.isEnding })
}

export function headOf(
  { process: { time } }: DataNode,
  requestId: RequestHead['requestId'],
  credential: RequestHead['headers'],
): RequestHead {
  return {
    requestId,
    method: 'POST',
    path: '/v1/chat/completions',
    query: new URLSearchParams(),
    params: {},
    headers: { ...credential, 'content-type': 'application/json' },
    pathFloorPercent: undefined,
    peer: () => '127.0.0.1',
    receivedAt: time.now(),
    startedAt: time.monotonic(),
  }
}

const BYTES_A_TOKEN = 4

export function bodyOf(market: Market, plan: CallPlan, words: string): string {
  const named = plan.offers.map((index) => market.offers[index % market.offers.length]?.provider)
  return JSON.stringify({
    model: CHAT_MODEL,
    stream: plan.isStreamed,
    messages: [{ role: 'user', content: `${words} `.padEnd(plan.inputTokens * BYTES_A_TOKEN, '.') }],
    ...(plan.maxOutputTokens !== undefined && { max_tokens: plan.maxOutputTokens }),
    ...(named.length > 0 && { provider: { only: named, order: named } }),
  })
}

/** I13: the cost in an answer is the captured charge, and no answer shows it before the capture. */
export function told(node: DataNode, request: ModelRequest, { costMicro, isWhole, status, text }: Received): void {
  const { rid, state, chargeMicro } = request
  if (costMicro !== undefined && costMicro > 0n && (state !== 'captured' || costMicro !== chargeMicro)) {
    node.watch.fail(violation('I13', `${rid} has ${costMicro} in its answer, is ${state} and costs ${chargeMicro}`))
  }
  const isGood = isWhole && status === 200 && !text.includes('"error"')
  if (isGood && state === 'captured' && costMicro !== chargeMicro) {
    node.watch.fail(violation('I13', `${rid} costs ${chargeMicro} and says ${costMicro}`))
  }
  acknowledge(node, request)
}

/** A buyer may rely on a charge in the answer, unless the disk took no records at that time. */
export function acknowledge({ process, syncFailedAt }: DataNode, request: ModelRequest): void {
  const { state, captured } = request
  if (state !== 'captured') return
  request.isAcknowledged = captured === 'accepted' || syncFailedAt() !== process.time.monotonic()
}

/** Checks a call as soon as it is over. */
export function over({ watch, market }: NodeParts, node: DataNode, end: PlayedEnd): void {
  const { request, plan, attempts } = end.call
  if (request.state === 'asking') {
    request.state = 'refused'
    watch.model.unresolved.delete(request)
  }
  if (request.state === 'running') throw violation('I6', `${request.rid} is over and its hold has no end`)
  if (!request.isAcknowledged) acknowledge(node, request)
  const served = market.offers.find(({ id }) => id === request.offer)
  checkTakes(request, watch.model, served?.capDailyMicro != null)
  const { rid, state, chargeMicro = 0n, deliveredMicro } = request
  const isRight = request.isOverstated
    ? chargeMicro >= deliveredMicro && chargeMicro <= mostDue(request)
    : chargeMicro === deliveredMicro
  if (!isRight) {
    const what = `${state} ${plan.ending} after ${attempts} attempts`
    throw violation('I6', `${rid} is ${what}, delivered ${deliveredMicro} and costs ${chargeMicro}`)
  }
  const mistake = endMistake(end)
  if (mistake !== undefined) throw violation('I6', mistake)
}
