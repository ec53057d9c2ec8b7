import type { RequestHead } from '#data-plane/call.ts'
import { serveCall } from '#data-plane/pipeline/serve-call.ts'
import type { AccountId } from '#shared/ids.ts'
import type { Received, SimReply } from '#test/sim/model/buyer-reply.ts'
import { createReply } from '#test/sim/model/buyer-reply.ts'
import type { ModelPayment } from '#test/sim/model/model-payments.ts'
import { demandIn, signPayment, WALLETS } from '#test/sim/model/wallets.ts'
import type { PaidPlan } from '#test/sim/plan/payment-plan.ts'
import { CHAT_MODEL } from '#test/sim/providers/market.ts'
import type { PlayedCall } from '#test/sim/providers/providers.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { DataNode, NodeParts } from '#test/sim/world/data-node.ts'
import type { Machine } from '#test/sim/world/machine.ts'
import type { Watch } from '#test/sim/world/watched.ts'
import { bodyOf, headOf, over, told } from './play-call.ts'

/** The account of no user. A claim creates the payer's own account. */
const NO_ACCOUNT: AccountId = 'acc_wallet'

/**
 * Plays a call that a wallet pays for. The wallet asks for the price, signs it, and calls. Some payments are sent
 * again, to any machine. The product's own pipeline serves every request.
 */
export async function playPaidCall(
  parts: NodeParts,
  machines: readonly Machine[],
  first: number,
  plan: PaidPlan,
): Promise<void> {
  const machine = machines[first % machines.length]
  const node = machine?.node()
  if (machine === undefined || node === undefined || node.calls.isEnding) return
  const { market, watch, providers } = parts
  const words = providers.expectWords()
  const body = bodyOf(market, plan.call, words)
  const demand = demandIn(await askPrice(node, body), plan.scheme)
  // Payments may be closed, and a dead process does not answer.
  if (demand === undefined) return
  const { payer } = WALLETS[plan.wallet % WALLETS.length] ?? WALLETS[0]
  const { model, ground } = watch
  const { cheat } = plan
  const input = { payer, cheat, nonce: BigInt(model.payments.size + 1), overMicro: BigInt(plan.overMicro) }
  const signed = signPayment(demand, { ...input, now: ground.scheduler.wall() })
  const payment: ModelPayment = {
    ...signed,
    onlyFor: demand.by === 'mpp' ? body : undefined,
    // A challenge names its amount, so a lower payment belongs to no challenge of the market.
    isGood: cheat === undefined,
    isLower: cheat === 'lower' && demand.by === 'x402',
    paidFor: undefined,
    isDrained: false,
    hasRunOut: false,
  }
  model.payments.set(payment.name, payment)
  for (const { afterMs, machine: index, isSame } of plan.showings) {
    ground.scheduler.after(afterMs, () => {
      const other = machines[index % machines.length]
      const shown = { payment, plan, words, body: isSame ? body : body.replace('}', ' }') }
      if (isForgotten(watch, payment)) return
      if (other !== undefined) pay(parts, other, shown).catch(watch.fail)
    })
  }
  await pay(parts, machine, { payment, plan, words, body })
}

/**
 * True for a payment whose call died with its process without an effect, and whose claim may be missing from a restored
 * ledger. The payment may serve once more. The provider of this world counts both as one call.
 */
function isForgotten({ model, ground }: Watch, { paidFor }: ModelPayment): boolean {
  const first = model.requests.get(paidFor ?? '')
  if (first?.state !== 'running' || first.deliveredMicro > 0n || !model.dead.has(first.pid)) return false
  return ground.postgres.tables().identity.here > 1
}

type Shown = {
  readonly payment: ModelPayment
  readonly plan: PaidPlan
  readonly words: string
  readonly body: string
}

/** Calls with a payment. */
async function pay(parts: NodeParts, machine: Machine, { payment, plan, words, body }: Shown): Promise<void> {
  const node = machine.node()
  if (node === undefined || node.calls.isEnding) return
  const { market, watch, providers } = parts
  const rid = node.ids.requestId()
  const request = watch.model.start({
    rid,
    account: NO_ACCOUNT,
    keyId: null,
    payment,
    machine: machine.id,
    pid: node.process.pid,
  })
  const reply = createReply(node.process, plan.call.stallMs, (received) => {
    if (request.state === 'asking') checkRepeat(parts, payment, received)
    else told(node, request, received)
    checkTold(parts, payment, received, plan)
  })
  const call: PlayedCall = {
    request,
    plan: plan.call,
    prices: market.pricesOf(CHAT_MODEL),
    attempts: 0,
    leave: reply.leave,
  }
  providers.expectAs(words, call)
  const head = headOf(node, rid, payment.headers)
  await serve(node, head, body, reply)
  providers.forget(words, call)
  const tookMs = node.process.time.monotonic() - head.startedAt
  over(parts, node, { call, received: reply.received(), tookMs, isStopping: node.calls.isEnding })
}

async function serve(node: DataNode, head: RequestHead, body: string, reply: SimReply): Promise<void> {
  node.calls.running += 1
  const read = () => Promise.resolve({ ...head, body: Buffer.from(body) })
  await serveCall(node.plane, node.routes.chat, { head, read, largeBytes: () => 0 }, reply)
  node.calls.running -= 1
}

/** Asks for the price of a call, without a payment. */
async function askPrice(node: DataNode, body: string): Promise<Pick<Received, 'text' | 'headers'>> {
  let received: Received | undefined
  const reply = createReply(node.process, 0, (answer) => {
    received = answer
  })
  await serve(node, headOf(node, node.ids.requestId(), {}), body, reply)
  return received ?? { text: '{}', headers: {} }
}

/** P6: a payment that is sent again gets the answer that it paid for, or no answer. */
function checkRepeat({ watch }: NodeParts, { name, paidFor }: ModelPayment, { costMicro, status }: Received): void {
  if (status !== 200) return
  const first = watch.model.requests.get(paidFor ?? '')
  if (first?.state === 'captured' && first.chargeMicro === costMicro) return
  watch.fail(violation('P6', `${name} brings an answer that costs ${costMicro}; ${paidFor} cost ${first?.chargeMicro}`))
}

const STATUS = /"payment":\{"type":"(?:x402|mpp)","status":"(\w+)","transaction":(null|"0x[0-9a-f]+")/

/** P6: the statement of an answer about its payment agrees with the payment's row at that time. */
function checkTold({ watch }: NodeParts, { name, paidFor }: ModelPayment, received: Received, plan: PaidPlan): void {
  const [, status, transaction] = STATUS.exec(received.text) ?? []
  // A stream has gone out by then. A whole answer is still held.
  if (status === 'failed' && received.status === 200 && !plan.call.isStreamed) {
    watch.fail(violation('P4', `${name} cannot be taken, and its answer goes out`))
  }
  if (status !== 'settled' || paidFor === undefined) return
  const { payments, identity } = watch.ground.postgres.tables()
  // A restored ledger may lack the statement.
  if (identity.here > 1) return
  const row = payments.get(paidFor)
  // A block may have been replaced since, so a settled payment may be due again. A facilitator that took too little is
  // discovered once its transfer is final.
  const isFoundOut = row?.state === 'written_off' && transaction === `"${row.transaction}"`
  const isTrue =
    row?.charge === 0n ||
    isFoundOut ||
    (row?.transaction !== null && row?.state !== 'claimed' && row?.state !== 'written_off')
  if (isTrue && transaction !== undefined) return
  watch.fail(
    violation('P6', `${name} is reported as settled by ${transaction} and is ${row?.state} by ${row?.transaction}`),
  )
}
