import { utcDay, utcMonth } from '#shared/clock.ts'
import { ENDED_HOLD_TTL_MS } from '#shared/contract/money-scripts/settle.ts'
import type { MoneyScripts } from '#shared/contract/money-scripts.ts'
import { parseRequestId, ulidTime } from '#shared/ids.ts'
import type { Keyspace } from './memory-keyspace.ts'
import type { Settle } from './memory-operations.ts'
import { ackOf, countOf, registerOf, reserveOf, settleOf } from './memory-operations.ts'
import type { Run } from './memory-run.ts'
import type { Use } from './memory-uses.ts'
import {
  addUse,
  budgetsAt,
  capCount,
  capSettle,
  capTake,
  correctBudgets,
  correctUse,
  countBudgets,
  grantOf,
  readUse,
  readUseOf,
  seedUse,
  settleBudgets,
  settleUse,
} from './memory-uses.ts'

export type ScriptName = keyof MoneyScripts
/** The effects of the money scripts without their Lua texts. Each returns the result of its script. */
export type ScriptSemantics = { readonly [Name in ScriptName]: (run: Run) => string[] }

/** Deliberate faults of the scripts. The simulation must notice each of them. */
export type ScriptFlaw =
  | 'ack_without_version'
  | 'seed_without_version'
  | 'expire_without_state'
  | 'capture_ignores_expired'
  | 'grant_above_available'
  | 'cap_outside_script'

export function runOf(data: Keyspace, at: number, batch: Pick<Run, 'epoch' | 'keys' | 'args'>): Run {
  const now = Math.floor(at)
  return { data, now, day: utcDay(now), month: utcMonth(now), ...batch }
}

export function createSemantics(flaws: ReadonlySet<ScriptFlaw> = new Set()): ScriptSemantics {
  return {
    reserve: (run) => {
      const isFilled = Number(run.data.get(key(run, 1))) === run.epoch
      return each(countOf(run), (index) => (isFilled ? reserve(run, index, flaws) : 'S'))
    },
    settle: (run) => each(countOf(run), (index) => settle(run, index, flaws)),
    register: (run) => each(countOf(run), (index) => register(run, index)),
    ack: (run) => each((run.keys.length - 2) / 3, (index) => ack(run, index, flaws)),
    seedUse: (run) => [seedUse(run)],
    capTake: (run) => [capTake(run, flaws.has('cap_outside_script'))],
    capSettle: (run) => each(run.args.length / 2, (index) => capSettle(run, index)),
    capCount: (run) => [capCount(run)],
  }
}

/** Runs one operation after the other. An error in one does not stop the rest. */
function each(count: number, operation: (index: number) => string): string[] {
  const answers: string[] = []
  for (let index = 0; index < count; index++) {
    try {
      answers.push(operation(index))
    } catch (error) {
      answers.push(`E:${error instanceof Error ? error.message : ''}`)
    }
  }
  return answers
}

const key = (run: Run, index: number) => run.keys[index] ?? ''
export const isAmount = (text: string) => /^\d{1,14}$/.test(text)

function epochOf({ data }: Run, of: string): number | undefined {
  const text = data.field(of, 'ep')
  return text === undefined ? undefined : Number(text)
}

function isNewer(run: Run, of: string): boolean {
  return (epochOf(run, of) ?? 0) > run.epoch
}

function write({ data }: Run, to: string, fields: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(fields)) data.setField(to, name, text)
}

/** Opens an account under the epoch. Returns false when the account belongs to a newer one. */
function openAccount(run: Run, account: string): boolean {
  if (epochOf(run, account) === run.epoch) return true
  if (isNewer(run, account)) return false
  run.data.remove(account)
  write(run, account, { ep: run.epoch.toString(), p: '0', h: '0', u: '0', seeded: '0' })
  return true
}

/** The time of a call's admission, read from its id, or now for other ids. */
function admittedAt({ now }: Run, rid: string): number {
  return parseRequestId(rid) === undefined ? now : ulidTime(rid)
}

