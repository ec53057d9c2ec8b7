import type { Redis } from 'ioredis'

/** A hash as Redis answers it; a field may be missing. */
type Fields = Readonly<Record<string, string | undefined>>

/** An account in the spending gate: micro-USD posted, held by open calls, and captured but not posted. */
export type GateRecord = {
  readonly account: string
  readonly posted: bigint
  readonly held: bigint
  readonly unposted: bigint
  readonly version: bigint
  readonly isSeeded: boolean
}

export type GateHold = {
  readonly rid: string
  readonly state: string
  readonly account: string
  readonly amount: bigint
  readonly used: bigint
  /** The instant at which an open hold expires, in Unix milliseconds by the clock of Redis. */
  readonly expiresAt: number
  readonly hasEvent: boolean
  /** The charge in its usage event, which answers look-ups. Undefined without an event. */
  readonly lookupCost: bigint | undefined
}

/** Everything that the gate holds under its present epoch. */
export type GateState = {
  /** `E:open` and the like; undefined while Redis is empty. */
  readonly epoch: string | undefined
  readonly accounts: ReadonlyMap<string, GateRecord>
  readonly holds: readonly GateHold[]
  /** Request ids in the set of deadlines and in the set of unposted captures. */
  readonly expiring: ReadonlySet<string>
  readonly waiting: ReadonlySet<string>
  /** The used and held amount of today of each offer with a cap. */
  readonly offerUse: ReadonlyMap<string, { readonly day: string; readonly used: bigint }>
}

const SCAN_COUNT = 1_000

/** Reads the gate. Calls that end meanwhile can make the parts disagree, so read at rest or read again. */
export async function readGate(redis: Redis): Promise<GateState> {
  const epoch = (await redis.get('m:epoch')) ?? undefined
  const number = epoch?.split(':')[0] ?? ''
  const accounts = new Map<string, GateRecord>()
  for (const [key, hash] of await readHashes(redis, '{m*}:a:*')) {
    if (hash['ep'] === number) accounts.set(nameIn(key, ':a:'), accountOf(nameIn(key, ':a:'), hash))
  }
  const holds: GateHold[] = []
  for (const [key, hash] of await readHashes(redis, '{m*}:h:*')) {
    if (hash['ep'] === number) holds.push(holdOf(nameIn(key, ':h:'), hash))
  }
  const offerUse = new Map<string, { day: string; used: bigint }>()
  for (const [key, hash] of await readHashes(redis, '{ofr_*}:cap')) {
    if (hash['ep'] !== number) continue
    offerUse.set(key.slice(1, key.indexOf('}')), { day: hash['d'] ?? '', used: BigInt(hash['du'] ?? 0) })
  }
  return {
    epoch,
    accounts,
    holds,
    offerUse,
    expiring: await readMembers(redis, `{m*}:z:exp:${number}`),
    waiting: await readMembers(redis, `{m*}:z:unack:${number}`),
  }
}

function accountOf(account: string, hash: Fields): GateRecord {
  return {
    account,
    posted: BigInt(hash['p'] ?? 0),
    held: BigInt(hash['h'] ?? 0),
    unposted: BigInt(hash['u'] ?? 0),
    version: BigInt(hash['ver'] ?? 0),
    isSeeded: hash['seeded'] === '1',
  }
}

function holdOf(rid: string, hash: Fields): GateHold {
  const cost = /"chargeMicro":"(\d+)"/.exec(hash['ev'] ?? '')?.[1]
  return {
    rid,
    state: hash['st'] ?? '',
    account: hash['acct'] ?? '',
    amount: BigInt(hash['amt'] ?? 0),
    used: BigInt(hash['used'] ?? 0),
    expiresAt: Number(hash['exp'] ?? 0),
    hasEvent: hash['ev'] !== undefined,
    lookupCost: cost === undefined ? undefined : BigInt(cost),
  }
}

function nameIn(key: string, separator: string): string {
  return key.slice(key.indexOf(separator) + separator.length)
}

async function scan(redis: Redis, pattern: string): Promise<string[]> {
  const keys = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    for (const key of page) keys.add(key)
    cursor = next
  } while (cursor !== '0')
  return [...keys]
}

async function readHashes(redis: Redis, pattern: string): Promise<[string, Fields][]> {
  const keys = await scan(redis, pattern)
  const hashes: [string, Fields][] = []
  for (let start = 0; start < keys.length; start += SCAN_COUNT) {
    const page = keys.slice(start, start + SCAN_COUNT)
    const found = await Promise.all(page.map((key) => redis.hgetall(key)))
    for (const [index, key] of page.entries()) {
      const hash = found[index]
      // A key that expired since the scan reads as empty.
      if (hash !== undefined && Object.keys(hash).length > 0) hashes.push([key, hash])
    }
  }
  return hashes
}

async function readMembers(redis: Redis, pattern: string): Promise<Set<string>> {
  const members = new Set<string>()
  for (const key of await scan(redis, pattern)) for (const member of await redis.zrange(key, 0, -1)) members.add(member)
  return members
}

/** Jobs of the usage queue by state, without the states that do not matter here. */
export async function countJobs(redis: Redis, queue = 'bull:usage'): Promise<Record<string, number>> {
  const [wait, paused, active, delayed, prioritized, failed] = await Promise.all([
    redis.llen(`${queue}:wait`),
    redis.llen(`${queue}:paused`),
    redis.llen(`${queue}:active`),
    redis.zcard(`${queue}:delayed`),
    redis.zcard(`${queue}:prioritized`),
    redis.zcard(`${queue}:failed`),
  ])
  return { wait, paused, active, delayed, prioritized, failed }
}
