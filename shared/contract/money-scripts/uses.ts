import { HOUR, utcDay } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobOfEnd, readUsageEvent } from '#shared/contract/usage-event.ts'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd, ZERO } from '#shared/money.ts'
import type { ScriptBatch } from './batch.ts'
import { answersOf } from './batch.ts'
import { CALENDAR, eachOperation, prologue } from './prologue.ts'

/** Longer than any remainder of a day. An unsettled take counts until its day is over. */
const BROUGHT_TTL_MS = 26 * HOUR

/** The amount that a key or an offer had used at one instant, by the ledger. */
export type UseSeed = {
  /** Redis key of the counter, of an API key or of an offer's cap. */
  readonly counter: string
  /** Unix milliseconds by the clock of Postgres. The seed holds exactly the earlier postings. */
  readonly postedBefore: number
  /** `2026-11-21` and `2026-11`, UTC. */
  readonly day: string
  readonly dayMicro: MicroUsd
  readonly month: string
  readonly monthMicro: MicroUsd
}

/**
 * Adds the ledger's figure to a counter once an epoch. Held and captured calls stay counted, and those posted in this
 * epoch are left to the ledger's figure. Without a day it only marks the instant from which the seed lacks postings. A
 * counter in use needs that mark before the ledger is read.
 */
export function seedUseScript(epoch: number): string {
  return `${prologue(epoch)}local key,at,day,du,month,mu=KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4],ARGV[5]
local U=redis.call('HMGET',key,'ep','sd','sa','d','m','pd','dp','pm','mp')
local ep=tonumber(U[1] or nil)
if ep and ep>E then return {'S'} end
if ep~=E then
  redis.call('DEL',key)
  redis.call('HSET',key,'ep',E)
  U={}
end
if U[3] then return {'K'} end
if not U[2] then redis.call('HSET',key,'sd',at) end
if day=='' then return {'M:'..(U[2] or at)..':'..digits(now)} end
local function seed(periodField,field,stored,period,amount,notedPeriod,noted)
  if not stored or stored<period then redis.call('HSET',key,periodField,period,field,amount)
  elseif stored==period then
    if notedPeriod==period then amount=digits(tonumber(amount)-tonumber(noted)) end
    redis.call('HINCRBY',key,field,amount)
  end
end
seed('d','du',U[4],day,du,U[6],U[7])
seed('m','mu',U[5],month,mu,U[8],U[9])
redis.call('HSET',key,'sa','1')
return {'K'}
`
}

export function encodeSeedUse(seed: UseSeed): ScriptBatch {
  const { counter, postedBefore, day, dayMicro, month, monthMicro } = seed
  return { keys: [counter], args: [postedBefore.toString(), day, dayMicro.toString(), month, monthMicro.toString()] }
}

/** The first half of a seed for a counter in use. */
export function encodeMarkUse(counter: string, postedBefore: number): ScriptBatch {
  return { keys: [counter], args: [postedBefore.toString(), '', '', '', ''] }
}

/** The instant up to which the ledger is read for a counter, and the server's clock. Both are Unix milliseconds. */
export type UseMark = { readonly postedBefore: number; readonly now: number }

/** Reads the mark of a counter. Undefined when the counter has its seed. Throws an Error for any other answer. */
export function decodeMarkUse(reply: unknown): UseMark | undefined {
  const [answer = ''] = answersOf(reply, 1)
  if (answer === 'K') return undefined
  const match = /^M:(\d+):(\d+)$/.exec(answer)
  if (!match) throw new Error(`a counter could not be marked: ${answer.slice(0, 200)}`)
  return { postedBefore: Number(match[1]), now: Number(match[2]) }
}

/**
 * A take past its deadline belongs to a dead process. It is dropped when the cap is full or the day ends. A negative
 * zero stays `0`, because Redis reads no integer in `-0`.
 */