function reserve(run: Run, index: number, flaws: ReadonlySet<ScriptFlaw>): string {
  const { data, epoch, now } = run
  const { account, hold, counter, rid, id, want, least, ttl, keyId, node, daily, monthly, budgets } = reserveOf(
    run,
    index,
  )
  if (isNewer(run, account)) return 'S'
  const fields = data.fields(account)
  if (epochOf(run, account) !== epoch || fields.get('seeded') !== '1') return 'U'
  const state = data.field(hold, 'st')
  if (state !== undefined) return `D:${state}:${data.field(hold, 'amt')}`
  if (!isAmount(want) || !isAmount(least)) return 'E:amount'
  const held = flaws.has('grant_above_available') ? 0 : Number(fields.get('h'))
  const free = Number(fields.get('p')) - held - Number(fields.get('u'))
  const low = Number(least)
  let grant = Number(want)
  if (low > grant) return 'E:amount'
  if (grant > free) grant = Math.max(0, free)
  if (grant < low) return `N:${Math.max(0, free)}`
  let use: Use | undefined
  if (keyId !== '' && (daily !== '' || monthly !== '')) {
    use = readUse(run, counter)
    if (use === undefined) return 'S'
    for (const [scope, cap, spent] of [
      ['day', daily, use.dayUsed],
      ['month', monthly, use.monthUsed],
    ] as const) {
      if (cap === '') continue
      const left = Number(cap) - spent
      if (left < low || (left <= 0 && grant > 0)) return `C:${scope}:${cap}:${spent}:${now}`
      if (grant > left) grant = left
    }
  }
  let counted: string | undefined
  if (budgets !== '') {
    const granted = grantOf(run, { budgets, grant, low })
    if ('refusal' in granted) return granted.refusal
    grant = granted.grant
    counted = granted.counted
  }
  const deadline = now + ttl
  data.addToField(account, 'h', grant)
  write(run, hold, {
    ep: epoch.toString(),
    st: 'open',
    amt: grant.toString(),
    acct: id,
    key: use === undefined ? '' : keyId,
    node,
    t0: now.toString(),
    exp: deadline.toString(),
    ...(use === undefined ? {} : { kd: use.day, km: use.month }),
  })
  if (use !== undefined) addUse(run, counter, use, grant)
  if (counted !== undefined) {
    write(run, hold, { bg: counted })
    countBudgets(run, counted, grant)
  }
  data.setScore(key(run, 0), rid, deadline)
  return `G:${grant}`
}

type Held = {
  /** The state under this epoch, and the state under an older one. */
  readonly state: string | undefined
  readonly oldState: string | undefined
  readonly isOld: boolean
  readonly fields: ReadonlyMap<string, string>
}

function settle(run: Run, index: number, flaws: ReadonlySet<ScriptFlaw>): string {
  const operation = settleOf(run, index)
  const { hold } = operation
  if (isNewer(run, hold)) return 'S'
  const epoch = epochOf(run, hold)
  const fields = new Map(run.data.fields(hold))
  const state = fields.get('st')
  const isPresent = epoch === run.epoch
  const held: Held = {
    state: isPresent ? state : undefined,
    oldState: isPresent ? undefined : state,
    isOld: epoch !== undefined && !isPresent,
    fields,
  }
  return operation.kind === 'capture' ? capture(run, operation, held, flaws) : release(run, operation, held, flaws)
}

function capture(run: Run, operation: Settle, { state, fields }: Held, flaws: ReadonlySet<ScriptFlaw>): string {
  const { data, epoch, now } = run
  const { account, hold, counter, rid, id, keyId, node, used, event, reason: budgets } = operation
  const since = operation.since === '' ? now.toString() : operation.since
  const amount = fields.get('amt')
  if (state === 'captured' || state === 'posted') {
    if (fields.get('used') !== used) return `X:${fields.get('used')}`
    const [late, posted] = [fields.get('late'), fields.get('pa')]
    return late === undefined || (posted !== undefined && Number(posted) < Number(late)) ? 'K' : 'L'
  }
  if (!isAmount(used)) return 'E:amount'
  if (flaws.has('capture_ignores_expired') && state === 'expired') return 'K'
  const isOpen = state === 'open'
  if (isOpen && Number(used) > Number(amount)) return 'E:over the hold'
  const day = fields.get('kd')
  let use: Use | undefined
  if (keyId !== '' && !(isOpen && day !== undefined)) {
    use = readUseOf(run, counter, isOpen ? Number(fields.get('t0')) : admittedAt(run, rid))
    if (use === undefined) return 'S'
  }
  const held = fields.get('bg')
  let counted: string | undefined
  if (isOpen) {
    if (held !== undefined) correctBudgets(run, held, Number(used) - Number(amount))
  } else if (held !== undefined && state !== undefined) counted = held
  else if (budgets !== '') {
    counted = budgetsAt(run, budgets, admittedAt(run, rid))
    if (counted === undefined) return 'S'
  }
  data.dropScore(key(run, 0), rid)
  if (isOpen) {
    data.addToField(account, 'h', -Number(amount))
    const counted = use === undefined ? {} : { key: keyId, kd: use.day, km: use.month }
    write(run, hold, { st: 'captured', used, ev: event, ...counted })
    if (day !== undefined) {
      correctUse(run, counter, { day, month: fields.get('km'), amount: Number(used) - Number(amount) })
    }
  } else {
    if (!openAccount(run, account)) return 'S'
    data.remove(hold)
    write(run, hold, {
      ep: epoch.toString(),
      st: 'captured',
      amt: amount ?? used,
      used,
      acct: id,
      key: keyId,
      node,
      t0: fields.get('t0') ?? since,
      exp: fields.get('exp') ?? since,
      ev: event,
      late: now.toString(),
      ...(use === undefined ? {} : { kd: use.day, km: use.month }),
      ...(counted === undefined ? {} : { bg: counted }),
    })
    if (counted !== undefined) countBudgets(run, counted, Number(used))
  }
  if (use !== undefined) addUse(run, counter, use, Number(used))
  data.addToField(account, 'u', Number(used))
  data.setScore(key(run, 1), rid, Number(since))
  return isOpen ? 'K' : 'L'
}

