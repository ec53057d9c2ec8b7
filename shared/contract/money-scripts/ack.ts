import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { MicroUsd } from '#shared/money.ts'
import type { BatchPlace, ScriptBatch } from './batch.ts'
import { budgetKeys } from './batch.ts'
import { BUDGETS, CALENDAR, eachGathering, GATHERED, OPEN_ACCOUNT, prologue, USE_COUNTER } from './prologue.ts'
import { ENDED_HOLD_TTL_MS } from './settle.ts'

/**
 * A balance of the ledger, with the call whose posting made it, if any. The balance counts only when its version is
 * newer than the gate's. A call stops counting as unposted exactly once, when its hold leaves `captured`. The answer is
 * late when the call was posted before its capture was brought into this epoch. The answer is behind when the gate had
 * a newer version: another posting was faster, or the ledger was restored.
 */
export type AckOperation = {
  readonly account: string
  readonly balanceMicro: MicroUsd
  readonly version: bigint
  readonly rid: string | null
  /** Unix milliseconds of the call's posting, for a look-up. Null when another event changed the balance. */
  readonly postedAt: number | null
  /** The key that made the call, for the counters of its caps. Absent without a count. */
  readonly keyId?: string | null
  /** The budgets of the call in the ledger, also of a call that began before its budget. Absent without one. */
  readonly budgets?: readonly string[]
}

const ARGUMENTS = 6

/**
 * Keeps a key's counter correct when one of its calls is posted. An amount that the ledger's seed contains, or that was
 * posted before it was registered here, would count twice and is subtracted. An amount that is posted before the seed
 * arrives stays counted and is noted (`dp`, `mp` of the day `pd` and the month `pm`), so that the seed leaves it out.
 */
const SETTLE_USE = `local function noteUse(key,field,amount,periodField,noted,period)
  if noted==period then redis.call('HINCRBY',key,field,amount)
  elseif not noted or noted<period then redis.call('HSET',key,periodField,period,field,amount) end
end
local function settleUse(key,H,at)
  local used,day,month,late=H[3],H[4],H[5],H[6]
  if not day or used=='0' then return end
  local U=redis.call('HMGET',key,'ep','sd','sa','pd','pm')
  if tonumber(U[1] or nil)~=E then return end
  local isInSeed=U[2] and at<tonumber(U[2])
  if (late and at<tonumber(late)) or (isInSeed and U[3]) then return correctUse(key,day,month,-tonumber(used)) end
  if U[3] or (U[2] and not isInSeed) then return end
  noteUse(key,'dp',used,'pd',U[4],day)
  noteUse(key,'mp',used,'pm',U[5],month)
end
`

/**
 * Keeps the counter of a budget correct when a call is posted, as {@link SETTLE_USE} does. A call that the gate did not
 * count, because it began before its budget, is counted now, unless the seed contains it.
 */
const SETTLE_BUDGETS = `local function settleBudgets(keys,counted,used,late,rid,at)
  if used=='0' then return end
  local months={}
  local isLate=late and at<tonumber(late)
  for key,month in string.gmatch(counted or '','(%S+) (%S+)') do months[key]=month end
  for key in string.gmatch(keys,'%S+') do
    local U=redis.call('HMGET',key,'ep','sd','sa','pm')
    local isInSeed=U[2] and at<tonumber(U[2])
    if tonumber(U[1] or nil)~=E then
    elseif months[key] then
      if isLate or (isInSeed and U[3]) then correctBudgets(key..' '..months[key],-tonumber(used))
      elseif isInSeed or not U[2] then noteUse(key,'mp',used,'pm',U[4],months[key]) end
    elseif U[2] and not isInSeed and not isLate then countBudgets(budgetsAt(key,admittedAt(rid)),tonumber(used)) end
  end
end
`

export function ackScript(epoch: number): string {
  return `${prologue(epoch)}${GATHERED}${OPEN_ACCOUNT}${CALENDAR}${USE_COUNTER}${BUDGETS}${SETTLE_USE}${SETTLE_BUDGETS}local function operation(i)
  local k,a=2+i*3,i*${ARGUMENTS}
  local account,hold,counter=KEYS[k+1],KEYS[k+2],KEYS[k+3]
  local rid,balance,version,postedAt,ttl,budgets=ARGV[a+1],ARGV[a+2],ARGV[a+3],ARGV[a+4],ARGV[a+5],ARGV[a+6]
  if not isAmount(balance) or not string.find(version,'^%d+$') then return 'E:amount' end
  local A=redis.call('HMGET',account,'ep','ver')
  local ep,stored=tonumber(A[1] or nil),A[2]
  if ep and ep>E then return 'S' end
  leave(KEYS[2],rid)
  if ep~=E then
    openAccount(account)
    stored=nil
  end
  local answer='K'
  if rid~='' then
    local H=redis.call('HMGET',hold,'ep','st','used','kd','km','late','bg')
    if tonumber(H[1] or nil)==E and H[6] and postedAt~='' and tonumber(postedAt)<tonumber(H[6]) then answer='L' end
    if tonumber(H[1] or nil)==E and H[2]=='captured' then
      add(account,'u',-tonumber(H[3]))
      if postedAt=='' then redis.call('HSET',hold,'st','posted') else redis.call('HSET',hold,'st','posted','pa',postedAt) end
      redis.call('PEXPIRE',hold,ttl)
      if counter~=hold and postedAt~='' then settleUse(counter,H,tonumber(postedAt)) end
      if budgets~='' and postedAt~='' then settleBudgets(budgets,H[7],H[3],H[6],rid,tonumber(postedAt)) end
    end
  end
  if not stored or tonumber(version)>tonumber(stored) then
    redis.call('HSET',account,'p',balance,'ver',version,'seeded','1')
  elseif tonumber(version)<tonumber(stored) then answer=answer..'B' end
  return answer
end
${eachGathering(ARGUMENTS)}`
}

/** The keys and arguments of one batch; all accounts lie in one bucket. The tombstone's life is in milliseconds. */
export function encodeAck(
  place: BatchPlace,
  operations: readonly AckOperation[],
  tombstoneMs = ENDED_HOLD_TTL_MS,
): ScriptBatch {
  const { bucket, epoch } = place
  const keys = [moneyKeys.expiring(bucket, epoch), moneyKeys.unposted(bucket, epoch)]
  const args: string[] = []
  for (const { account, balanceMicro, version, rid, postedAt, keyId = null, budgets } of operations) {
    const accountKey = moneyKeys.account(bucket, account)
    const hold = rid === null ? accountKey : moneyKeys.hold(bucket, rid)
    keys.push(accountKey, hold, keyId === null ? hold : moneyKeys.keyUse(bucket, keyId))
    args.push(
      rid ?? '',
      balanceMicro.toString(),
      version.toString(),
      postedAt?.toString() ?? '',
      tombstoneMs.toString(),
      budgetKeys(budgets),
    )
  }
  return { keys, args }
}
