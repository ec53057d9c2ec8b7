import type { MicroUsd } from '#shared/money.ts'
import type { BatchPlace, OperationSubject, ScriptBatch } from './batch.ts'
import { budgetKeys, placeKeys } from './batch.ts'
import {
  BUDGETS,
  CALENDAR,
  eachGathering,
  GATHERED,
  OPEN_ACCOUNT,
  prologue,
  readFields,
  USE_COUNTER,
  writeFields,
} from './prologue.ts'

/** The time for which a released or expired hold can be looked up, in milliseconds. */
export const ENDED_HOLD_TTL_MS = 15 * 60_000

type Capture = {
  readonly kind: 'capture'
  readonly usedMicro: MicroUsd
  /** The bytes of the usage event. */
  readonly event: string
  /** Unix milliseconds from which it waits for posting. Null means now. */
  readonly capturedAt: number | null
  /** The budgets that count the call, for a capture whose hold the gate may lack. Absent without one. */
  readonly budgets?: readonly string[]
}
export type CaptureOperation = OperationSubject & { readonly node: string } & Capture

/**
 * The end of a hold. A capture of a closed or missing hold is booked late with its own data; a second capture with the
 * same amount changes nothing. A release of anything but an open hold changes nothing.
 */
export type SettleOperation = OperationSubject & { readonly node: string } & (
    | Capture
    /** `event` answers a look-up of the call. Null without one. */
    | { readonly kind: 'release'; readonly reason: string; readonly event: string | null }
    /** Releases a hold only after its deadline. */
    | { readonly kind: 'expire' }
  )

/** The number of fields of an operation, without the event. A release has its reason where a capture has budgets. */
const FIELDS = 8
const ARGUMENTS = 2

/**
 * The reserve counts a hold only if a cap of its key binds. Any other hold is counted when its amount is known. An open
 * hold of this epoch belongs to records that were opened in this epoch, too. A capture without an open hold is answered
 * as late each time it comes, unless the call was posted before.
 *
 * Each end writes the whole record, including unchanged fields: the log on disk has nothing of a hold before it. The
 * day of a capped hold is left out, because it ends with the epoch.
 */
const CAPTURE = `local function capture(hold,H,rid,id,key,node,counter,account,used,budgets,event,at)
  local st=H.st
  if st=='captured' or st=='posted' then
    if H.used~=used then return 'X:'..H.used end
    if not H.late or (H.pa and tonumber(H.pa)<tonumber(H.late)) then return 'K' end
    return 'L'
  end
  if not isAmount(used) then return 'E:amount' end
  if st=='open' and tonumber(used)>tonumber(H.amt) then return 'E:over the hold' end
  local use
  if key~='' and not (st=='open' and H.kd) then
    use=readUseOf(counter,st=='open' and tonumber(H.t0) or admittedAt(rid))
    if not use then return 'S' end
  end
  local counted
  if st~='open' and st and H.bg then counted=H.bg
  elseif st~='open' and budgets~='' then
    counted=budgetsAt(budgets,admittedAt(rid))
    if not counted then return 'S' end
  end
  leave(KEYS[1],rid)
  if at=='' then at=digits(now) end
  if st=='open' then
    if use then redis.call('HSET',hold,'ep',E,'st','captured','amt',H.amt,'used',used,'acct',H.acct,'key',key,'node',H.node,'t0',H.t0,'exp',H.exp,'ev',event,'kd',use.day,'km',use.month)
    else redis.call('HSET',hold,'ep',E,'st','captured','amt',H.amt,'used',used,'acct',H.acct,'key',H.key,'node',H.node,'t0',H.t0,'exp',H.exp,'ev',event) end
    add(account,'h',-tonumber(H.amt))
    if H.kd then correctUse(counter,H.kd,H.km,tonumber(used)-tonumber(H.amt)) end
    if H.bg then correctBudgets(H.bg,tonumber(used)-tonumber(H.amt)) end
  else
    if not openAccount(account) then return 'S' end
    redis.call('DEL',hold)
    redis.call('HSET',hold,'ep',E,'st','captured','amt',H.amt or used,'used',used,'acct',id,'key',key,'node',node,'t0',H.t0 or at,'exp',H.exp or at,'ev',event,'late',digits(now))
    if use then redis.call('HSET',hold,'kd',use.day,'km',use.month) end
    if counted then
      redis.call('HSET',hold,'bg',counted)
      countBudgets(counted,tonumber(used))
    end
  end
  if use then addUse(counter,use,tonumber(used)) end
  add(account,'u',tonumber(used))
  enter(KEYS[2],at,rid)
  if st=='open' then return 'K' end
  return 'L'
end
`