function release(run: Run, operation: Settle, held: Held, flaws: ReadonlySet<ScriptFlaw>): string {
  const { data, epoch, now } = run
  const { state, oldState, isOld, fields } = held
  const { account, hold, counter, rid, reason, event } = operation
  const isExpiry = operation.kind === 'expire'
  const isBlind = flaws.has('expire_without_state') && isExpiry && state !== undefined
  if (!isBlind) {
    if (isOld ? oldState !== 'open' : state !== 'open') return 'K'
    if (isExpiry && Number(fields.get('exp')) > now) return 'W'
  }
  data.dropScore(key(run, 0), rid)
  if (!isOld) {
    const amount = Number(fields.get('amt'))
    data.addToField(account, 'h', -amount)
    correctUse(run, counter, { day: fields.get('kd'), month: fields.get('km'), amount: -amount })
    correctBudgets(run, fields.get('bg') ?? '', -amount)
  }
  write(run, hold, {
    ep: epoch.toString(),
    st: isExpiry ? 'expired' : 'released',
    why: reason,
    ...(event === '' ? {} : { ev: event }),
  })
  data.expire(hold, now + ENDED_HOLD_TTL_MS)
  return 'K'
}

function register(run: Run, index: number): string {
  const { data, epoch, now } = run
  const { account, hold, counter, rid, id, keyId, node, amount, ttl, budgets } = registerOf(run, index)
  if (isNewer(run, hold)) return 'S'
  if (epochOf(run, hold) === epoch) return 'K'
  if (!isAmount(amount)) return 'E:amount'
  let use: Use | undefined
  if (keyId !== '') {
    use = readUseOf(run, counter, admittedAt(run, rid))
    if (use === undefined) return 'S'
  }
  let counted: string | undefined
  if (budgets !== '') {
    counted = budgetsAt(run, budgets, admittedAt(run, rid))
    if (counted === undefined) return 'S'
  }
  data.dropScore(key(run, 0), rid)
  if (!openAccount(run, account)) return 'S'
  const deadline = now + ttl
  data.remove(hold)
  write(run, hold, {
    ep: epoch.toString(),
    st: 'open',
    amt: amount,
    acct: id,
    key: keyId,
    node,
    t0: now.toString(),
    exp: deadline.toString(),
    ...(use === undefined ? {} : { kd: use.day, km: use.month }),
  })
  data.addToField(account, 'h', Number(amount))
  if (use !== undefined) addUse(run, counter, use, Number(amount))
  if (counted !== undefined) {
    write(run, hold, { bg: counted })
    countBudgets(run, counted, Number(amount))
  }
  data.setScore(key(run, 0), rid, deadline)
  return 'K'
}

function ack(run: Run, index: number, flaws: ReadonlySet<ScriptFlaw>): string {
  const { data, epoch, now } = run
  const { account, hold, counter, rid, balance, version, postedAt, ttl, budgets } = ackOf(run, index)
  if (!isAmount(balance) || !/^\d+$/.test(version)) return 'E:amount'
  if (isNewer(run, account)) return 'S'
  const isPresent = epochOf(run, account) === epoch
  const stored = isPresent ? data.field(account, 'ver') : undefined
  data.dropScore(key(run, 1), rid)
  openAccount(run, account)
  const late = rid !== '' && epochOf(run, hold) === epoch ? data.field(hold, 'late') : undefined
  const answer = late !== undefined && postedAt !== '' && Number(postedAt) < Number(late) ? 'L' : 'K'
  if (rid !== '' && epochOf(run, hold) === epoch && data.field(hold, 'st') === 'captured') {
    data.addToField(account, 'u', -Number(data.field(hold, 'used')))
    write(run, hold, { st: 'posted', ...(postedAt === '' ? {} : { pa: postedAt }) })
    data.expire(hold, now + ttl)
    if (counter !== hold && postedAt !== '') settleUse(run, counter, data.fields(hold), Number(postedAt))
    if (budgets !== '' && postedAt !== '') {
      settleBudgets(run, budgets, data.fields(hold), { at: Number(postedAt), admitted: admittedAt(run, rid) })
    }
  }
  const isUnguarded = flaws.has(rid === '' ? 'seed_without_version' : 'ack_without_version')
  if (isUnguarded || stored === undefined || Number(version) > Number(stored)) {
    write(run, account, { p: balance, ver: version, seeded: '1' })
  } else if (Number(version) < Number(stored)) return `${answer}B`
  return answer
}
