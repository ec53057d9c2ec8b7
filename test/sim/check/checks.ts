import type { Cancel } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import { OWNER_DIED } from '#shared/contract/hold.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { CHANNELS, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import type { SettlementRow } from '#test/sim/ledger/ledger-tables.ts'
import type { Model, Use } from '#test/sim/model/model.ts'
import { isLost, mostDue } from '#test/sim/model/model.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import type { Market } from '#test/sim/providers/market.ts'
import { countOf, reserveOf, settleOf } from '#test/sim/redis/memory-operations.ts'
import type { ScriptRun } from '#test/sim/redis/memory-redis.ts'
import { runOf } from '#test/sim/redis/memory-scripts.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Ground } from '#test/sim/world/ground.ts'
import { BUCKET } from '#test/sim/world/ground.ts'
import type { Machine } from '#test/sim/world/machine.ts'
import { checkBudgets } from './budget-checks.ts'
import { bookedFor, checkEscrow, checkJobSettlement, checkParked, isJobEnd } from './job-checks.ts'
import { createExposureCheck } from './payment-checks.ts'

export type CheckParts = {
  readonly ground: Ground
  readonly model: Model
  readonly machines: readonly Machine[]
  readonly accounts: readonly string[]
  readonly market: Market
}

export type Checks = {
  /** Marks the gate to be checked after this step. */
  touch(): void
  stop: Cancel
}

/** Checks the promises that hold after every step. A breach is thrown from the step that caused it. */
export function startChecks(parts: CheckParts): Checks {
  const { ground } = parts
  let isTouched = false
  let isStopped = false
  const touch = () => {
    isTouched = true
  }
  let broken: unknown
  // A process would handle a throw like a server's error, so a breach is kept until the end of the step.
  const guard = (check: () => void) => {
    try {
      check()
    } catch (error) {
      broken ??= error
    }
  }
  const checkLedger = createLedgerCheck(parts)
  ground.postgres.onCommit(() => {
    touch()
    ground.crash.pass('after commit')
    guard(checkLedger)
  })
  const referee = createReferee(parts)
  const crashAround = (when: 'before' | 'after', { name }: ScriptRun) => {
    if (name === 'reserve' || name === 'settle' || name === 'ack' || name === 'register') {
      ground.crash.pass(`${when} ${name}`)
    }
  }
  ground.redis.server.setReferee({
    before(run) {
      crashAround('before', run)
      guard(() => referee.before(run))
    },
    after(run, answers) {
      touch()
      crashAround('after', run)
      guard(() => referee.after(run, answers))
    },
  })
  ground.redis.server.onPublish((channel) => {
    if (channel !== CHANNELS.money) return
    guard(() => noteAbsent(parts))
  })
  ground.scheduler.onStep(() => {
    if (broken !== undefined) throw broken
    if (!isTouched || isStopped) return
    isTouched = false
    checkGate(parts)
    checkCaps(parts)
    checkBudgets({ ...parts, isAlive: (request) => isAlive(parts, request) })
  })
  return {
    touch,
    stop: () => {
      isStopped = true
    },
  }
}

/**
 * Notes calls that are unknown to a gate when the gate opens. Their owner is away, and meanwhile other calls may spend
 * the money that these calls cost. I14: an owner that takes part in the epoch has brought all its calls.
 */
function noteAbsent(parts: CheckParts): void {
  const epoch = openEpoch(parts)
  if (epoch === undefined) return
  const { redis, postgres } = parts.ground
  const { data } = redis.server
  const tables = postgres.tables()
  parts.model.befall('owner_away', (request) => {
    const { rid, state, machine, pid } = request
    if (request.payment !== undefined || (state !== 'running' && state !== 'captured')) return false
    const hold = data.fields(moneyKeys.hold(BUCKET, rid))
    const isBrought = Number(hold.get('ep')) === epoch
    if (isBrought && (hold.get('st') === 'open' || hold.get('st') === 'captured')) return false
    const node = parts.machines.find(({ id }) => id === machine)?.node()
    const isIn = node?.process.pid === pid && data.field(moneyKeys.ready(epoch), node.journal.member) !== undefined
    // A living process is never kept out by a gate of a restored ledger, because that gate waits for the process.
    if (tables.epoch.restore !== undefined && !isIn && node?.process.pid === pid) {
      throw violation('I14', `epoch ${epoch} opens without the process of ${rid}, which is ${state}`)
    }
    // A hold that was brought may have expired since.
    if (isIn && !isBrought && !isJobEnd(request) && bookedFor(tables, request) === undefined) {
      throw violation('I14', `${rid} is ${state} and its process brought nothing of it into epoch ${epoch}`)
    }
    return true
  })
}

