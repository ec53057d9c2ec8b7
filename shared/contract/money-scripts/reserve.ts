import type { HoldState } from '#shared/contract/hold.ts'
import { HOLD_STATES } from '#shared/contract/hold.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd } from '#shared/money.ts'
import type { BatchPlace, ScriptBatch } from './batch.ts'
import { answersOf, placeKeys } from './batch.ts'
import {
  BUDGETS,
  CALENDAR,
  eachGathering,
  GATHERED,
  prologue,
  readFields,
  USE_COUNTER,
  writeFields,
} from './prologue.ts'

/** Sets money aside for one call, or for a debit under its ledger key. Caps that are null do not bind. */
export type ReserveOperation = {
  readonly rid: string
  readonly account: AccountId
  readonly keyId: KeyId | null
  readonly wantMicro: MicroUsd
  readonly minMicro: MicroUsd
  readonly ttlMs: number
  readonly node: string
  readonly dailyCapMicro: MicroUsd | null
  readonly monthlyCapMicro: MicroUsd | null
  /** The budgets that the call counts for. Absent without one. */
  readonly budgets?: readonly BudgetLimit[]
}

/** A budget by its id, and its limit in a UTC month. */
export type BudgetLimit = { readonly id: string; readonly limitMicro: MicroUsd }

/** The gate's answers to one reserve. Only `granted` has changed anything. */
export type ReserveAnswer =
  | { readonly kind: 'granted'; readonly amountMicro: MicroUsd }
  | { readonly kind: 'insufficient'; readonly availableMicro: MicroUsd }
  /** The gate does not have the account yet. */
  | { readonly kind: 'unseeded' }
  /** `at` is the server's clock in Unix milliseconds. The cap resets at the end of that UTC day or month. */
  | {
      readonly kind: 'capped'
      readonly scope: 'day' | 'month'
      readonly limitMicro: MicroUsd
      readonly spentMicro: MicroUsd
      readonly at: number
    }
  /** `place` is that of the budget in the operation. `at` is the server's clock. */
  | { readonly kind: 'over_budget'; readonly place: number; readonly spentMicro: MicroUsd; readonly at: number }
  /** The request id already has a hold. */
  | { readonly kind: 'duplicate'; readonly state: HoldState; readonly amountMicro: MicroUsd }
  /** The server was emptied, or the account belongs to a newer epoch. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'error'; readonly message: string }

const FIELDS = 10

/** Returns the grant that every budget covers with the counters in the form of `bg`, or nil with the refusal. */
const BOUND_BY_BUDGETS = `local function boundByBudgets(budgets,grant,low)
  local months={}
  for name,limit in string.gmatch(budgets,'(%S+) (%d+)') do
    local spent=readUse(name)
    if not spent then return nil,'S' end
    local left=tonumber(limit)-spent.mu
    if left<low or (left<=0 and grant>0) then return nil,'B:'..#months..':'..digits(spent.mu)..':'..digits(now) end
    if grant>left then grant=left end
    months[#months+1]=name..' '..spent.month
  end
  return grant,table.concat(months,' ')
end
`

/**
 * The writes of a reserve go to replicas and not to the log on disk (redis.set_repl, since Redis 5): a server that
 * starts from its log knows no script, so it is rebuilt, and a rebuild counts the calls that their processes report and
 * no hold that it finds. So each call waits for the disk once, at its capture, which writes the whole record. A server
 * without that command logs reserves like everything else.
 *
 * An emptied server still knows the script: the bucket's own note of its epoch closes the gate at once.
 */
