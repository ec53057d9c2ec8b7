import { describeCause, toAppError } from '#shared/errors.ts'
import { inputTokens, outputTokens } from '#shared/usage.ts'
import { relayWithFailover, settleCap } from './attempt/relay-with-failover.ts'
import { endAnswer } from './buyer-answer.ts'
import type { CallPlane } from './call-plane.ts'
import { emitCall } from './emit-call.ts'
import { endAskedJob } from './forwarded-job.ts'
import { keepFiles } from './keep-files.ts'
import { settleCall } from './settle-call.ts'
import type { AdmittedCall, Before, Relay, Relayed, Settlement, Turn } from './stages.ts'

export const NOTHING_BEFORE: Before = { attempts: [], waitedMs: 0 }

/** Relays an admitted call. Never rejects: a failure of our own becomes the relay's error. */
export async function relayCall(
  plane: CallPlane,
  call: AdmittedCall,
  before: Before,
  maxAttempts: number,
): Promise<Relayed> {
  const decisionMs = plane.clock.monotonic() - call.raw.startedAt
  const turn: Turn = { call, before, maxAttempts, decisionMs, hasProgress: false }
  let relay: Relay
  try {
    relay = await relayWithFailover(plane, turn)
  } catch (thrown) {
    relay = brokenRelay(plane, call, thrown)
  }
  return { relay, hasProgress: turn.hasProgress, decisionMs }
}

/** Settles a call and ends its answer, also after a failure of our own. */
export async function finishCall(plane: CallPlane, call: AdmittedCall, relayed: Relayed): Promise<void> {
  let { relay } = relayed
  let settlement: Settlement
  try {
    settlement = await settleCall(plane, call, relay, relayed.hasProgress)
    // The answer that ends a job is sent once that end is booked, with the cost of the job.
    const ended = call.inquiry && (await endAskedJob(plane, call.inquiry, relay))
    if (ended !== undefined) settlement = { ...settlement, receipt: ended }
  } catch (thrown) {
    const { attempts, waitedMs, last } = relay
    if (last !== undefined) void settleCap(plane.caps, last.plan, attempts.length - 1)
    relay = { ...brokenRelay(plane, call, thrown), attempts, waitedMs }
    settlement = await settleCall(plane, call, relay, relayed.hasProgress)
  }
  const files = relay.last?.decoder.whole?.files?.()
  if (files !== undefined && files.length > 0 && isSent(call, relay, settlement)) await keepFiles(plane, call, files)
  endAnswer(plane, call, { relay, settlement, decisionMs: relayed.decisionMs })
  emitCall(plane, call, relay, settlement)
  noteWarm(plane, call, relay, settlement)
}

/** True for an answer that its buyer waits for, or may come back for. */
function isSent({ reply }: AdmittedCall, { error }: Relay, { refusal, headers }: Settlement): boolean {
  return error === undefined && refusal === undefined && (headers !== undefined || !reply.isGone())
}

/** Remembers the offer whose prompt cache now holds the conversation. */
function noteWarm(
  { routing, clock }: Pick<CallPlane, 'routing' | 'clock'>,
  call: AdmittedCall,
  { last }: Relay,
  settlement: Settlement,
): void {
  const { conversation, target } = call
  const offer = last?.plan.offer.id
  // Own providers are called in their own order, even if a later one has the conversation cached.
  if (conversation === undefined || offer === undefined || offer === null || settlement.outcome === 'failed') return
  const { usage } = settlement.metered
  routing.warm.note(`${conversation} ${target.id}`, {
    offer,
    at: clock.now(),
    inputTokens: inputTokens(usage),
    outputTokens: outputTokens(usage),
    cachedTokens: usage.cacheRead ?? 0,
  })
}

/** The relay of a call whose end failed. The buyer pays nothing, and its attempt is closed. */
function brokenRelay(plane: CallPlane, { hold }: AdmittedCall, thrown: unknown): Relay {
  const error = toAppError(thrown)
  plane.log.error({ rid: hold.rid, cause: describeCause(error.cause) }, 'a call ended without its answer')
  return { last: undefined, attempts: [], error, isGone: false, waitedMs: 0 }
}