const DROP_EXPIRED = `local function minus(s) if s=='0' then return s end return '-'..s end
local function dropExpired(key,day)
  local all=redis.call('HGETALL',key)
  local freed=0
  for i=1,#all,2 do
    if string.sub(all[i],1,2)=='t:' then
      local amount,deadline,taken=string.match(all[i+1],'^(%d+)|(%d+)|(.+)$')
      if tonumber(deadline)<now then
        redis.call('HDEL',key,all[i])
        if taken==day then
          freed=freed+tonumber(amount)
          redis.call('HINCRBY',key,'du',minus(amount))
        end
      end
    end
  end
  return freed
end
`

/**
 * Takes from an offer's cap of the current UTC day. An empty cap takes any amount, for takes that are brought into an
 * epoch. Such a take counts for the day of its admission, or not at all after that day.
 */
export function capTakeScript(epoch: number): string {
  return `${prologue(epoch)}${CALENDAR}${DROP_EXPIRED}local key=KEYS[1]
local attempt,amount,ttl,cap,granted=ARGV[1],ARGV[2],ARGV[3],ARGV[4],ARGV[5]
if not isAmount(amount) then return {'E:amount'} end
local U=redis.call('HMGET',key,'ep','d','du','t:'..attempt)
local ep=tonumber(U[1] or nil)
if ep and ep>E then return {'S'} end
calendar()
if cap=='' and granted<dayNow then return {'K'} end
local day,used=dayNow,0
if ep==E then
  if U[4] then return {'K'} end
  if U[2] and U[2]>=day then
    day=U[2]
    used=tonumber(U[3])
  end
end
local rolls=ep==E and U[2]~=day
if cap~='' and used+tonumber(amount)>tonumber(cap) then
  if ep==E and not rolls then used=used-dropExpired(key,day) end
  if used+tonumber(amount)>tonumber(cap) then return {'F:'..digits(used)} end
end
if ep~=E then
  redis.call('DEL',key)
  redis.call('HSET',key,'ep',E,'d',day,'du','0')
elseif rolls then
  dropExpired(key,'')
  redis.call('HSET',key,'d',day,'du','0')
end
redis.call('HSET',key,'t:'..attempt,amount..'|'..digits(now+tonumber(ttl))..'|'..day)
redis.call('HINCRBY',key,'du',amount)
return {'K'}
`
}

/** Settles takes of one offer to the charged amounts. A settled or expired take stays as it is. */
export function capSettleScript(epoch: number): string {
  return `${prologue(epoch)}local key=KEYS[1]
local function operation(i)
  local attempt,used=ARGV[i*2+1],ARGV[i*2+2]
  if not isAmount(used) then return 'E:amount' end
  local U=redis.call('HMGET',key,'ep','d','t:'..attempt)
  local ep=tonumber(U[1] or nil)
  if ep and ep>E then return 'S' end
  if ep~=E or not U[3] then return 'K' end
  local amount,_,taken=string.match(U[3],'^(%d+)|(%d+)|(.+)$')
  redis.call('HDEL',key,'t:'..attempt)
  if taken==U[2] then redis.call('HINCRBY',key,'du',digits(tonumber(used)-tonumber(amount))) end
  return 'K'
end
${eachOperation(2)}`
}

/**
 * Counts a capture that is brought by a process other than the one that took its amount. An unsettled take is settled
 * and kept, so that this may run again. Without a take only a late capture counts, because the takes of an epoch end
 * with it.
 */
