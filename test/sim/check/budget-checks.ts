import { utcMonth } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { ulidTime } from '#shared/ids.ts'
import type { LedgerTables } from '#test/sim/ledger/ledger-tables.ts'
import type { Model } from '#test/sim/model/model.ts'
import { isLost } from '#test/sim/model/model.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { Market } from '#test/sim/providers/market.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Ground } from '#test/sim/world/ground.ts'
import { isJobEnd } from './job-checks.ts'

type Parts = {
  readonly ground: Ground
  readonly model: Model
  readonly market: Market
  isAlive(request: ModelRequest): boolean
}

/** The requests whose calls count for a budget. */
function requestsOf({ ground, model }: Pick<Parts, 'ground' | 'model'>, budget: string): ModelRequest[] {
  const keys = ground.postgres.tables().budgets.get(budget) ?? []
  return [...model.requests.values()].filter(
    (request) => keys.includes(request.keyId ?? '') && request.payment === undefined && !isJobEnd(request),
  )
}

/** The booked cost of a request. A running job costs its quote. */
function bookedOf({ settlements, jobs }: LedgerTables, rid: string): bigint | undefined {
  return settlements.get(rid)?.charge ?? jobs.get(rid)?.quote
}

function isMonthOver({ scheduler }: Ground): boolean {
  return utcMonth(scheduler.wall()) !== utcMonth(scheduler.wall() - scheduler.now())
}

/**
 * I25: calls of a month never exceed a budget, held ones included. A call whose owner was away while the gate was
 * rebuilt, or all of whose copies were lost, is left out.
 */
export function checkBudgets(parts: Parts): void {
  const tables = parts.ground.postgres.tables()
  if (tables.budgets.size === 0 || isMonthOver(parts.ground) || tables.identity.here !== 1) return
  const limits = new Map(parts.market.buyers.flatMap(({ budgets = [] }) => budgets.map((of) => [of.id, of.limitMicro])))
  for (const [budget, limit] of limits) {
    let total = 0n
    for (const request of requestsOf(parts, budget)) {
      if (request.faults.has('owner_away') || isLost(request)) continue
      const ofModel = request.state === 'captured' ? (request.chargeMicro ?? 0n) : heldOf(parts, request)
      total += bookedOf(tables, request.rid) ?? ofModel
    }
    if (total > limit) throw violation('I25', `${budget} has ${total} of ${limit} spent`)
  }
}

/** The hold of a running call. That of a dead process may be released at any time. */
function heldOf({ isAlive }: Parts, request: ModelRequest): bigint {
  return request.state === 'running' && isAlive(request) ? request.heldMicro : 0n
}

/**
 * Lists budgets whose counter differs from the booked calls of the month. The counter may have the quote of a job that
 * cost less, and may lack calls that a fault has hit.
 */
export function budgetMistakes(parts: Pick<Parts, 'ground' | 'model'>, epoch: number): string[] {
  const { redis, postgres, scheduler } = parts.ground
  const tables = postgres.tables()
  if (isMonthOver(parts.ground) || tables.identity.here !== 1) return []
  return [...tables.budgets.keys()].flatMap((budget) => {
    const counter = redis.server.data.fields(moneyKeys.budget(budget))
    if (Number(counter.get('ep')) !== epoch) return []
    let [least, most] = [0n, 0n]
    for (const { rid, faults } of requestsOf(parts, budget)) {
      if (utcMonth(ulidTime(rid)) !== utcMonth(scheduler.wall())) continue
      const booked = bookedOf(tables, rid) ?? 0n
      if (faults.size === 0) least += booked
      most += tables.jobs.get(rid)?.quote ?? booked
    }
    const counted = BigInt(counter.get('mu') ?? 0)
    const isRight = counted >= least && (counted <= most || tables.conflicts.length > 0)
    return isRight ? [] : [`I25: ${budget} counts ${counted} with ${least} to ${most} booked`]
  })
}
