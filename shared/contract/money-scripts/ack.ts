import type { MicroUsd } from '#shared/money.ts'
import { moneyKeys } from '../redis-keys.ts'
import type { Batch, Place } from './batch.ts'
import { eachOperation, OPEN_ACCOUNT, prologue } from './prologue.ts'
import { ENDED_HOLD_TTL_MS } from './settle.ts'

/**
 * A balance as the ledger has it, with the call whose posting made it so, if any. The balance counts only when its
 * version is newer than the gate's; a call stops counting as unposted exactly once, when its hold leaves `captured`.
 */
export type AckOperation = {
  readonly account: string
  readonly balanceMicro: MicroUsd
  readonly version: bigint
  readonly rid: string | null
  /** Unix milliseconds at which the call was posted, for a look-up; null where another event stands. */
  readonly postedAt: number | null
}

const ARGUMENTS = 5

export function ackScript(epoch: number): string {
  return `${prologue(epoch)}${OPEN_ACCOUNT}local function operation(i)
  local k,a=2+i*2,i*${ARGUMENTS}
  local account,hold=KEYS[k+1],KEYS[k+2]
  local rid,balance,version,postedAt,ttl=ARGV[a+1],ARGV[a+2],ARGV[a+3],ARGV[a+4],ARGV[a+5]
  if not isAmount(balance) or not string.find(version,'^%d+$') then return 'E:amount' end
  local A=redis.call('HMGET',account,'ep','ver')
  local ep,stored=tonumber(A[1] or nil),A[2]
  if ep and ep>E then return 'S' end
  redis.call('ZREM',KEYS[2],rid)
  if ep~=E then
    openAccount(account)
    stored=nil
  end
  if rid~='' then
    local H=redis.call('HMGET',hold,'ep','st','used')
    if tonumber(H[1] or nil)==E and H[2]=='captured' then
      redis.call('HINCRBY',account,'u',minus(H[3]))
      if postedAt=='' then redis.call('HSET',hold,'st','posted') else redis.call('HSET',hold,'st','posted','pa',postedAt) end
      redis.call('PEXPIRE',hold,ttl)
    end
  end
  if not stored or tonumber(version)>tonumber(stored) then
    redis.call('HSET',account,'p',balance,'ver',version,'seeded','1')
  end
  return 'K'
end
${eachOperation(ARGUMENTS)}`
}

/** The keys and arguments of one batch; all accounts lie in one bucket. The tombstone's life is in milliseconds. */
export function encodeAck(place: Place, operations: readonly AckOperation[], tombstoneMs = ENDED_HOLD_TTL_MS): Batch {
  const { bucket, epoch } = place
  const keys = [moneyKeys.expiring(bucket, epoch), moneyKeys.unposted(bucket, epoch)]
  const args: string[] = []
  for (const { account, balanceMicro, version, rid, postedAt } of operations) {
    const accountKey = moneyKeys.account(bucket, account)
    keys.push(accountKey, rid === null ? accountKey : moneyKeys.hold(bucket, rid))
    args.push(
      rid ?? '',
      balanceMicro.toString(),
      version.toString(),
      postedAt?.toString() ?? '',
      tombstoneMs.toString(),
    )
  }
  return { keys, args }
}
