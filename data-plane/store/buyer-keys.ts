import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { AccountPayer } from '#data-plane/payment.ts'
import { hashApiKey, isWellFormedKey, keyTypeOf } from '#shared/api-key.ts'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { AccountPolicy, KeyRecord } from '#shared/contract/key-record.ts'
import { AccountPolicySchema, KeyRecordSchema } from '#shared/contract/key-record.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { DocumentEnvelopeSchema } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'
import type { Subscriptions } from '#shared/subscriptions.ts'
import type { KnownKey, KnownKeys } from './known-keys.ts'
import { createKnownKeys } from './known-keys.ts'

const POLL_MS = 5 * SECOND
const RETRY_SECONDS = 2

/** Keys in memory, calls that found their key there, and calls that looked it up in Redis. */
export type KeyFigures = { readonly known: number; readonly hits: number; readonly lookups: number }

export type BuyerKeyStore = {
  /** Throws AppError: `invalid_api_key`, `wrong_key_type`, `key_frozen`, `service_unavailable`. */
  identify(key: string): Promise<AccountPayer>
  /** The label and the expiry of an identified key, for its owner. */
  aboutOf(key: string): Pick<KeyRecord, 'label' | 'expiresAt'>
  figures(): KeyFigures
  start(): Promise<void>
  close(): void
}

type Parts = {
  readonly redis: Redis
  readonly subscriptions: Subscriptions
  readonly clock: Clock
  readonly pepper: Secret
}

/**
 * Buyers' keys by their HMAC. A key stays in memory after its first use. Revocations are pushed over a channel. As a
 * backup, the versions of the key store and of the accounts' documents are read every 5 s. While the store is empty or
 * out of reach, an unknown key gets `service_unavailable`, because it may be valid.
 */
export function createBuyerKeys(parts: Parts): BuyerKeyStore {
  const { redis, subscriptions, clock } = parts
  const knownKeys = createKnownKeys()
  let version: string | undefined
  let timer: NodeJS.Timeout | undefined
  let hits = 0
  let lookups = 0

  async function pollVersion(): Promise<void> {
    const now = (await redis.mget(cacheKeys.keysVersion, cacheKeys.accountsVersion)).join(' ')
    if (now !== version) knownKeys.markStale()
    version = now
  }

  return {
    async identify(key) {
      // A plain digest finds a known key several times faster than the HMAC, and never leaves this process.
      const digest = hash('sha256', key, 'base64')
      const entry = knownKeys.find(digest)
      if (entry !== undefined && !entry.isStale) {
        hits++
        return check(entry, clock.now())
      }
      if (entry === undefined) checkForm(key)
      lookups++
      try {
        return check(await lookUp(parts, knownKeys, key, digest), clock.now())
      } catch (thrown) {
        const isAway = thrown instanceof AppError && thrown.code === 'service_unavailable'
        if (isAway && entry !== undefined) return check(entry, clock.now())
        throw thrown
      }
    },
    aboutOf(key) {
      const record = knownKeys.find(hash('sha256', key, 'base64'))?.record
      return { label: record?.label ?? '', expiresAt: record?.expiresAt ?? null }
    },
    figures: () => ({ known: knownKeys.size(), hits, lookups }),
    async start() {
      const forget = (hmacs: readonly string[]) => {
        for (const hmac of hmacs) knownKeys.forget(hmac)
      }
      const markStale = (names: readonly string[]) => {
        for (const name of names) if (name.startsWith('account:')) knownKeys.markStale(name.slice('account:'.length))
      }
      const doubtAll = () => knownKeys.markStale()
      subscriptions.listen(CHANNELS.keys, forget, doubtAll)
      subscriptions.listen(CHANNELS.snapshot, markStale, doubtAll)
      timer = setInterval(() => void pollVersion().catch(() => undefined), POLL_MS)
      await pollVersion().catch(() => undefined)
    },
    close: () => clearInterval(timer),
  }
}

/** Refuses a text that cannot be a buyer key, without a look-up. */
function checkForm(key: string): void {
  const type = keyTypeOf(key)
  if (type === 'seller' || type === 'management') throw new AppError('wrong_key_type')
  if (!isWellFormedKey(key)) throw new AppError('invalid_api_key')
}

function check({ record, payer }: KnownKey, now: number): AccountPayer {
  if (record.type !== 'buyer') throw new AppError('wrong_key_type')
  if (record.isRevoked || (record.expiresAt !== null && record.expiresAt <= now)) throw new AppError('invalid_api_key')
  if (record.isFrozen) throw new AppError('key_frozen')
  return payer
}

async function lookUp({ redis, pepper }: Parts, knownKeys: KnownKeys, key: string, digest: string): Promise<KnownKey> {
  const hmac = hashApiKey(key, pepper)
  const turn = knownKeys.turn()
  try {
    const [text, filled] = await Promise.all([redis.hget(cacheKeys.keys, hmac), redis.get(cacheKeys.keysVersion)])
    if (text === null) {
      knownKeys.forget(hmac)
      if (filled === null) throw new AppError('service_unavailable', { retryAfterSeconds: RETRY_SECONDS })
      throw new AppError('invalid_api_key')
    }
    const record = KeyRecordSchema.parse(JSON.parse(text))
    const policy = await redis.get(cacheKeys.account(record.account))
    const payer = toPayer(record, policy === null ? undefined : readPolicy(policy))
    // A change that was announced meanwhile may concern this key. Then the entry is stale from the start.
    const entry = { hmac, record, payer, isStale: knownKeys.turn() !== turn }
    knownKeys.remember(digest, entry)
    return entry
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: RETRY_SECONDS })
  }
}

/** Reads an account's policy, with or without the envelope of a snapshot document. */
function readPolicy(text: string): AccountPolicy {
  const body: unknown = JSON.parse(text)
  const envelope = DocumentEnvelopeSchema.safeParse(body)
  return AccountPolicySchema.parse(envelope.success ? envelope.data.body : body)
}

/**
 * Makes the payer from a key and its account's policy. Both discount floors and both block lists apply; for untrusted
 * offers the key's choice has precedence over the account's.
 */
function toPayer(record: KeyRecord, policy: AccountPolicy | undefined): AccountPayer {
  const { id, account } = record
  if (!isId('key', id) || !isId('acc', account)) throw new AppError('internal_error')
  return {
    account,
    keyId: id,
    wallet: record.wallet,
    floorPercents: [record.minDiscountPct ?? undefined, policy?.minDiscountPct ?? undefined],
    providersBlocked: [...record.providersBlocked, ...(policy?.providersBlocked ?? [])],
    allowsUntrusted: record.allowsUntrusted ?? policy?.allowsUntrusted,
    modelsAllowed: record.modelsAllowed,
    caps: {
      dailyMicro: record.capDailyMicro,
      monthlyMicro: record.capMonthlyMicro,
      ...(record.budgets && { budgets: record.budgets }),
    },
    ratePerMinute: record.ratePerMinute,
    ownProviders: policy?.ownProviders ?? [],
  }
}
