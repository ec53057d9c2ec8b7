import { DEADLINE_SOURCE } from '#control-plane/services/booking/book-job-event.ts'
import { CHAT_LIMITS } from '#data-plane/pipeline/call-plane.ts'
import { microUsd } from '#shared/money.ts'
import type { Checks } from './check/checks.ts'
import { startChecks } from './check/checks.ts'
import { checkHeirs, checkRest } from './check/final-checks.ts'
import { bookedFor, isJobEnd } from './check/job-checks.ts'
import { noteRunOut } from './check/payment-checks.ts'
import type { LedgerTables } from './ledger/ledger-tables.ts'
import type { Operation } from './plan/plan.ts'
import { applyChain } from './play/apply-chain.ts'
import { applyProcess, applyRedis } from './play/faults.ts'
import { playCall } from './play/play-call.ts'
import { playJob } from './play/play-job.ts'
import { playPaidCall } from './play/play-paid-call.ts'
import { playRelay } from './play/play-relay.ts'
import { violation } from './time/violation.ts'
import { traceWorld } from './trace.ts'
import type { DebitDesk } from './world/debits.ts'
import { createDebitDesk, isDeposit } from './world/debits.ts'
import type { Flaw } from './world/flaws.ts'
import type { World } from './world/world.ts'
import { createWorld } from './world/world.ts'

/** The result of a run. `error` is undefined when every promise held. */
export type Outcome = {
  readonly error: Error | undefined
  readonly steps: number
  readonly settled: number
  /** Numbers of calls and long jobs by their end. */
  readonly calls: Readonly<Record<string, number>>
}

/** Runs operations in a world with one deliberate fault, or none. */
export type Runner = (seed: number, operations: readonly Operation[]) => Promise<Outcome>

type Play = { readonly world: World; readonly checks: Checks; readonly debits: DebitDesk; fail(error: unknown): void }

/** Applies operations to a new world, ends its faults, and checks that it comes to rest correctly. */
export async function runOperations(
  seed: number,
  operations: readonly Operation[],
  options: { readonly flaw?: Flaw | undefined; readonly trace?: ((line: string) => void) | undefined } = {},
): Promise<Outcome> {
  let failed: unknown
  const fail = (error: unknown) => {
    failed ??= error
  }
  const hasWallets = operations.some(({ kind }) => kind === 'paid_call' || kind === 'chain')
  const budgets = operations.find((operation) => operation.kind === 'budgets')
  const world = createWorld(seed, fail, { flaw: options.flaw, hasWallets, budgets })
  const { scheduler } = world.ground
  scheduler.onStep(() => {
    if (failed !== undefined) throw failed
  })
  const checks = startChecks(world)
  world.onMoney(checks.touch)
  const debits = createDebitDesk(world, fail)
  if (options.trace !== undefined) traceWorld(world, options.trace)
  const play = { world, checks, debits, fail }
  let error: Error | undefined
  try {
    await scheduler.run(3_000)
    for (const [index, operation] of operations.entries()) {
      await scheduler.run(operation.gapMs)
      options.trace?.(`${scheduler.now().toFixed(1).padStart(10)} ${index} ${JSON.stringify(operation)}`)
      apply(play, operation)
      if (operation.kind === 'pass') await scheduler.run(operation.ms)
    }
    await rest(play)
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(String(thrown))
  }
  checks.stop()
  for (const part of [...world.machines, ...world.workers]) part.process()?.kill()
  const calls: Record<string, number> = {}
  for (const state of outcomesOf(world)) calls[state] = (calls[state] ?? 0) + 1
  return { error, steps: scheduler.steps(), settled: world.ground.postgres.tables().settlements.size, calls }
}

/** The outcome of each call, and of each long job. */
function outcomesOf({ model, ground }: World): string[] {
  const { jobs, jobEnds } = ground.postgres.tables()
  const outcomes: string[] = []
  for (const request of model.requests.values()) {
    if (!isJobEnd(request) && !model.jobs.has(request.rid)) outcomes.push(request.state)
  }
  for (const { state } of ground.postgres.tables().payments.values()) outcomes.push(`payment ${state}`)
  for (const { submit, end } of model.jobs.values()) {
    if (!jobs.has(submit.rid)) outcomes.push(`job ${submit.state}`)
    else outcomes.push(`job ended by ${jobEnds.get(submit.rid)?.source === DEADLINE_SOURCE ? 'deadline' : 'buyer'}`)
    if (end !== undefined) outcomes.push('job shown')
  }
  return outcomes
}

/** The shortest time in milliseconds for which an unsettled take of an offer's cap counts. */
const TAKE_MS = CHAT_LIMITS.totalMs

