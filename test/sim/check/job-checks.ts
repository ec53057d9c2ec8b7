import { HOUR } from '#shared/clock.ts'
import { JOB_KEPT_AFTER_DEADLINE_MS, readJobEnd } from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { LedgerTables, SettlementRow } from '#test/sim/ledger/ledger-tables.ts'
import type { Model } from '#test/sim/model/model.ts'
import { isLost } from '#test/sim/model/model.ts'
import type { ModelJob } from '#test/sim/model/model-jobs.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Ground } from '#test/sim/world/ground.ts'

const END = '.end'

/** True for the end of a long job. An end takes nothing from a balance. */
export function isJobEnd({ rid }: ModelRequest): boolean {
  return rid.endsWith(END)
}

/** The amount that the ledger has taken from a balance for a request. Undefined without a booking. */
export function bookedFor({ settlements, jobs }: LedgerTables, request: ModelRequest): bigint | undefined {
  const { rid } = request
  if (isJobEnd(request)) return settlements.has(rid.slice(0, -END.length)) ? 0n : undefined
  return jobs.get(rid)?.paid ?? settlements.get(rid)?.charge
}

/** I12: after every commit, escrow holds the quotes of the running jobs and nothing else. */
export function checkEscrow({ accounts, jobs }: LedgerTables): void {
  const held = new Map<string, bigint>()
  for (const { escrowAccount, quote, endedAt } of jobs.values()) {
    held.set(escrowAccount, (held.get(escrowAccount) ?? 0n) + (endedAt === null ? quote : 0n))
  }
  for (const [account, quotes] of held) {
    const balance = accounts.get(account)?.balance
    if (balance !== quotes) throw violation('I12', `${account} has ${balance} for jobs of ${quotes}`)
  }
}

/** I12: an end that arrived before its submit is booked with the submit. */
export function checkParked({ jobs, jobEnds }: LedgerTables): void {
  for (const { rid, bookedAt } of jobEnds.values()) {
    if (bookedAt === null && jobs.has(rid)) throw violation('I12', `${rid} is booked and its end still waits for it`)
  }
}

/** Checks I6, I7, I12 and I15 on the end of a job when it is booked. */
export function checkJobSettlement(
  job: ModelJob,
  { jobs, jobEnds }: LedgerTables,
  row: SettlementRow,
  model: Model,
): void {
  const { submit, end } = job
  const booked = jobs.get(row.rid)
  // A submit that no provider accepted is checked as a request. It costs nothing.
  if (booked === undefined && row.charge === 0n && submit.state !== 'captured') return
  const text = jobEnds.get(row.rid)?.event
  job.endText ??= text
  if (text !== job.endText && model.forgottenAt < job.submittedAt) {
    throw violation('I6', `${row.rid} is booked as ${text} and was ended as ${job.endText}`)
  }
  const taken = job.taken.get(booked?.providerJob ?? '')
  if (taken === undefined) throw violation('I6', `${row.rid} was settled and no provider has it`)
  if (row.hold !== taken.quoteMicro || row.hold !== submit.chargeMicro) {
    throw violation('I7', `${row.rid} was sold for ${taken.quoteMicro} and ends at a quote of ${row.hold}`)
  }
  if (row.charge > 0n && row.sellerAccount !== taken.sellerAccount) {
    throw violation('I15', `${row.rid} pays ${row.sellerAccount} for what ${taken.sellerAccount} made`)
  }
  const due = taken.dueMicro()
  if (row.charge !== due && !(job.isEndedUnasked && row.charge === 0n)) {
    throw violation('I6', `${row.rid} costs ${row.charge} instead of ${due}`)
  }
  if (end?.isAcknowledged === true && !isLost(end) && row.charge !== end.chargeMicro) {
    throw violation('I12', `${row.rid} ends at ${row.charge} instead of ${end.chargeMicro}`)
  }
}

/**
 * Checks a job at rest. A captured submit is in the ledger, unless two faults lost it. After the deadline the job has
 * ended.
 */
export function jobMistake(tables: LedgerTables, { submit }: ModelJob): string | undefined {
  const { rid, state, isAcknowledged, chargeMicro } = submit
  const row = tables.jobs.get(rid)
  if (row === undefined) {
    if (state === 'captured' && isAcknowledged && !isLost(submit)) return `I12: ${rid} was taken and is not booked`
    // A submit that no provider accepted is checked as a request. It costs nothing.
    const settled = tables.settlements.get(rid)
    if (settled === undefined || (settled.charge === 0n && state !== 'captured')) return undefined
    return `I6: ${rid} has an end and no submit`
  }
  if (state !== 'captured') return `I6: ${rid} is ${state} and booked at ${row.quote}`
  if (row.quote !== chargeMicro) return `I12: ${rid} is booked at ${row.quote} instead of ${chargeMicro}`
  if (row.endedAt === null || !tables.settlements.has(rid)) return `I12: ${rid} is past its deadline and in escrow`
  return undefined
}

/** I6: later polls are answered from the record of the job, so the record must exist and agree with the booking. */
export function recordMistake(
  { redis, postgres, scheduler }: Ground,
  { forgottenAt, bookedThen }: Model,
  { submit: { rid }, submittedAt }: ModelJob,
): string | undefined {
  const { data } = redis.server
  const kept = readJobEnd(data.field(moneyKeys.job(rid), 'end'))
  const { jobs, jobEnds } = postgres.tables()
  const booked = jobEnds.get(rid)
  // A job that a machine brought later, together with its end, is never polled.
  const isLate = forgottenAt >= submittedAt && !bookedThen.has(rid)
  const isOld = (jobs.get(rid)?.deadlineAt.getTime() ?? 0) + JOB_KEPT_AFTER_DEADLINE_MS <= scheduler.wall() + HOUR
  if (!isOld && !isLate && data.field(moneyKeys.job(rid), 'job') === undefined)
    return `I12: ${rid} is booked and has no record`
  if (kept === undefined || booked === undefined || kept.event === booked.event || forgottenAt >= submittedAt)
    return undefined
  return `I6: ${rid} is booked as ${booked.event} and its record says ${kept.event}`
}