/** The amount that the gate would let an account spend now. Undefined while the gate admits no call. */
function available({ ground: { redis } }: CheckParts, account: string, epoch: number): bigint | undefined {
  const fields = redis.server.data.fields(moneyKeys.account(BUCKET, account))
  if (Number(fields.get('ep')) !== epoch || fields.get('seeded') !== '1') return undefined
  return BigInt(fields.get('p') ?? 0) - BigInt(fields.get('h') ?? 0) - BigInt(fields.get('u') ?? 0)
}

function openEpoch({ ground: { redis } }: CheckParts): number | undefined {
  const { server } = redis
  const seen = parseMoneyEpoch(server.data.get(moneyKeys.epoch) ?? null)
  if (seen?.phase !== 'open' || !server.knows('reserve', seen.epoch)) return undefined
  return Number(server.data.get(moneyKeys.filled(BUCKET))) === seen.epoch ? seen.epoch : undefined
}

/** Milliseconds within which a process that slept past the end of its holds must notice it. */
const WAKING_MS = 5_000

/**
 * I14: the spendable amount of an account never exceeds its balance in the ledger, less the unposted calls that living
 * processes know of.
 */
function checkGate(parts: CheckParts): void {
  const epoch = openEpoch(parts)
  if (epoch === undefined || isOfAnother(parts, epoch) || parts.ground.scheduler.sinceJump() < WAKING_MS) return
  const tables = parts.ground.postgres.tables()
  const { accounts } = tables
  const bounds = new Map(parts.accounts.map((account) => [account, accounts.get(account)?.balance ?? 0n]))
  const known = new Map<string, string[]>()
  for (const request of parts.model.unresolved) {
    const bound = bounds.get(request.account) ?? 0n
    const booked = bookedFor(tables, request)
    if (booked !== undefined) {
      // The gate learns of a call with an expired hold only when the call is acknowledged.
      if (!isBehind(parts, request.account)) parts.model.unresolved.delete(request)
      else if (request.faults.has('owner_away')) bounds.set(request.account, bound + booked)
      continue
    }
    if (isJobEnd(request) || request.payment !== undefined || !isKnown(parts, request, epoch)) continue
    const amount = request.state === 'running' ? request.heldMicro : (request.chargeMicro ?? 0n)
    bounds.set(request.account, bound - amount)
    known.set(request.account, [...(known.get(request.account) ?? []), `${request.rid} ${request.state} ${amount}`])
  }
  for (const [account, bound] of bounds) {
    const free = available(parts, account, epoch)
    if (free === undefined || free <= bound || free <= 0n) continue
    throw violation(
      'I14',
      `${account} may spend ${free} instead of ${bound}; known are ${known.get(account)?.join(', ')}`,
    )
  }
}

/** True while a gate is open that was filled before the ledger was restored. */
function isOfAnother({ ground: { redis, postgres } }: CheckParts, epoch: number): boolean {
  const { identity, epoch: record } = postgres.tables()
  if (identity.here === 1) return false
  const beat = Number(redis.server.data.get(moneyKeys.beat) ?? 0)
  return identity.known !== identity.here || record.beat < beat || record.isRestoreNew || record.epoch !== epoch
}

function isBehind({ ground: { redis, postgres } }: CheckParts, account: string): boolean {
  const version = redis.server.data.field(moneyKeys.account(BUCKET, account), 'ver')
  return BigInt(version ?? 0) < (postgres.tables().accounts.get(account)?.version ?? 0n)
}

