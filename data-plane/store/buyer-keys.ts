import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
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
import type { Payer } from '../call.ts'
import type { Subscriptions } from './subscriptions.ts'

const POLL_MS = 5 * SECOND
/** Keys in memory; past it the oldest go. */
const MAX_KNOWN = 50_000
const RETRY_SECONDS = 2

type Known = {
  readonly hmac: string
  readonly record: KeyRecord
  readonly payer: Payer
  /** Must be read again before its next use; the old one serves while Redis is out of reach. */
  isStale: boolean
}

export type BuyerKeyStore = {
  /** Throws AppError: `invalid_api_key`, `wrong_key_type`, `service_unavailable`. */
  identify(key: string): Promise<Payer>
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
 * Buyers' keys by their HMAC, kept in memory after the first use. A revocation is pushed over a channel; the version of
 * the key store, read every 5 s, backs that up. While the store is empty or away a key that is not known is not invalid:
 * nobody can say.
 */
export function createBuyerKeys({ redis, subscriptions, clock, pepper }: Parts): BuyerKeyStore {
  /** By a plain digest of the key: several times cheaper than the HMAC, and never leaves this process. */
  const known = new Map<string, Known>()
  const digestByHmac = new Map<string, string>()
  let version: string | null = null
  let timer: NodeJS.Timeout | undefined

  function forget(hmac: string): void {
    const digest = digestByHmac.get(hmac)
    if (digest === undefined) return
    digestByHmac.delete(hmac)
    known.delete(digest)
  }

  function remember(digest: string, entry: Known): void {
    if (known.size >= MAX_KNOWN) {
      const oldest = known.values().next()
      if (!oldest.done) forget(oldest.value.hmac)
    }
    known.set(digest, entry)
    digestByHmac.set(entry.hmac, digest)
  }

  function markStale(account?: string): void {
    for (const entry of known.values())
      if (account === undefined || entry.record.account === account) entry.isStale = true
  }

  async function pollVersion(): Promise<void> {
    const now = await redis.get(cacheKeys.keysVersion)
    if (now === version) return
    version = now
    markStale()
  }

  async function lookUp(key: string, digest: string): Promise<Known> {
    const hmac = hashApiKey(key, pepper)
    const [text, filled] = await redis
      .pipeline()
      .hget(cacheKeys.keys, hmac)
      .get(cacheKeys.keysVersion)
      .exec()
      .then((answers) => [textOf(answers?.[0]), textOf(answers?.[1])])
      .catch((cause: unknown) => {
        throw new AppError('service_unavailable', { cause, retryAfterSeconds: RETRY_SECONDS })
      })
    if (text === undefined) {
      forget(hmac)
      if (filled === undefined) throw new AppError('service_unavailable', { retryAfterSeconds: RETRY_SECONDS })
      throw new AppError('invalid_api_key')
    }
    const record = KeyRecordSchema.parse(JSON.parse(text))
    const entry = { hmac, record, payer: await readPayer(record), isStale: false }
    remember(digest, entry)
    return entry
  }

  async function readPayer(record: KeyRecord): Promise<Payer> {
    const text = await redis.get(cacheKeys.account(record.account))
    return toPayer(record, text === null ? undefined : readPolicy(text))
  }

  function check({ record, payer }: Known): Payer {
    if (record.type !== 'buyer') throw new AppError('wrong_key_type')
    if (record.isRevoked || (record.expiresAt !== null && record.expiresAt <= clock.now())) {
      throw new AppError('invalid_api_key')
    }
    return payer
  }

  return {
    async identify(key) {
      const digest = hash('sha256', key, 'base64')
      const entry = known.get(digest)
      if (entry !== undefined && !entry.isStale) return check(entry)
      if (entry === undefined) {
        const type = keyTypeOf(key)
        if (type === 'seller' || type === 'management') throw new AppError('wrong_key_type')
        // The checksum says that it was never issued: that needs no look-up.
        if (!isWellFormedKey(key)) throw new AppError('invalid_api_key')
      }
      try {
        return check(await lookUp(key, digest))
      } catch (thrown) {
        const isAway = thrown instanceof AppError && thrown.code === 'service_unavailable'
        if (isAway && entry !== undefined) return check(entry)
        throw thrown
      }
    },
    async start() {
      subscriptions.on(CHANNELS.keys, (hmacs) => {
        for (const hmac of hmacs) forget(hmac)
      })
      subscriptions.on(CHANNELS.snapshot, (names) => {
        for (const name of names) if (name.startsWith('account:')) markStale(name.slice('account:'.length))
      })
      timer = setInterval(() => void pollVersion().catch(() => undefined), POLL_MS)
      await pollVersion().catch(() => undefined)
    },
    close: () => clearInterval(timer),
  }
}

function textOf(answer: [error: Error | null, result: unknown] | undefined): string | undefined {
  if (answer?.[0]) throw answer[0]
  return typeof answer?.[1] === 'string' ? answer[1] : undefined
}

/** Reads an account's policy, with or without the envelope of a snapshot document. */
function readPolicy(text: string): AccountPolicy {
  const body: unknown = JSON.parse(text)
  const envelope = DocumentEnvelopeSchema.safeParse(body)
  return AccountPolicySchema.parse(envelope.success ? envelope.data.body : body)
}

/** The payer that a key and its account's preferences make: floors and block lists add up, the key's trust wins. */
function toPayer(record: KeyRecord, policy: AccountPolicy | undefined): Payer {
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
    caps: { dailyMicro: record.capDailyMicro, monthlyMicro: record.capMonthlyMicro },
    ratePerMinute: record.ratePerMinute,
  }
}
