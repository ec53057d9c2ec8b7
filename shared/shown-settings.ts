import { z } from 'zod'
import type { Environment } from './environment.ts'

/** A setting of a process as operators see it. A shown setting never has the value or the length of a secret. */
export const ShownSettingSchema = z.object({
  name: z.string(),
  /** Null for a secret, and where nothing is set and there is no default. */
  value: z.string().nullable(),
  isSecret: z.boolean(),
  /** `set` by the environment, the program's `default`, or `unset` without a default. */
  state: z.enum(['set', 'default', 'unset']),
  /** The program's default. Null without one, for a secret, and from a process of an older version. */
  fallback: z.string().nullable().default(null),
})
export type ShownSetting = z.infer<typeof ShownSettingSchema>

/** Most characters of a shown value. */
const MAX_VALUE_CHARS = 300

/**
 * The variables whose values are shown. Every other one is a secret, so a new variable is masked until its name is
 * here. URLs are not here: they may hold a password or a token.
 */
const SHOWN: ReadonlySet<string> = new Set([
  'ADDRESS_WORK_PER_MINUTE',
  'ALLOWANCE_BATCH_MICRO',
  'ALLOWANCE_BATCH_SECONDS',
  'ALLOWANCE_LINE_MICRO',
  'ALLOWANCE_READ_SECONDS',
  'ALLOWANCE_TOTAL_MICRO',
  'ALLOW_INTROSPECTION',
  'ALLOW_LOOPBACK_UPSTREAMS',
  'API_BASE_URL',
  'ARTIFACT_DIR',
  'ARTIFACT_FILE_BYTES',
  'ARTIFACT_KEEP_MS',
  'ARTIFACT_LINK_MS',
  'ARTIFACT_OWNER_BYTES',
  'ARTIFACT_S3_BUCKET',
  'ARTIFACT_S3_HOST_STYLE',
  'ARTIFACT_S3_PREFIX',
  'ARTIFACT_S3_REGION',
  'ARTIFACT_TOTAL_BYTES',
  'BASE_URL',
  'CHAIN_CONFIRMATIONS',
  'CHAIN_ID',
  'CHECK_EVERY_MS',
  'CONTRACT_EXPOSURE_MICRO',
  'CRASH_AT',
  'DATABASE_POOL',
  'DRAIN_MS',
  'DRAIN_PAUSE_MS',
  'HOST',
  'JOURNAL_ACCEPT_DAMAGE',
  'JOURNAL_DIR',
  'LOG_CALL_SHARE',
  'LOG_LEVEL',
  'MAIL_FROM',
  'MAX_CONNECTIONS_PER_ADDRESS',
  'MAX_EVENT_LOOP_DELAY_MS',
  'MAX_HELD_ANSWER_BYTES',
  'MAX_HELD_BODY_BYTES',
  'MAX_OPEN_CALLS',
  'MONEY_BUCKETS',
  'NODE_ENV',
  'NODE_ID',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
  'OTEL_SDK_DISABLED',
  'OTEL_SERVICE_NAME',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'PAGE_DIR',
  'PAYER_EXPOSURE_MICRO',
  'PAYMENT_EXPOSURE_MICRO',
  'PAYOUT_APPROVAL_MICRO',
  'PAYOUT_BLOCKED_FILE',
  'PAYOUT_COOLING_SECONDS',
  'PAYOUT_EVERY_SECONDS',
  'PAYOUT_HOLD_SECONDS',
  'PAYOUT_THRESHOLD_MICRO',
  'PAYOUT_VALID_SECONDS',
  'PLATFORM_FEE_BPS',
  'PORT',
  'RETENTION_MONTHS',
  'SAMPLE_BUYER',
  'SNAPSHOT_FILE',
  'SWEEP_EVERY_MS',
  'TREASURY_ADDRESS',
  'TREASURY_CEILING_MICRO',
  'TREASURY_COLD_ADDRESS',
  'TREASURY_FLOOR_MICRO',
  'TREASURY_FROM_BLOCK',
  'TRUSTED_PROXIES',
  'UNPOSTED_AFTER_MS',
  'UNPOSTED_WHEN_QUIET_MS',
  'USDC_ADDRESS',
])

/** The settings of a process by name, from the variables that it reads. The values of secrets are left out. */
export function shownSettings(
  variables: Readonly<Record<string, z.ZodType>>,
  environment: Environment,
): ShownSetting[] {
  return Object.entries(variables)
    .map(([name, schema]): ShownSetting => {
      const given = environment[name]
      const isSet = given !== undefined && given !== ''
      const isSecret = !SHOWN.has(name)
      const fallback = isSecret ? undefined : written(schema.safeParse(undefined).data)
      const value = isSet ? given : fallback
      return {
        name,
        value: isSecret ? null : (value?.slice(0, MAX_VALUE_CHARS) ?? null),
        isSecret,
        state: isSet ? 'set' : fallback === undefined ? 'unset' : 'default',
        fallback: fallback?.slice(0, MAX_VALUE_CHARS) ?? null,
      }
    })
    .sort((left, right) => (left.name < right.name ? -1 : 1))
}

function written(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? value.join(', ') : undefined
}
