import { JOBS_RESTORED } from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { isLost, mostDue } from '#test/sim/model/model.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { DebitDesk } from '#test/sim/world/debits.ts'
import { BUCKET } from '#test/sim/world/ground.ts'
import type { World } from '#test/sim/world/world.ts'
import { bookMistakes } from './book-checks.ts'
import { budgetMistakes } from './budget-checks.ts'
import { isJobEnd, jobMistake, recordMistake } from './job-checks.ts'
import { paymentMistakes, paymentTransactions } from './payment-checks.ts'

/** Lists the breaches once everything is at rest: I10, I12, I24, and the end of every request. */
export function checkRest(world: World, debits: DebitDesk): string[] {
  const left: string[] = []
  if (debits.unfinished() > 0) left.push(`${debits.unfinished()} movements are not booked`)
  left.push(...checkGateRest(world), ...checkRequests(world), ...checkShortfall(world))
  left.push(...bookMistakes(world.ground.postgres.tables()), ...paymentMistakes(world))
  return left
}

/**
 * Lists open holds of dead processes that should have been released. The next process on their machine is alive and has
 * all their journals.
 */
export function checkHeirs(world: World): string[] {
  const { data } = world.ground.redis.server
  const epoch = /^\d+/.exec(data.get(moneyKeys.epoch) ?? '')?.[0]
  return [...world.model.requests.values()].flatMap((request) => {
    const hold = data.fields(moneyKeys.hold(BUCKET, request.rid))
    const follows = world.machines.some((machine) => machine.node() !== undefined && machine.former() === request.pid)
    if (!follows || request.faults.has('journal_lost')) return []
    return hold.get('st') === 'open' && hold.get('ep') === epoch ? [`${request.rid} of a dead process is held`] : []
  })
}

function checkGateRest(world: World): string[] {
  const { ground, accounts, machines } = world
  const { redis, postgres, queue } = ground
  const { data } = redis.server
  const tables = postgres.tables()
  const left: string[] = []
  const epoch = Number(/^(\d+):open(?::\d+:\d+)?$/.exec(data.get(moneyKeys.epoch) ?? '')?.[1] ?? '0')
  if (epoch === 0) left.push(`the gate is ${data.get(moneyKeys.epoch)}`)
  left.push(...budgetMistakes(world, epoch))
  for (const account of accounts) {
    const fields = data.fields(moneyKeys.account(BUCKET, account))
    // An account without a call since the last rebuild may be missing.
    if (Number(fields.get('ep')) !== epoch || fields.get('seeded') !== '1') continue
    const row = tables.accounts.get(account)
    const seen = `p ${fields.get('p')} h ${fields.get('h')} u ${fields.get('u')} v ${fields.get('ver')}`
    if (seen !== `p ${row?.balance} h 0 u 0 v ${row?.version}`) {
      left.push(`${account} has ${seen} with ${row?.balance} v${row?.version} booked`)
    }
  }
  for (const key of data.keys()) {
    if (key.startsWith(moneyKeys.hold(BUCKET, ''))) {
      const hold = data.fields(key)
      const state = hold.get('st')
      if (Number(hold.get('ep')) === epoch && (state === 'open' || state === 'captured'))
        left.push(`${key} is ${state}`)
    }
  }
  const restoredTo = data.get(moneyKeys.jobsRestored)
  if (restoredTo !== JOBS_RESTORED.all) left.push(`records of jobs were restored to ${restoredTo}`)
  if (queue.size() > 0) left.push(`${queue.size()} jobs wait`)
  if (tables.changes.size > 0) left.push(`${tables.changes.size} changes are not confirmed`)
  for (const machine of machines) {
    const node = machine.node()
    if (node === undefined) left.push(`${machine.id} is not up`)
    else if (!node.funds.isOpen()) left.push(`${machine.id} admits nothing`)
    else if (node.journal.unpostedCount() > 0) left.push(`${machine.id} has ${node.journal.unpostedCount()} unposted`)
  }
  return left
}

function checkRequests({ ground, model }: World): string[] {
  const tables = ground.postgres.tables()
  const { settlements } = tables
  const left: string[] = []
  for (const job of model.jobs.values()) {
    const mistake = jobMistake(tables, job) ?? recordMistake(ground, model, job)
    if (mistake !== undefined) left.push(mistake)
  }
  for (const request of model.requests.values()) {
    if (isJobEnd(request) || model.jobs.has(request.rid)) continue
    const charge = settlements.get(request.rid)?.charge
    if (!isAllowed(request, charge)) {
      const { rid, state, chargeMicro, deliveredMicro, faults } = request
      const facts = `${state}, charge ${chargeMicro}, delivered ${deliveredMicro}, ${[...faults].join(' ') || 'no faults'}`
      left.push(`I12: ${rid} (${facts}) is settled at ${charge}`)
    }
  }
  return left
}

/** True when a request may have ended with that charge. `undefined` means a request without a settlement. */
function isAllowed(request: ModelRequest, charge: bigint | undefined): boolean {
  const { state, chargeMicro, isAcknowledged } = request
  if (state === 'asking' || state === 'refused' || state === 'released') return (charge ?? 0n) === 0n
  // A process died between delivery and capture. Any charge up to the price of the delivered part is allowed.
  if (state === 'running') return (charge ?? 0n) <= mostDue(request)
  if (charge === chargeMicro) return true
  // A charge that a buyer has seen is lost only by two faults together: of the journal's disk and of Redis.
  return (!isAcknowledged || isLost(request)) && (charge ?? 0n) <= mostDue(request)
}

/** I24: an amount that could not be taken is a loss of the platform, and happens only after a named double fault. */
function checkShortfall({ ground, model }: World): string[] {
  const tables = ground.postgres.tables()
  const { entries, settlements, jobs, payments } = tables
  const ofPayments = paymentTransactions(tables)
  const left: string[] = []
  const isExcused = (request: ModelRequest) => request.faults.has('owner_away') || isLost(request)
  const excused = new Set([...model.requests.values()].filter(isExcused).map((request) => request.account))
  for (const { tx, account, amount } of entries) {
    // The end of a job pays back the amount that its submit was short of.
    if (account !== 'acc_platform_shortfall' || amount > 0n || ofPayments.has(tx)) continue
    // The platform's share in a payment is checked with the payment; see payment-checks.ts.
    if (payments.has(tx)) continue
    const buyer = settlements.get(tx)?.account ?? jobs.get(tx)?.account
    if (buyer !== undefined && model.poorer.has(buyer)) continue
    if (buyer === undefined || !excused.has(buyer)) left.push(`I24: ${tx} of ${buyer} is short of ${-amount}`)
  }
  return left
}
