import type { Journal } from '#data-plane/call.ts'
import type { Funds } from '#data-plane/payment.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import { jobOfEnd } from '#shared/contract/usage-event.ts'
import type { Model } from '#test/sim/model/model.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Ground } from './ground.ts'

/** Receives the facts about money that a process announces. */
export type Watch = {
  readonly ground: Ground
  readonly model: Model
  /** Called when the state of the gate may have changed. */
  onMoney(): void
  fail(error: unknown): void
}

/** Wraps the gate of a process. The model learns when a call gets its hold and how its charge is captured. */
export function watchFunds(funds: Funds, { model, onMoney, fail }: Watch): Funds {
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
      const dueMicro = jobOfEnd(claim.rid) === undefined ? chargeIn(event) : 0n
      if (usedMicro !== dueMicro)
        fail(violation('I13', `${claim.rid} uses ${usedMicro} and its event says ${dueMicro}`))
      const outcome = await funds.capture(claim, usedMicro, event)
      const request = model.requests.get(claim.rid)
      if (request === undefined) return outcome
      request.captured = outcome
      // Redis was away and did not take this capture, so only the journal has it.
      if (outcome === 'queued') request.faults.add('redis_lost')
      return outcome
    },
    release(claim, reason, event) {
      const request = model.requests.get(claim.rid)
      if (request?.state === 'running') request.state = 'released'
      if (request !== undefined) request.endEvent ??= event
      onMoney()
      return funds.release(claim, reason, event)
    },
  }
}

/** Wraps the journal, and notes when its disk last failed to take records while a call waited. */
export function watchJournal(journal: Journal, { ground, model, onMoney, fail }: Watch) {
  let failedAt = Number.NEGATIVE_INFINITY

  /** I6: every process ends a job with the same words, unless Redis lost them. */
  function noteEnd(rid: string, event: string): void {
    const job = model.jobs.get(jobOfEnd(rid) ?? '')
    if (job === undefined) return
    job.endText ??= event
    if (job.endText === event || model.forgottenAt >= job.submittedAt) return
    fail(violation('I6', `${rid} is ended twice, by ${job.endText} and by ${event}`))
  }

  const watched: Journal = {
    isWritable: journal.isWritable,
    progress: journal.progress,
    capture(subject, event) {
      const request = model.requests.get(subject.rid)
      if (request !== undefined) {
        request.state = 'captured'
        request.chargeMicro = chargeIn(event)
        request.endEvent = event
        request.capturedAt = ground.scheduler.now()
        model.takes.charge(request.rid, request.chargeMicro, request.capturedAt)
        onMoney()
        ground.crash.pass('before capture')
      }
      noteEnd(subject.rid, event)
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

/** Wraps the daily caps of offers. The model learns of takes and settlements. */
export function watchCaps(
  caps: OfferCapsStore,
  { ground, model, fail }: Watch,
  { pid, time }: SimProcess,
): OfferCapsStore {
  return {
    ...caps,
    async take(offer, attempt, amountMicro, ttlMs) {
      const isTaken = await caps.take(offer, attempt, amountMicro, ttlMs)
      const deadline = time.monotonic() + ttlMs - TRAVEL_MS
      if (isTaken) model.takes.take(offer, attempt, { amount: amountMicro, pid, deadline })
      return isTaken
    },
    settle(offer, attempt, usedMicro) {
      const taken = model.takes.taken(attempt)
      if (taken !== undefined && usedMicro > taken) {
        fail(violation('I18', `${attempt} took ${taken} of a cap and used ${usedMicro}`))
      }
      model.takes.settle(attempt, usedMicro, ground.scheduler.now())
      return caps.settle(offer, attempt, usedMicro)
    },
  }
}

/**
 * Milliseconds that a reply may travel. The gate counts the time of a take from a moment before the taker receives the
 * reply.
 */
const TRAVEL_MS = 1_000

/** I18: checks the takes of a finished call. `isCapped` says whether the offer that answered has a cap. */
export function checkTakes({ rid, chargeMicro = 0n, state }: ModelRequest, model: Model, isCapped: boolean): void {
  const { open, used } = model.takes.standing(rid)
  if (open > 0) throw violation('I18', `${rid} is over and keeps ${open} takes of caps`)
  const due = isCapped && state === 'captured' ? chargeMicro : 0n
  if (used !== due) throw violation('I18', `${rid} costs ${due} of a cap and counts ${used}`)
}