const CALLS_END_MS = 30_000
const SILENCE_MS = 2 * 60 * 60_000
const SWEEPS_MS = 130_000
/** The whole check takes as long as hundreds of steps, so it does not run after each step. */
const REST_POLL_MS = 500

/** Ends all faults. Everything runs, holds of dead calls expire, and sweepers sweep. Then nothing may be open. */
async function rest({ world, checks, debits }: Play): Promise<void> {
  const { ground, machines, workers } = world
  const { scheduler, redis, postgres, chain } = ground
  const heal = () => {
    redis.start()
    redis.thaw()
    redis.setSlow(false)
    postgres.setUp(true)
    chain?.heal()
    for (const part of [...machines, ...workers]) {
      part.process()?.thaw()
      part.boot()
    }
  }
  heal()
  await scheduler.run(CALLS_END_MS)
  heal()
  const held = checkHeirs(world)
  if (held.length > 0) throw violation('heirs', held.join('; '))
  // The clock jumps, because otherwise every poll of this time would have to run.
  scheduler.jump(SILENCE_MS)
  let nextLook = 0
  await scheduler.run(SWEEPS_MS, () => {
    if (scheduler.now() < nextLook) return false
    nextLook = scheduler.now() + REST_POLL_MS
    return checkRest(world, debits).length === 0
  })
  const left = checkRest(world, debits)
  checks.stop()
  if (left.length > 0) throw violation('I10', left.join('; '))
}

/** Notes in the model the bookings that a restored ledger lacks. */
function noteStepBack({ ground, model }: World, gone: LedgerTables): void {
  const tables = ground.postgres.tables()
  // Charges of wallets that the ledger lost are announced again after the gate has opened, so the gate counts them too
  // late.
  model.hasLostCaps = true
  model.setBack(
    (request) => bookedFor(gone, request) !== undefined,
    (request) => bookedFor(tables, request) !== undefined,
  )
  for (const { tx, account, amount } of gone.entries) {
    if (amount > 0n && isDeposit(tx) && !tables.transactions.has(tx)) model.poorer.add(account)
  }
}

function apply({ world, debits, fail }: Play, operation: Operation): void {
  const { ground, market, model, machines, workers } = world
  const { scheduler, redis, postgres, queue } = ground
  const machine = (index: number) => machines[index % machines.length]
  const worker = (index: number) => workers[index % workers.length]
  switch (operation.kind) {
    case 'call': {
      const on = machine(operation.machine)
      if (on !== undefined) playCall(world.parts, on, operation.plan).catch(fail)
      return
    }
    case 'relay': {
      const on = machine(operation.machine)
      if (on !== undefined) playRelay(world.parts, on, operation.plan).catch(fail)
      return
    }
    case 'long_job':
      playJob(world.parts, machines, operation.machine, operation.plan).catch(fail)
      return
    case 'paid_call':
      playPaidCall(world.parts, machines, operation.machine, operation.plan).catch(fail)
      return
    case 'chain':
      applyChain(world, operation.event)
      return
    case 'deposit':
      debits.deposit(operation.buyer, BigInt(operation.amount))
      return
    case 'debit':
      debits.debit(operation.buyer, microUsd(operation.amount), worker(operation.worker))
      return
    case 'price':
      market.changePrice(operation.percent)
      return
    case 'sweep':
      worker(operation.worker)?.sweep()
      return
    case 'job':
      queue.faultNext(operation.fault)
      return
    case 'jump':
      scheduler.jump(operation.ms)
      // Takes of dead processes expire now, with the amounts that they had used.
      if (operation.ms > TAKE_MS) model.hasLostCaps = true
      // Holds may expire now although their calls still run.
      model.befall('owner_away', (request) => request.deadline < scheduler.wall())
      noteRunOut(world)
      return
    case 'pass':
    case 'budgets':
      return
    case 'lose':
      redis.loseNext(operation.what, operation.count)
      return
    case 'commit':
      postgres.failNext(operation.fault)
      return
    case 'cut_leader':
      postgres.cutLeader()
      return
    case 'postgres_down':
      postgres.setUp(false)
      scheduler.after(operation.ms, () => postgres.setUp(true))
      return
    case 'postgres_older': {
      const restore = postgres.backUp()
      scheduler.after(operation.ms, () => {
        const gone = restore()
        noteStepBack(world, gone)
        debits.setBack()
      })
      return
    }
    case 'redis':
    case 'redis_older':
    case 'redis_down':
    case 'redis_frozen':
    case 'redis_slow':
      applyRedis(world, operation)
      return
    default:
      applyProcess(world, operation)
      return
  }
}
