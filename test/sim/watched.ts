import type { Journal } from '#data-plane/call.ts'
import type { Funds } from '#data-plane/payment.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import { violation } from './checks.ts'
import type { Ground } from './ground.ts'
import type { Model, ModelRequest } from './model.ts'
import type { SimProcess } from './scheduler.ts'

/** Who is told of what a process does with money. */
export type Watch = {
  readonly ground: Ground
  readonly model: Model
  /** Something of the gate may have changed. */
  onMoney(): void
  fail(error: unknown): void
}

/** The gate of a process as its calls use it: the model learns when a call has its hold, and how sure its charge is. */
export function watchFunds(funds: Funds, { model, onMoney }: Watch): Funds {
  return {
    ...funds,
    async reserve(asked) {
      const hold = await funds.reserve(asked)
      const request = model.requests.get(asked.rid)
      if (request !== undefined) {
        request.state = 'running'
        request.heldMicro = hold.grantedMicro
      }
      return hold
    },
    async capture(claim, usedMicro, event) {
      const outcome = await funds.capture(claim, usedMicro, event)
      const request = model.requests.get(claim.rid)
      if (request === undefined) return outcome
      request.captured = outcome
      // What Redis was not there to take is in the journal alone.
      if (outcome === 'queued') request.faults.add('redis_lost')
      return outcome
    },
    release(claim, reason, event) {
      const request = model.requests.get(claim.rid)
      if (request?.state === 'running') request.state = 'released'
      onMoney()
      return funds.release(claim, reason, event)
    },
  }
}

/** The journal as calls use it, and when its disk last took nothing of what somebody waited for. */
export function watchJournal(journal: Journal, { ground, model, onMoney }: Watch) {
  let failedAt = Number.NEGATIVE_INFINITY
  const watched: Journal = {
    isWritable: journal.isWritable,
    progress: journal.progress,
    capture(subject, event) {
      const request = model.requests.get(subject.rid)
      if (request !== undefined) {
        request.state = 'captured'
        request.chargeMicro = chargeIn(event)
        request.capturedAt = ground.scheduler.now()
        model.takes.charge(request.rid, request.chargeMicro, request.capturedAt)
        onMoney()
        ground.crash.pass('before capture')
      }
      journal.capture(subject, event)
    },
    sync: () =>
      journal.sync().catch((error: unknown) => {
        failedAt = ground.scheduler.now()
        throw error
      }),
  }
  return { journal: watched, failedAt: () => failedAt }
}

function chargeIn(event: string): bigint {
  return BigInt(/"chargeMicro":"(\d+)"/.exec(event)?.[1] ?? 0)
}

/** Offers' daily caps as calls use them: the model learns what is taken and given back. */
export function watchCaps(caps: OfferCapsStore, { ground, model }: Watch, { pid, time }: SimProcess): OfferCapsStore {
  return {
    ...caps,
    async take(offer, attempt, amountMicro, ttlMs) {
      const isTaken = await caps.take(offer, attempt, amountMicro, ttlMs)
      const deadline = time.monotonic() + ttlMs - TRAVEL_MS
      if (isTaken) model.takes.take(offer, attempt, { amount: amountMicro, pid, deadline })
      return isTaken
    },
    settle(offer, attempt, usedMicro) {
      model.takes.settle(attempt, usedMicro, ground.scheduler.now())
      return caps.settle(offer, attempt, usedMicro)
    },
  }
}

/** The gate counts a take's time from an instant before its taker hears of it. */
const TRAVEL_MS = 1_000

/** I18: what a call that is over has left of its takes; `isCapped` says it of the offer that answered. */
export function checkTakes({ rid, chargeMicro = 0n, state }: ModelRequest, model: Model, isCapped: boolean): void {
  const { open, used } = model.takes.standing(rid)
  if (open > 0) throw violation('I18', `${rid} is over and keeps ${open} takes of caps`)
  const due = isCapped && state === 'captured' ? chargeMicro : 0n
  if (used !== due) throw violation('I18', `${rid} costs ${due} of a cap and counts ${used}`)
}
