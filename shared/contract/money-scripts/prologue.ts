import { BASE_32 } from '#shared/ids.ts'

/**
 * The beginning of every money script. The epoch is a literal, so every epoch has its own digests, and a server that
 * was restarted, promoted or rebuilt knows none of an older epoch. A server that was only emptied keeps its scripts;
 * there the `ep` field of each record is the second fence. Amounts are written with `digits`, because Lua's own
 * conversion loses digits above 10^14.
 */
export function prologue(epoch: number): string {
  return `local E=${epoch}
local clock=redis.call('TIME')
local now=tonumber(clock[1])*1000+math.floor(tonumber(clock[2])/1000)
local function digits(n) return string.format('%.0f',n) end
local function isAmount(s) return s~=nil and #s<=14 and string.find(s,'^%d+$')~=nil end
`
}

/**
 * Collects changes of records that the calls of a batch share, and writes each record once at the end: sums of an
 * account's fields and members of the bucket's sets. The first removal is written at once, because a full server still
 * accepts a removal and then all other writes of the same run. MAX_BATCH keeps the sums exact.
 */
export const GATHERED = `local sums,entries,leavers,hasLeft={},{},{},false
local function gather(from,key)
  local to=from[key]
  if not to then to={} from[key]=to end
  return to
end
local function add(account,field,amount)
  local S=gather(sums,account)
  S[field]=(S[field] or 0)+amount
end
local function enter(set,score,member)
  local L=gather(entries,set)
  L[#L+1]=score
  L[#L+1]=member
end
local function leave(set,member)
  if hasLeft then
    local L=gather(leavers,set)
    L[#L+1]=member
  else
    redis.call('ZREM',set,member)
    hasLeft=true
  end
end
local function writeGathered()
  for set,L in pairs(leavers) do redis.call('ZREM',set,unpack(L)) end
  for set,L in pairs(entries) do redis.call('ZADD',set,unpack(L)) end
  for account,S in pairs(sums) do
    for field,sum in pairs(S) do if sum~=0 then redis.call('HINCRBY',account,field,digits(sum)) end end
  end
end
`

/**
 * Opens an account in this epoch. Returns false when the account belongs to a newer epoch. Fields of an older
 * epoch are dropped.
 */
export const OPEN_ACCOUNT = `local function openAccount(key)
  local ep=tonumber(redis.call('HGET',key,'ep') or nil)
  if ep==E then return true end
  if ep and ep>E then return false end
  sums[key]=nil
  redis.call('DEL',key)
  redis.call('HSET',key,'ep',E,'p','0','h','0','u','0','seeded','0')
  return true
end
`

/**
 * UTC day and month of an instant as \`2026-11-21\` and \`2026-11\` (civil-from-days, proleptic Gregorian), and those
 * of the server's clock.
 */
export const CALENDAR = `local function datesOf(at)
  local z=math.floor(at/86400000)+719468
  local era=math.floor(z/146097)
  local doe=z-era*146097
  local yoe=math.floor((doe-math.floor(doe/1460)+math.floor(doe/36524)-math.floor(doe/146096))/365)
  local doy=doe-(365*yoe+math.floor(yoe/4)-math.floor(yoe/100))
  local mp=math.floor((5*doy+2)/153)
  local d=doy-math.floor((153*mp+2)/5)+1
  local m=mp<10 and mp+3 or mp-9
  local y=yoe+era*400
  if m<=2 then y=y+1 end
  local month=string.format('%04d-%02d',y,m)
  return string.format('%s-%02d',month,d),month
end
local dayNow,monthNow
local function calendar()
  if not dayNow then dayNow,monthNow=datesOf(now) end
end
`

/**
 * The counter of a key's held and used amounts in the current day (\`d\`, \`du\`) and month (\`m\`, \`mu\`). It is read
 * once a batch and written once at its end. A change counts for the day of its hold, or not at all after that day. A
 * clock that steps back over midnight stays in the later day. A call that is counted later than at its reserve counts
 * for the day of its admission, as in the ledger. Its id begins with that day.
 */
