import { z } from 'zod'
import type { LogLevel } from '#shared/logger.ts'
import { LOG_LEVELS } from '#shared/logger.ts'
import type { KeptBps } from '#shared/money.ts'
import { keptBps } from '#shared/money.ts'
import type { KeyRing } from '#shared/seal.ts'
import { parseKeyRing } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'

/** Everything the control plane is told from outside. */
export type Config = {
  readonly isProduction: boolean
  readonly host: string
  readonly port: number
  readonly databaseUrl: Secret
  /** Most connections to Postgres of this process. */
  readonly databasePool: number
  /** Money, queues. */
  readonly redisUrl: Secret
  /** Snapshot, keys, limits; the same instance unless set. */
  readonly redisCacheUrl: Secret
  readonly moneyBuckets: number
  readonly baseUrl: string
  readonly apiBaseUrl: string
  readonly keyRing: KeyRing
  readonly keyPepper: Secret
  readonly fingerprintPepper: Secret
  readonly sessionSecret: Secret
  readonly platformFeeBps: KeptBps
  readonly allowsLoopbackUpstreams: boolean
  /** True lets GraphQL be asked for its schema. */
  readonly allowsIntrospection: boolean
  readonly logLevel: LogLevel
}

const MIN_SECRET_CHARS = 16

const secret = (name: string) =>
  z
    .string(`${name} is required`)
    .min(MIN_SECRET_CHARS, `${name} has at least ${MIN_SECRET_CHARS} characters`)
    .transform((text) => new Secret(text))

const Flag = z
  .enum(['0', '1', 'true', 'false', ''])
  .optional()
  .transform((text) => text === '1' || text === 'true')

const number = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback)

const origin = (fallback: string) =>
  z
    .url()
    .default(fallback)
    .transform((url) => url.replace(/\/+$/, ''))

const Environment = z.object({
  NODE_ENV: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: number(8_403, 0, 65_535),
  DATABASE_URL: z.string('DATABASE_URL is required').regex(/^postgres(ql)?:\/\//, 'DATABASE_URL is a postgres:// URL'),
  DATABASE_POOL: number(10, 2, 200),
  REDIS_URL: z.string('REDIS_URL is required').regex(/^rediss?:\/\//, 'REDIS_URL is a redis:// URL'),
  REDIS_CACHE_URL: z
    .string()
    .regex(/^(rediss?:\/\/.*)?$/, 'REDIS_CACHE_URL is a redis:// URL')
    .optional(),
  MONEY_BUCKETS: number(1, 1, 64),
  BASE_URL: origin('http://127.0.0.1:8402'),
  API_BASE_URL: origin('http://127.0.0.1:8402'),
  CREDENTIAL_KEYS: z.string('CREDENTIAL_KEYS is required').transform((text, context) => {
    try {
      return parseKeyRing(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'not a key ring' })
      return z.NEVER
    }
  }),
  KEY_PEPPER: secret('KEY_PEPPER'),
  FINGERPRINT_PEPPER: secret('FINGERPRINT_PEPPER'),
  SESSION_SECRET: secret('SESSION_SECRET'),
  PLATFORM_FEE_BPS: number(500, 0, 10_000).transform(keptBps),
  ALLOW_LOOPBACK_UPSTREAMS: Flag,
  ALLOW_INTROSPECTION: Flag,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
})

/**
 * Reads the environment. Throws an Error that names each variable that is missing or wrong, without its value, and
 * refuses development switches in production.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const parsed = Environment.safeParse(environment)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new Error(`the configuration is not valid:\n  ${problems.join('\n  ')}`)
  }
  const found = parsed.data
  const isProduction = found.NODE_ENV === 'production'
  if (isProduction && found.ALLOW_LOOPBACK_UPSTREAMS) {
    throw new Error('ALLOW_LOOPBACK_UPSTREAMS is for development and refuses to start in production')
  }
  return {
    isProduction,
    host: found.HOST,
    port: found.PORT,
    databaseUrl: new Secret(found.DATABASE_URL),
    databasePool: found.DATABASE_POOL,
    redisUrl: new Secret(found.REDIS_URL),
    redisCacheUrl: new Secret(found.REDIS_CACHE_URL || found.REDIS_URL),
    moneyBuckets: found.MONEY_BUCKETS,
    baseUrl: found.BASE_URL,
    apiBaseUrl: found.API_BASE_URL,
    keyRing: found.CREDENTIAL_KEYS,
    keyPepper: found.KEY_PEPPER,
    fingerprintPepper: found.FINGERPRINT_PEPPER,
    sessionSecret: found.SESSION_SECRET,
    platformFeeBps: found.PLATFORM_FEE_BPS,
    allowsLoopbackUpstreams: found.ALLOW_LOOPBACK_UPSTREAMS,
    allowsIntrospection: isProduction ? found.ALLOW_INTROSPECTION : true,
    logLevel: found.LOG_LEVEL,
  }
}
