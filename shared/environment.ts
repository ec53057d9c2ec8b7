import { isIP } from 'node:net'
import { z } from 'zod'
import type { CrashAt } from './crash-point.ts'
import { parseCrashAt } from './crash-point.ts'
import { LOG_LEVELS } from './logger.ts'
import { parseKeyRing } from './seal.ts'
import { Secret } from './secret.ts'

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

const MIN_SECRET_CHARS = 16

/** `1` or `true` is on; `0`, `false`, empty or absent is off. */
export const flag = z
  .enum(['0', '1', 'true', 'false', ''])
  .optional()
  .transform((text) => text === '1' || text === 'true')

/** A whole number within bounds, or the fallback when absent. */
export function wholeNumber(fallback: number, min: number, max: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback)
}

/** Text, where empty means absent. */
export const optionalText = z
  .string()
  .optional()
  .transform((text) => (text === undefined || text === '' ? undefined : text))

/** A required secret of at least 16 characters. */
export function secretOf(name: string) {
  return z
    .string(`${name} is required`)
    .min(MIN_SECRET_CHARS, `${name} must have at least ${MIN_SECRET_CHARS} characters`)
    .transform((text) => new Secret(text))
}

/** `name#k`, a place of crash-point.ts. Empty means absent. */
const crashAt = optionalText.transform((text, context) => {
  if (text === undefined) return undefined
  const at = parseCrashAt(text)
  if (at === undefined) context.addIssue({ code: 'custom', message: 'CRASH_AT must be a known place, # and a number' })
  return at
})

/** An address without a trailing slash. */
export function origin(fallback: string) {
  return z
    .url()
    .default(fallback)
    .transform((url) => url.replace(/\/+$/, ''))
}

const NAMED_NETWORKS = new Set(['loopback', 'linklocal', 'uniquelocal'])

/** Reads addresses and networks from a comma-separated list. Reports an entry that is neither. */
function readNetworks(text: string, context: z.RefinementCtx<string>): readonly string[] {
  const networks = text.split(',').map((part) => part.trim())
  const knownNetworks = networks.filter((network) => network !== '')
  const isNetwork = (network: string) => NAMED_NETWORKS.has(network) || isIP(network.replace(/\/\d{1,3}$/, '')) !== 0
  if (!knownNetworks.every(isNetwork)) {
    context.addIssue({
      code: 'custom',
      message: 'TRUSTED_PROXIES must be a list of addresses, networks and names of networks',
    })
  }
  return knownNetworks
}

/** The variables that both planes read. */
export const sharedVariables = {
  NODE_ENV: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  REDIS_URL: z.string('REDIS_URL is required').regex(/^rediss?:\/\//, 'REDIS_URL must be a redis:// URL'),
  REDIS_CACHE_URL: z
    .string()
    .regex(/^(rediss?:\/\/.*)?$/, 'REDIS_CACHE_URL must be a redis:// URL')
    .optional(),
  MONEY_BUCKETS: wholeNumber(1, 1, 64),
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
  KEY_PEPPER: secretOf('KEY_PEPPER'),
  TRUSTED_PROXIES: z.string().default('loopback').transform(readNetworks),
  ADDRESS_WORK_PER_MINUTE: wholeNumber(6_000, 100, 1_000_000_000),
  ALLOW_LOOPBACK_UPSTREAMS: flag,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  CRASH_AT: crashAt,
}

/**
 * Reads variables by their schemas. Throws an Error that names every missing or wrong variable without its value.
 * Refuses development switches in production.
 */
export function readEnvironment<
  Schema extends z.ZodType<{
    NODE_ENV?: string | undefined
    ALLOW_LOOPBACK_UPSTREAMS: boolean
    CRASH_AT?: CrashAt | undefined
  }>,
>(schema: Schema, environment: Environment): z.output<Schema> {
  const parsed = schema.safeParse(environment)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => {
      const name = path.join('.')
      return message.startsWith(name) ? message : `${name}: ${message}`
    })
    throw new Error(`the configuration is not valid:\n  ${problems.join('\n  ')}`)
  }
  if (parsed.data.NODE_ENV === 'production' && parsed.data.ALLOW_LOOPBACK_UPSTREAMS) {
    throw new Error('ALLOW_LOOPBACK_UPSTREAMS is for development: unset it in production')
  }
  if (parsed.data.NODE_ENV === 'production' && parsed.data.CRASH_AT !== undefined) {
    throw new Error('CRASH_AT is for tests: unset it in production')
  }
  return parsed.data
}