/** True when the process that serves a request lives. */
function isAlive({ machines }: Pick<CheckParts, 'machines'>, { machine, pid }: ModelRequest): boolean {
  return machines.find(({ id }) => id === machine)?.process()?.pid === pid
}

function isKnown(parts: CheckParts, request: ModelRequest, epoch: number): boolean {
  if ((request.state !== 'running' && request.state !== 'captured') || request.faults.has('owner_away')) return false
  const node = parts.machines.find((machine) => machine.id === request.machine)?.node()
  return node?.process.pid === request.pid && node.funds.gate.member.registered()?.epoch === epoch
}

/**
 * I18: checks the takes and used amounts of caps on one day. Checks nothing after a take has expired or the day has
 * ended.
 */
function checkCaps({ ground, model, machines }: CheckParts): void {
  if (model.hasLostCaps) return
  if (utcDay(ground.scheduler.wall()) !== utcDay(ground.scheduler.wall() - ground.scheduler.now())) {
    model.hasLostCaps = true
    return
  }
  const isAlive = (pid: number) => machines.some((machine) => machine.node()?.process.pid === pid)
  const { settlements, jobs } = ground.postgres.tables()
  const keptOf = ({ rid, amount }: Use) => {
    const request = model.requests.get(rid)
    if (request === undefined || isLost(request)) return 0n
    return jobs.get(rid)?.quote ?? settlements.get(rid)?.charge ?? (request.isAcknowledged ? amount : 0n)
  }
  const isAway = (rid: string) => model.requests.get(rid)?.faults.has('owner_away') === true
  for (const [offer, total] of model.takes.totals(ground.scheduler.now(), { isAlive, keptOf, isAway })) {
    if (offer.capDailyMicro !== null && total > offer.capDailyMicro) {
      throw violation('I18', `${offer.id} has ${total} of ${offer.capDailyMicro} taken`)
    }
  }
}

/** Checks I5, I6 and the deadlines at the moment when a script runs. */
function createReferee(parts: CheckParts) {
  const { ground, model } = parts
  let free = new Map<string, bigint>()
  let states = new Map<string, string | undefined>()

  function operationRun(run: ScriptRun) {
    return runOf(ground.redis.server.data, ground.scheduler.wall(), run)
  }

  return {
    before(run: ScriptRun): void {
      free = new Map()
      states = new Map()
      if (run.name === 'reserve') {
        for (const account of parts.accounts) free.set(account, available(parts, account, run.epoch) ?? 0n)
      }
      if (run.name === 'settle') {
        for (let index = 0; index < countOf(run); index++) {
          const { hold } = settleOf(operationRun(run), index)
          states.set(hold, ground.redis.server.data.field(hold, 'st'))
        }
      }
    },
    after(run: ScriptRun, answers: readonly string[]): void {
      for (const [index, answer] of answers.entries()) {
        if (answer.startsWith('E:')) throw violation('scripts', `${run.name} answers ${answer}`)
        if (run.name === 'reserve' && answer.startsWith('G:')) {
          const { id, rid, ttl } = reserveOf(operationRun(run), index)
          const request = model.requests.get(rid)
          if (request !== undefined) request.deadline = Math.floor(ground.scheduler.wall()) + ttl
          const left = (free.get(id) ?? 0n) - BigInt(answer.slice(2))
          if (left < 0n) throw violation('I5', `${id} was granted ${answer.slice(2)} with ${free.get(id)} available`)
          free.set(id, left)
        }
        if (run.name === 'settle' && answer === 'K') givenBack(operationRun(run), index)
      }
    },
  }

  /**
   * Checks a hold that a process other than its owner released. The hold must have been open, and either past its
   * deadline or without a living owner.
   */
  function givenBack(run: ReturnType<typeof operationRun>, index: number): void {
    const { kind, hold, rid, reason } = settleOf(run, index)
    const state = ground.redis.server.data.field(hold, 'st')
    const isExpired = kind === 'expire' && state === 'expired'
    const isLeft = reason === OWNER_DIED && state === 'released'
    const before = states.get(hold)
    if ((!isExpired && !isLeft) || before === state) return
    const request = model.requests.get(rid)
    if (before !== 'open') throw violation('I6', `${rid} was ${before} and is ${state}`)
    if (request === undefined) return
    if (isExpired && request.deadline > ground.scheduler.wall()) throw violation('I6', `${rid} expired too early`)
    if (isLeft && isAlive(parts, request)) throw violation('I6', `${rid} was taken from its owner, who lives`)
    request.faults.add('owner_away')
  }
}