export function capCountScript(epoch: number): string {
  return `${prologue(epoch)}${CALENDAR}local key=KEYS[1]
local attempt,used,day,ttl,late=ARGV[1],ARGV[2],ARGV[3],ARGV[4],ARGV[5]
if not isAmount(used) then return {'E:amount'} end
local U=redis.call('HMGET',key,'ep','d','t:'..attempt)
local ep=tonumber(U[1] or nil)
if ep and ep>E then return {'S'} end
calendar()
local take=ep==E and U[3]
if not take and late=='' then return {'K'} end
if day<dayNow or (ep==E and U[2] and U[2]>day) then return {'K'} end
if ep~=E then
  redis.call('DEL',key)
  redis.call('HSET',key,'ep',E,'d',day,'du','0')
elseif U[2]~=day then
  redis.call('HSET',key,'d',day,'du','0')
end
local amount,_,taken=string.match(take or '','^(%d+)|(%d+)|(.+)$')
if taken~=day then amount='0' end
redis.call('HSET',key,'t:'..attempt,used..'|'..digits(now+tonumber(ttl))..'|'..day)
redis.call('HINCRBY',key,'du',digits(tonumber(used)-tonumber(amount)))
return {'K'}
`
}

export type CapTake = {
  readonly offer: string
  readonly attempt: string
  readonly amountMicro: MicroUsd
  readonly ttlMs: number
  /** Null brings a take that was granted in an earlier epoch. */
  readonly capMicro: MicroUsd | null
  /** Unix milliseconds of the admission. */
  readonly takenAt: number
}

export function encodeCapTake({ offer, attempt, amountMicro, ttlMs, capMicro, takenAt }: CapTake): ScriptBatch {
  const granted = capMicro === null ? utcDay(takenAt) : ''
  const args = [attempt, amountMicro.toString(), ttlMs.toString(), capMicro?.toString() ?? '', granted]
  return { keys: [moneyKeys.offerCap(offer)], args }
}

export function encodeCapSettle(offer: string, attempt: string, usedMicro: MicroUsd): ScriptBatch {
  return { keys: [moneyKeys.offerCap(offer)], args: [attempt, usedMicro.toString()] }
}

/** The amount that a captured call used of its offer's cap. */
export type CapUse = {
  readonly rid: string
  readonly offer: string
  /** The id under which its node took it. */
  readonly attempt: string
  readonly chargeMicro: MicroUsd
  /** Unix milliseconds of the admission. */
  readonly takenAt: number
}

/**
 * Reads the use from a captured event. Undefined without one. A job counts with its quote, so its end counts nothing.
 */
export function capUseOf(text: string): CapUse | undefined {
  const event = readUsageEvent(text)
  if (!event?.offer || event.chargeMicro === ZERO || jobOfEnd(event.rid) !== undefined) return undefined
  const { rid, offer, chargeMicro, startedAt: takenAt, attempts } = event
  return { rid, offer, attempt: `${rid}.${attempts.length - 1}`, chargeMicro, takenAt }
}

/** A take that is brought into an epoch. It was granted before, so it counts whatever the cap is. */
export function broughtTake({ offer, attempt, chargeMicro, takenAt }: CapUse): CapTake {
  return { offer, attempt, amountMicro: chargeMicro, ttlMs: BROUGHT_TTL_MS, capMicro: null, takenAt }
}

/** Counts for the day of the admission, or not at all after that day. */
export function encodeCapCount({ offer, attempt, chargeMicro, takenAt }: CapUse, isLate: boolean): ScriptBatch {
  const args = [attempt, chargeMicro.toString(), utcDay(takenAt), BROUGHT_TTL_MS.toString(), isLate ? '1' : '']
  return { keys: [moneyKeys.offerCap(offer)], args }
}

/** Parses whether a take fitted. Throws an Error for any other answer. */
export function decodeCapTake(reply: unknown): 'taken' | 'full' | 'stale' {
  const [answer = ''] = answersOf(reply, 1)
  if (answer === 'K') return 'taken'
  if (answer.startsWith('F:')) return 'full'
  if (answer === 'S') return 'stale'
  throw new Error(`the cap script failed: ${answer.slice(2, 200)}`)
}

/** The amount that an offer has used and holds today, from the fields `d` and `du` of its counter. */
export function usedToday(day: string | null, usedMicro: string | null, today: string): MicroUsd {
  return parseMicroUsd(day !== null && day >= today ? (usedMicro ?? '0') : '0')
}
