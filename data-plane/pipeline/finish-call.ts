import { describeCause, toAppError } from '#shared/errors.ts'
import { inputTokens, outputTokens } from '#shared/usage.ts'
import type { AdmittedCall } from './admitted-call.ts'
import { endAnswer } from './buyer-answer.ts'
import type { CallPlane } from './call-plane.ts'
import { emitCall } from './emit-call.ts'
import type { Relay } from './relay-with-failover.ts'
import { relayWithFailover } from './relay-with-failover.ts'
import type { Settlement } from './settle-call.ts'
import { settleCall } from './settle-call.ts'

/** What was tried for a call before, elsewhere. */
export type Before = Pick<Relay, 'attempts' | 'waitedMs'>

export const NOTHING_BEFORE: Before = { attempts: [], waitedMs: 0 }

/** A relay that is over and not yet settled. */
export type Relayed = { readonly relay: Relay; readonly hasProgress: boolean; readonly decisionMs: number }

/** One turn of an admitted call: the tries that it may make, and how far it has been written down. */
export type Turn = {
  readonly call: AdmittedCall
  readonly before: Before
  /** Tries of this turn and of those before it together. */
  readonly maxAttempts: number
  readonly decisionMs: number
  /** True once the journal has announced the call: its end must be a capture, also one of nothing. */
  hasProgress: boolean
}

/** Relays an admitted call. Never rejects: a failure of our own is the relay's. */
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

/** Settles a call and ends its answer. A failure of our own still ends it. */
export async function finishCall(plane: CallPlane, call: AdmittedCall, relayed: Relayed): Promise<void> {
  let { relay } = relayed
  let settlement: Settlement
  try {
    settlement = await settleCall(plane, call, relay, relayed.hasProgress)
  } catch (thrown) {
    relay = brokenRelay(plane, call, thrown)
    settlement = await settleCall(plane, call, relay, relayed.hasProgress)
  }
  endAnswer(plane, call, { relay, settlement, decisionMs: relayed.decisionMs })
  emitCall(plane, call, relay, settlement)
  noteWarm(plane, call, relay, settlement)
}

/** Remembers where the conversation is in a prompt cache now. */
function noteWarm({ warm, clock }: CallPlane, call: AdmittedCall, { last }: Relay, settlement: Settlement): void {
  const { conversation, target } = call
  const offer = last?.plan.offer.id
  // Own providers are asked in their order, wherever the conversation is.
  if (conversation === undefined || offer === undefined || offer === null || settlement.outcome === 'failed') return
  const { usage } = settlement.metered
  warm.note(`${conversation} ${target.id}`, {
    offer,
    at: clock.now(),
    inputTokens: inputTokens(usage),
    outputTokens: outputTokens(usage),
    cachedTokens: usage.cacheRead ?? 0,
  })
}

/** Our own fault after the hold: the buyer pays nothing, and what was begun is closed. */
function brokenRelay(plane: CallPlane, { hold }: AdmittedCall, thrown: unknown): Relay {
  const error = toAppError(thrown)
  plane.log.error({ rid: hold.rid, cause: describeCause(error.cause) }, 'a call failed on our side')
  return { last: undefined, attempts: [], error, isGone: false, waitedMs: 0 }
}
