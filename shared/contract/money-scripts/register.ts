import type { MicroUsd } from '#shared/money.ts'
import type { BatchPlace, OperationSubject, ScriptBatch } from './batch.ts'
import { budgetKeys, placeKeys } from './batch.ts'
import { BUDGETS, CALENDAR, eachGathering, GATHERED, OPEN_ACCOUNT, prologue, USE_COUNTER } from './prologue.ts'

/** A running call that a node brings into a new epoch. Its hold counts whatever the balance is. */
export type RegisterOperation = OperationSubject & {
  readonly node: string
  readonly grantedMicro: MicroUsd
  /** Milliseconds until the call must have ended. */
  readonly ttlMs: number
  /** The budgets that count the call. Absent without one. */
  readonly budgets?: readonly string[]
}

const ARGUMENTS = 7

export function registerScript(epoch: number): string {
  return `${prologue(epoch)}${CALENDAR}${GATHERED}${USE_COUNTER}${BUDGETS}${OPEN_ACCOUNT}local function operation(i)
  local k,a=2+i*3,i*${ARGUMENTS}
  local account,hold,counter=KEYS[k+1],KEYS[k+2],KEYS[k+3]
  local rid,id,key,node,amount,ttl,budgets=ARGV[a+1],ARGV[a+2],ARGV[a+3],ARGV[a+4],ARGV[a+5],ARGV[a+6],ARGV[a+7]
  local ep=tonumber(redis.call('HGET',hold,'ep') or nil)
  if ep and ep>E then return 'S' end
  if ep==E then return 'K' end
  if not isAmount(amount) then return 'E:amount' end
  local use
  if key~='' then
    use=readUseOf(counter,admittedAt(rid))
    if not use then return 'S' end
  end
  local counted
  if budgets~='' then
    counted=budgetsAt(budgets,admittedAt(rid))
    if not counted then return 'S' end
  end
  leave(KEYS[1],rid)
  if not openAccount(account) then return 'S' end
  local deadline=digits(now+tonumber(ttl))
  redis.call('DEL',hold)
  redis.call('HSET',hold,'ep',E,'st','open','amt',amount,'acct',id,'key',key,'node',node,'t0',digits(now),'exp',deadline)
  add(account,'h',tonumber(amount))
  if use then
    redis.call('HSET',hold,'kd',use.day,'km',use.month)
    addUse(counter,use,tonumber(amount))
  end
  if counted then
    redis.call('HSET',hold,'bg',counted)
    countBudgets(counted,tonumber(amount))
  end
  enter(KEYS[1],deadline,rid)
  return 'K'
end
${eachGathering(ARGUMENTS)}`
}

/** The keys and arguments of one batch; all accounts lie in one bucket. */
export function encodeRegister(place: BatchPlace, operations: readonly RegisterOperation[]): ScriptBatch {
  const { keys, args, addKeys } = placeKeys(place)
  for (const operation of operations) {
    addKeys(operation)
    const { rid, account, keyId, node, grantedMicro, ttlMs, budgets } = operation
    const milliseconds = Math.max(0, Math.ceil(ttlMs)).toString()
    args.push(rid, account, keyId ?? '', node, grantedMicro.toString(), milliseconds, budgetKeys(budgets))
  }
  return { keys, args }
}