export function reserveScript(epoch: number): string {
  return `${prologue(epoch)}${CALENDAR}${GATHERED}${USE_COUNTER}${BUDGETS}${BOUND_BY_BUDGETS}${readFields(FIELDS)}pcall(redis.set_repl,redis.REPL_REPLICA)
local isFilled=tonumber(redis.call('GET',KEYS[2]) or nil)==E
local accounts={}
local function accountOf(key)
  local found=accounts[key]
  if found then return found end
  local A=redis.call('HMGET',key,'ep','p','h','u','seeded')
  local ep=tonumber(A[1] or nil)
  if ep and ep>E then found={refusal='S'}
  elseif ep~=E or A[5]~='1' then found={refusal='U'}
  else found={free=tonumber(A[2])-tonumber(A[3])-tonumber(A[4])} end
  accounts[key]=found
  return found
end
local function operation(i)
  if not isFilled then return 'S' end
  local k=2+i*3
  local account,hold,counter=KEYS[k+1],KEYS[k+2],KEYS[k+3]
  local rid,id,want,least,ttl,key,node,daily,monthly,budgets=string.match(ARGV[i+1],FIELDS)
  local A=accountOf(account)
  if A.refusal then return A.refusal end
  local H=redis.call('HMGET',hold,'st','amt')
  if H[1] then return 'D:'..H[1]..':'..H[2] end
  if not isAmount(want) or not isAmount(least) then return 'E:amount' end
  local free=A.free
  local grant,low=tonumber(want),tonumber(least)
  if low>grant then return 'E:amount' end
  if grant>free then grant=free<0 and 0 or free end
  if grant<low then return 'N:'..digits(free<0 and 0 or free) end
  local use
  if key~='' and (daily~='' or monthly~='') then
    use=readUse(counter)
    if not use then return 'S' end
    if daily~='' then
      local left=tonumber(daily)-use.du
      if left<low or (left<=0 and grant>0) then return 'C:day:'..daily..':'..digits(use.du)..':'..digits(now) end
      if grant>left then grant=left end
    end
    if monthly~='' then
      local left=tonumber(monthly)-use.mu
      if left<low or (left<=0 and grant>0) then return 'C:month:'..monthly..':'..digits(use.mu)..':'..digits(now) end
      if grant>left then grant=left end
    end
  end
  local counted
  if budgets~='' then grant,counted=boundByBudgets(budgets,grant,low) end
  if not grant then return counted end
  local amount=digits(grant)
  local deadline=digits(now+tonumber(ttl))
  if use then
    redis.call('HSET',hold,'ep',E,'st','open','amt',amount,'acct',id,'key',key,'node',node,'t0',digits(now),'exp',deadline,'kd',use.day,'km',use.month)
    addUse(counter,use,grant)
  else
    redis.call('HSET',hold,'ep',E,'st','open','amt',amount,'acct',id,'key','','node',node,'t0',digits(now),'exp',deadline)
  end
  if counted then redis.call('HSET',hold,'bg',counted) countBudgets(counted,grant) end
  A.free=free-grant
  add(account,'h',grant)
  enter(KEYS[1],deadline,rid)
  return 'G:'..amount
end
${eachGathering(1)}`
}

/** The keys and arguments of one batch; all accounts lie in one bucket. */
export function encodeReserve(place: BatchPlace, operations: readonly ReserveOperation[]): ScriptBatch {
  const { keys, args, addKeys } = placeKeys(place)
  keys[1] = moneyKeys.filled(place.bucket)
  for (const operation of operations) {
    addKeys(operation)
    args.push(
      writeFields([
        operation.rid,
        operation.account,
        operation.wantMicro.toString(),
        operation.minMicro.toString(),
        operation.ttlMs.toString(),
        operation.keyId ?? '',
        operation.node,
        operation.dailyCapMicro?.toString() ?? '',
        operation.monthlyCapMicro?.toString() ?? '',
        operation.budgets?.map(({ id, limitMicro }) => `${moneyKeys.budget(id)} ${limitMicro}`).join(' ') ?? '',
      ]),
    )
  }
  return { keys, args }
}

/**
 * Reads the answers of a batch, one for each operation, in their order. Throws an Error when the reply is not that of
 * the script.
 */
export function decodeReserve(reply: unknown, count: number): ReserveAnswer[] {
  return answersOf(reply, count).map(readAnswer)
}

function readAnswer(text: string): ReserveAnswer {
  if (text.startsWith('G:')) return { kind: 'granted', amountMicro: parseMicroUsd(text.slice(2)) }
  const [code, first = '', second = '', third = '', fourth = ''] = text.split(':')
  if (code === 'N') return { kind: 'insufficient', availableMicro: parseMicroUsd(first) }
  if (code === 'U') return { kind: 'unseeded' }
  if (code === 'S') return { kind: 'stale' }
  if (code === 'C') {
    return {
      kind: 'capped',
      scope: first === 'day' ? 'day' : 'month',
      limitMicro: parseMicroUsd(second),
      spentMicro: parseMicroUsd(third),
      at: Number(fourth),
    }
  }
  if (code === 'B') {
    return { kind: 'over_budget', place: Number(first), spentMicro: parseMicroUsd(second), at: Number(third) }
  }
  const state = HOLD_STATES.find((name) => name === first)
  if (code === 'D' && state !== undefined) return { kind: 'duplicate', state, amountMicro: parseMicroUsd(second) }
  return { kind: 'error', message: text.slice(2) }
}
