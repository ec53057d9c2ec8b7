import { hostname } from 'node:os'
import { z } from 'zod'
import type { LogLevel } from '#shared/logger.ts'
import { LOG_LEVELS } from '#shared/logger.ts'
import type { KeyRing } from '#shared/seal.ts'
import { parseKeyRing } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'

/** Everything the data plane is told from outside. */
export type Config = {
  readonly isProduction: boolean
  readonly host: string
  readonly port: number
  /** Money and queues. */
  readonly redisUrl: Secret
  /** Snapshot, keys, health and limits; the same instance unless set. */
  readonly redisCacheUrl: Secret
  readonly moneyBuckets: number
  readonly baseUrl: string
  readonly apiBaseUrl: string
  /** Where the paths of the control plane are passed on to; without it they are not served. */
  readonly controlPlaneUrl: string | undefined
  readonly keyRing: KeyRing
  readonly keyPepper: Secret
  readonly journalDir: string
  /** Copy of the snapshot on disk; none is kept without it. */
  readonly snapshotFile: string | undefined
  /** Name of this process among all: one journal and one seat in the gate's recovery. */
  readonly nodeId: string
  readonly allowsLoopbackUpstreams: boolean
  /** How long running answers may take after SIGTERM, and the pause before it in which balancers notice. */
  readonly drainMs: number
  readonly drainPauseMs: number
  readonly maxOpenCalls: number
  readonly logLevel: LogLevel
}

const MIN_SECRET_CHARS = 16

const Flag = z
  .enum(['0', '1', 'true', 'false', ''])
  .optional()
  .transform((text) => text === '1' || text === 'true')

const number = (fallback: number, min: number, max: number) => z.coerce.number().int().min(min).max(max).default(fallback)

const optionalText = z
  .string()
  .optional()
  .transform((text) => (text === undefined || text === '' ? undefined : text))

const origin = (fallback: string) =>
  z
    .url()
    .default(fallback)
    .transform((url) => url.replace(/\/+$/, ''))

const Environment = z.object({
  NODE_ENV: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: number(8_402, 0, 65_535),
  REDIS_URL: z.string('REDIS_URL is required').regex(/^rediss?:\/\//, 'REDIS_URL is a redis:// URL'),
  REDIS_CACHE_URL: z
    .string()
    .regex(/^(rediss?:\/\/.*)?$/, 'REDIS_CACHE_URL is a redis:// URL')
    .optional(),
  MONEY_BUCKETS: number(1, 1, 64),
  BASE_URL: origin('http://127.0.0.1:8402'),
  API_BASE_URL: origin('http://127.0.0.1:8402'),
  CONTROL_PLANE_URL: optionalText.pipe(z.url('CONTROL_PLANE_URL is a URL').optional()),
  CREDENTIAL_KEYS: z.string('CREDENTIAL_KEYS is required').transform((text, context) => {
    try {
      return parseKeyRing(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'not a key ring' })
      return z.NEVER
    }
  }),
  KEY_PEPPER: z
    .string('KEY_PEPPER is required')
    .min(MIN_SECRET_CHARS, `KEY_PEPPER has at least ${MIN_SECRET_CHARS} characters`)
    .transform((text) => new Secret(text)),
  JOURNAL_DIR: z.string('JOURNAL_DIR is required').min(1, 'JOURNAL_DIR is required'),
  SNAPSHOT_FILE: optionalText,
  NODE_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'NODE_ID is up to 64 letters, digits, dots and dashes')
    .default(hostname().replace(/[^\w.-]/g, '-').slice(0, 64)),
  ALLOW_LOOPBACK_UPSTREAMS: Flag,
  DRAIN_MS: number(120_000, 0, 900_000),
  DRAIN_PAUSE_MS: number(0, 0, 60_000),
  MAX_OPEN_CALLS: number(10_000, 1, 1_000_000),
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
    redisUrl: new Secret(found.REDIS_URL),
    redisCacheUrl: new Secret(found.REDIS_CACHE_URL || found.REDIS_URL),
    moneyBuckets: found.MONEY_BUCKETS,
    baseUrl: found.BASE_URL,
    apiBaseUrl: found.API_BASE_URL,
    controlPlaneUrl: found.CONTROL_PLANE_URL,
    keyRing: found.CREDENTIAL_KEYS,
    keyPepper: found.KEY_PEPPER,
    journalDir: found.JOURNAL_DIR,
    snapshotFile: found.SNAPSHOT_FILE,
    nodeId: found.NODE_ID,
    allowsLoopbackUpstreams: found.ALLOW_LOOPBACK_UPSTREAMS,
    drainMs: found.DRAIN_MS,
    drainPauseMs: found.DRAIN_PAUSE_MS,
    maxOpenCalls: found.MAX_OPEN_CALLS,
    logLevel: found.LOG_LEVEL,
  }
}