export const USE_COUNTER = `local counters={}
local function counterOf(key)
  local C=counters[key]
  if C then return C end
  local U=redis.call('HMGET',key,'ep','d','du','m','mu')
  C={ep=tonumber(U[1] or nil),d=U[2],du=tonumber(U[3] or '0'),m=U[4],mu=tonumber(U[5] or '0'),dayAdds=0,monthAdds=0}
  counters[key]=C
  return C
end
local function readUse(key)
  local C=counterOf(key)
  if C.ep and C.ep>E then return nil end
  calendar()
  local use={day=dayNow,month=monthNow,du=0,mu=0}
  if C.ep~=E then return use end
  if C.d and C.d>=use.day then use.day=C.d use.du=C.du end
  if C.m and C.m>=use.month then use.month=C.m use.mu=C.mu end
  return use
end
local DIGITS='${BASE_32}'
local function admittedAt(rid)
  local at=0
  for i=1,10 do
    local digit=string.find(DIGITS,string.sub(rid,i,i),1,true)
    if not digit then return now end
    at=at*32+digit-1
  end
  return at
end
local function readUseOf(key,at)
  local use=readUse(key)
  if not use or at>=now-now%86400000 then return use end
  use.day,use.month=datesOf(at)
  return use
end
local function countDay(C,amount) C.du=C.du+amount C.dayAdds=C.dayAdds+amount end
local function countMonth(C,amount) C.mu=C.mu+amount C.monthAdds=C.monthAdds+amount end
local function addMonth(key,month,amount)
  local C=counterOf(key)
  if C.ep~=E then C.ep=E C.isNew=true C.d=nil C.m=nil end
  if not C.m or C.m<month then C.m=month C.mu=0 C.monthAdds=0 C.turnsMonth=true end
  if C.m==month then countMonth(C,amount) end
  return C
end
local function addUse(key,use,amount)
  local C=addMonth(key,use.month,amount)
  if not C.d or C.d<use.day then C.d=use.day C.du=0 C.dayAdds=0 C.turnsDay=true end
  if C.d==use.day then countDay(C,amount) end
end
local function correctUse(key,day,month,amount)
  if amount==0 or not day then return end
  local C=counterOf(key)
  if C.ep~=E then return end
  if C.d==day then countDay(C,amount) end
  if C.m==month then countMonth(C,amount) end
end
local function writeCounters()
  for key,C in pairs(counters) do
    if C.isNew then
      redis.call('DEL',key)
      redis.call('HSET',key,'ep',E)
    end
    if C.turnsDay then redis.call('HSET',key,'d',C.d,'du',digits(C.dayAdds))
    elseif C.dayAdds~=0 then redis.call('HINCRBY',key,'du',digits(C.dayAdds)) end
    if C.turnsMonth then redis.call('HSET',key,'m',C.m,'mu',digits(C.monthAdds))
    elseif C.monthAdds~=0 then redis.call('HINCRBY',key,'mu',digits(C.monthAdds)) end
  end
end
`

/**
 * The counters of the budgets of a call, which use the month of a counter alone. `bg` of a hold has the key of each
 * counter that counts the hold, with the month in which it is counted. A script enters these functions only for a call
 * with a budget.
 */
export const BUDGETS = `local function budgetsAt(keys,at)
  local counted={}
  for key in string.gmatch(keys,'%S+') do
    local use=readUseOf(key,at)
    if not use then return nil end
    counted[#counted+1]=key..' '..use.month
  end
  return table.concat(counted,' ')
end
local function countBudgets(counted,amount)
  for key,month in string.gmatch(counted,'(%S+) (%S+)') do addMonth(key,month,amount) end
end
local function correctBudgets(counted,amount)
  for key,month in string.gmatch(counted,'(%S+) (%S+)') do
    local C=counterOf(key)
    if C.ep==E and C.m==month then countMonth(C,amount) end
  end
end
`

/**
 * Reads the fields of an operation from one argument, a line each. One string costs the client and the server less than
 * its parts. No field holds a line break: they are ids, digits and words of our own.
 */
export function readFields(count: number): string {
  return `local FIELDS='^'..string.rep('([^\\n]*)\\n',${count - 1})..'([^\\n]*)$'
`
}

/** Writes fields for {@link readFields}. */
export function writeFields(fields: readonly string[]): string {
  return fields.join('\n')
}

/** Runs one operation after the other and answers each. An error in one leaves the others alone. */
export function eachOperation(argumentsEach: number): string {
  return runEach(argumentsEach, '')
}

/** As {@link eachOperation}, for operations that collect their changes in sums, sets and counters. */
export function eachGathering(argumentsEach: number): string {
  return runEach(argumentsEach, 'writeGathered()\nwriteCounters()\n')
}

function runEach(argumentsEach: number, atEnd: string): string {
  return `local answers={}
for i=0,#ARGV/${argumentsEach}-1 do
  local ok,answer=pcall(operation,i)
  if ok then answers[i+1]=answer
  else
    if type(answer)=='table' then answer=answer.err end
    answers[i+1]='E:'..tostring(answer)
  end
end
${atEnd}return answers
`
}