const RELEASE = `local function release(hold,H,rid,counter,account,state,reason,event)
  if H.st~='open' and not H.isOld then return 'K' end
  if H.isOld and H.oldSt~='open' then return 'K' end
  if state=='expired' and tonumber(H.exp)>now then return 'W' end
  leave(KEYS[1],rid)
  redis.call('HSET',hold,'ep',E,'st',state,'why',reason,'amt',H.amt,'acct',H.acct,'key',H.key,'node',H.node,'t0',H.t0,'exp',H.exp)
  if event~='' then redis.call('HSET',hold,'ev',event) end
  redis.call('PEXPIRE',hold,${ENDED_HOLD_TTL_MS})
  if not H.isOld then
    add(account,'h',-tonumber(H.amt))
    correctUse(counter,H.kd,H.km,-tonumber(H.amt))
    if H.bg then correctBudgets(H.bg,-tonumber(H.amt)) end
  end
  return 'K'
end
`

/** The first write is a removal, because a full server still accepts one. So money can always be released. */
export function settleScript(epoch: number): string {
  return `${prologue(epoch)}${CALENDAR}${GATHERED}${USE_COUNTER}${BUDGETS}${OPEN_ACCOUNT}${readFields(FIELDS)}${CAPTURE}${RELEASE}local function operation(i)
  local k,a=2+i*3,i*${ARGUMENTS}
  local account,hold,counter=KEYS[k+1],KEYS[k+2],KEYS[k+3]
  local kind,rid,id,key,node,used,reason,at=string.match(ARGV[a+1],FIELDS)
  local event=ARGV[a+2]
  local F=redis.call('HMGET',hold,'ep','st','amt','used','kd','km','t0','exp','late','pa','acct','key','node','bg')
  local ep=tonumber(F[1] or nil)
  if ep and ep>E then return 'S' end
  local H={amt=F[3],used=F[4],kd=F[5],km=F[6],t0=F[7],exp=F[8],late=F[9],pa=F[10],acct=F[11],key=F[12],node=F[13],bg=F[14],isOld=ep~=nil and ep<E}
  if ep==E then H.st=F[2] else H.oldSt=F[2] end
  if kind=='capture' then
    return capture(hold,H,rid,id,key,node,counter,account,used,reason,event,at)
  end
  local state=kind=='expire' and 'expired' or 'released'
  return release(hold,H,rid,counter,account,state,reason,event)
end
${eachGathering(ARGUMENTS)}`
}

/** The keys and arguments of one batch; all accounts lie in one bucket. */
export function encodeSettle(place: BatchPlace, operations: readonly SettleOperation[]): ScriptBatch {
  const { keys, args, addKeys } = placeKeys(place)
  for (const operation of operations) {
    addKeys(operation)
    const { kind, rid, account, node } = operation
    const keyId = operation.keyId ?? ''
    if (kind === 'capture') {
      const { usedMicro, event, capturedAt, budgets } = operation
      const at = capturedAt?.toString() ?? ''
      args.push(writeFields([kind, rid, account, keyId, node, usedMicro.toString(), budgetKeys(budgets), at]))
      args.push(event)
    } else {
      const reason = kind === 'release' ? operation.reason : 'deadline'
      args.push(writeFields([kind, rid, account, keyId, node, '', reason, '']))
      args.push(kind === 'release' ? (operation.event ?? '') : '')
    }
  }
  return { keys, args }
}