/** Kinds of accounts whose rows have no balance. */
const SUMMED: ReadonlySet<AccountKind> = new Set(['platform_fee', 'promo', 'external_fiat', 'external_usdc'])

/** Checks I1, I3, I4, I6 to I9 and I15 on the commits since the last check. */
function createLedgerCheck({ ground, model }: CheckParts): () => void {
  const balances = new Map<string, { amount: bigint; entries: bigint }>()
  const checkExposure = createExposureCheck()
  let seenEntries = 0
  let seenSettlements = 0
  let timeline = 1
  return () => {
    const tables = ground.postgres.tables()
    if (tables.identity.here !== timeline) {
      timeline = tables.identity.here
      balances.clear()
      seenEntries = 0
      seenSettlements = 0
    }
    const { entries, accounts, settlements, poison } = tables
    const sums = new Map<string, bigint>()
    for (const { tx, account, amount } of entries.slice(seenEntries)) {
      sums.set(tx, (sums.get(tx) ?? 0n) + amount)
      const sum = balances.get(account) ?? { amount: 0n, entries: 0n }
      balances.set(account, { amount: sum.amount + amount, entries: sum.entries + 1n })
    }
    seenEntries = entries.length
    for (const [tx, total] of sums) if (total !== 0n) throw violation('I1', `${tx} sums to ${total}`)
    for (const { account, kind, balance, version } of accounts.values()) {
      if (SUMMED.has(kind)) continue
      const sum = balances.get(account) ?? { amount: 0n, entries: 0n }
      if (sum.amount !== balance || sum.entries !== version) {
        throw violation('I3', `${account} has ${balance} v${version} instead of ${sum.amount} v${sum.entries}`)
      }
      if (balance < 0n && kind !== 'platform_shortfall') throw violation('I4', `${account} has ${balance}`)
    }
    const [wrong] = poison
    if (wrong !== undefined) throw violation('poison', `${wrong.reason} ${wrong.detail}`)
    for (const row of [...settlements.values()].slice(seenSettlements)) {
      const job = model.jobs.get(row.rid)
      if (job === undefined) checkSettlement(model, row)
      else checkJobSettlement(job, tables, row, model)
    }
    seenSettlements = settlements.size
    checkEscrow(tables)
    checkParked(tables)
    checkExposure(tables)
  }
}

function checkSettlement(model: Model, row: SettlementRow): void {
  const request = model.requests.get(row.rid)
  if (request === undefined) throw violation('I6', `${row.rid} was settled and never requested`)
  if (row.charge > request.heldMicro) throw violation('I7', `${row.rid} charged ${row.charge} of ${request.heldMicro}`)
  if (row.charge > 0n && request.sellerAccount !== row.sellerAccount) {
    throw violation('I15', `${row.rid} pays ${row.sellerAccount} for what ${request.sellerAccount} delivered`)
  }
  if (request.state === 'released' && row.charge > 0n)
    throw violation('I11', `${row.rid} failed and costs ${row.charge}`)
  if (row.charge > mostDue(request)) {
    throw violation('I6', `${row.rid} costs ${row.charge} with ${request.deliveredMicro} delivered`)
  }
  if (request.isAcknowledged && !isLost(request) && row.charge !== request.chargeMicro) {
    throw violation('I12', `${row.rid} costs ${row.charge} instead of ${request.chargeMicro}`)
  }
}
