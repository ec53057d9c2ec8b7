/**
 * The beginning of every money script. The epoch is a literal, so that each epoch has its own digests and a server
 * that was restarted, promoted or rebuilt knows none of an older one; a server that was only emptied keeps its
 * scripts, and there the `ep` field of each record is the second half of the fence.
 * Amounts stay strings on their way into HINCRBY: a Lua number written as text loses digits above 10^14. A minus of
 * zero stays zero, because Redis reads no integer in `-0`.
 */
export function prologue(epoch: number): string {
  return `local E=${epoch}
local clock=redis.call('TIME')
local now=tonumber(clock[1])*1000+math.floor(tonumber(clock[2])/1000)
local function digits(n) return string.format('%.0f',n) end
local function minus(s) if s=='0' then return s end return '-'..s end
local function isAmount(s) return s~=nil and #s<=14 and string.find(s,'^%d+$')~=nil end
`
}

/** Opens an account under this epoch: false when it belongs to a newer one. What an older epoch left is dropped. */
export const OPEN_ACCOUNT = `local function openAccount(key)
  local ep=tonumber(redis.call('HGET',key,'ep') or nil)
  if ep==E then return true end
  if ep and ep>E then return false end
  redis.call('DEL',key)
  redis.call('HSET',key,'ep',E,'p','0','h','0','u','0','seeded','0')
  return true
end
`

/** UTC day and month of the server's clock as \`2026-11-21\` and \`2026-11\` (civil-from-days, proleptic Gregorian). */
export const CALENDAR = `local dayNow,monthNow
local function calendar()
  if dayNow then return end
  local z=math.floor(now/86400000)+719468
  local era=math.floor(z/146097)
  local doe=z-era*146097
  local yoe=math.floor((doe-math.floor(doe/1460)+math.floor(doe/36524)-math.floor(doe/146096))/365)
  local doy=doe-(365*yoe+math.floor(yoe/4)-math.floor(yoe/100))
  local mp=math.floor((5*doy+2)/153)
  local d=doy-math.floor((153*mp+2)/5)+1
  local m=mp<10 and mp+3 or mp-9
  local y=yoe+era*400
  if m<=2 then y=y+1 end
  monthNow=string.format('%04d-%02d',y,m)
  dayNow=string.format('%s-%02d',monthNow,d)
end
`

/**
 * The counter of what a key has held and used in the current day (\`d\`, \`du\`) and month (\`m\`, \`mu\`). A change is
 * counted to the day that its hold carries, or not at all once that day is over. A clock that steps back over
 * midnight stays in the later day.
 */
export const USE_COUNTER = `local function readUse(key)
  local U=redis.call('HMGET',key,'ep','d','du','m','mu')
  local ep=tonumber(U[1] or nil)
  if ep and ep>E then return nil end
  calendar()
  local use={fresh=ep~=E,day=dayNow,month=monthNow,du=0,mu=0}
  if use.fresh then return use end
  if U[2] and U[2]>=use.day then use.day=U[2] use.du=tonumber(U[3]) use.sameDay=true end
  if U[4] and U[4]>=use.month then use.month=U[4] use.mu=tonumber(U[5]) use.sameMonth=true end
  return use
end
local function addUse(key,use,amount)
  if use.fresh then
    redis.call('DEL',key)
    redis.call('HSET',key,'ep',E,'d',use.day,'du',amount,'m',use.month,'mu',amount)
    return
  end
  if use.sameDay then redis.call('HINCRBY',key,'du',amount) else redis.call('HSET',key,'d',use.day,'du',amount) end
  if use.sameMonth then redis.call('HINCRBY',key,'mu',amount) else redis.call('HSET',key,'m',use.month,'mu',amount) end
end
local function correctUse(key,day,month,amount)
  if amount=='0' or not day then return end
  local U=redis.call('HMGET',key,'ep','d','m')
  if tonumber(U[1] or nil)~=E then return end
  if U[2]==day then redis.call('HINCRBY',key,'du',amount) end
  if U[3]==month then redis.call('HINCRBY',key,'mu',amount) end
end
`

/**
 * Reads the fields of an operation off one argument, a line each: a string costs the client and the server less than
 * its parts. None of them holds a line break: they are ids, digits and words of our own.
 */
export function readFields(count: number): string {
  return `local FIELDS='^'..string.rep('([^\\n]*)\\n',${count - 1})..'([^\\n]*)$'
`
}

/** The other side of {@link readFields}. */
export function writeFields(fields: readonly string[]): string {
  return fields.join('\n')
}

/** Runs one operation after the other and answers each by itself: an error in one leaves the others alone. */
export function eachOperation(argumentsEach: number): string {
  return `local answers={}
for i=0,#ARGV/${argumentsEach}-1 do
  local ok,answer=pcall(operation,i)
  if ok then answers[i+1]=answer
  else
    if type(answer)=='table' then answer=answer.err end
    answers[i+1]='E:'..tostring(answer)
  end
end
return answers
`
}
