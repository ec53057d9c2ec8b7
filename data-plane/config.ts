import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { z } from 'zod'
import { DAY, HOUR, MINUTE } from '#shared/clock.ts'
import type { CrashAt } from '#shared/crash-point.ts'
import type { Environment } from '#shared/environment.ts'
import { flag, optionalText, readEnvironment, sharedVariables, wholeNumber } from '#shared/environment.ts'
import type { LogLevel } from '#shared/logger.ts'
import type { KeyRing } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import type { ShownSetting } from '#shared/shown-settings.ts'
import { shownSettings } from '#shared/shown-settings.ts'
import type { TelemetrySettings } from '#shared/telemetry/settings.ts'
import { telemetryOf, telemetryVariables } from '#shared/telemetry/settings.ts'
import type { ArtifactLimits } from './store/artifact-store.ts'
import type { BucketAddress } from './store/s3-bucket.ts'

const { version: VERSION } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')))

/** The settings of the data plane from its environment. */
export type DataConfig = {
  /** The version of the program from its package. */
  readonly version: string
  readonly isProduction: boolean
  readonly host: string
  readonly port: number
  /** Redis for money and queues. */
  readonly redisUrl: Secret
  /** Redis for snapshot, keys, health and limits; the same instance by default. */
  readonly redisCacheUrl: Secret
  readonly moneyBuckets: number
  readonly baseUrl: string
  readonly apiBaseUrl: string
  /** The hosts of the site and of the API, with their ports. */
  readonly hosts: { readonly base: string; readonly api: string }
  /** The origin of the control plane, for its paths. Without it they are not served. */
  readonly controlPlaneUrl: string | undefined
  readonly keyRing: KeyRing
  readonly keyPepper: Secret
  readonly journalDir: string
  /** Continues when a dead process's journal is damaged in its middle, and leaves out the records after the damage. */
  readonly acceptsJournalDamage: boolean
  /** Folder of media files. It is made with the first file. */
  readonly artifactDir: string
  /** The bucket for media files in place of the folder. */
  readonly artifactBucket: BucketAddress | undefined
  readonly artifacts: ArtifactLimits & {
    /** Milliseconds for which a link opens its file. */
    readonly linkMs: number
  }
  /** Path of the copy of the snapshot on disk. Without it there is no copy. */
  readonly snapshotFile: string | undefined
  /** Name of this process, unique among all. It names the journal of the process and its membership in the gate. */
  readonly nodeId: string
  readonly allowsLoopbackUpstreams: boolean
  /**
   * Milliseconds that running answers may take after SIGTERM, and the pause before that in which load balancers notice
   * the end.
   */
  readonly drainMs: number
  readonly drainPauseMs: number
  readonly maxOpenCalls: number
  /** Bytes of large request bodies, and of large answers, that may be in memory at once. */
  readonly maxHeldBodyBytes: number
  readonly maxHeldAnswerBytes: number
  /** The delay of the event loop above which new work is refused: milliseconds, 99th percentile of a second. */
  readonly maxEventLoopDelayMs: number
  /** Connections of one address. A load balancer in front counts as one address. */
  readonly maxConnectionsPerAddress: number
  /** Addresses and networks whose `X-Forwarded-For` counts: load balancers in front. */
  readonly trustedProxies: readonly string[]
  /** Units of refused work that one address may cause in a minute; see refused-work.ts. */
  readonly addressWorkPerMinute: number
  readonly logLevel: LogLevel
  /** The share, 0 to 1, of succeeded and refused calls that get a line in the log. */
  readonly logCallShare: number
  /** The destination of traces; undefined disables traces. */
  readonly telemetry: TelemetrySettings | undefined
  /** The settings as operators see them, without secrets. */
  readonly shown: readonly ShownSetting[]
  /** The place at which a fault run makes this process die. */
  readonly crashAt: CrashAt | undefined
}

const MEGABYTE = 1_048_576
const GIGABYTE = 1_073_741_824

const Variables = z.object({
  ...sharedVariables,
  ...telemetryVariables,
  PORT: wholeNumber(8_402, 0, 65_535),
  CONTROL_PLANE_URL: optionalText.pipe(z.url('CONTROL_PLANE_URL must be a URL').optional()),
  JOURNAL_DIR: z.string('JOURNAL_DIR is required').min(1, 'JOURNAL_DIR is required'),
  JOURNAL_ACCEPT_DAMAGE: flag,
  SNAPSHOT_FILE: optionalText,
  ARTIFACT_DIR: optionalText,
  ARTIFACT_S3_BUCKET: optionalText,
  ARTIFACT_S3_PREFIX: optionalText.pipe(
    z
      .string()
      .regex(/^[\w./-]{1,200}$/, 'ARTIFACT_S3_PREFIX must be up to 200 letters, digits, dots, dashes and slashes')
      .optional(),
  ),
  ARTIFACT_S3_ENDPOINT: optionalText.pipe(
    z
      .string()
      .regex(/^https?:\/\/[^/@?#\s]+\/?$/, 'ARTIFACT_S3_ENDPOINT must be an http or https URL without a path')
      .optional(),
  ),
  ARTIFACT_S3_REGION: optionalText,
  ARTIFACT_S3_HOST_STYLE: flag,
  ARTIFACT_S3_KEY_ID: optionalText,
  ARTIFACT_S3_SECRET: optionalText,
  ARTIFACT_KEEP_MS: wholeNumber(DAY, MINUTE, 30 * DAY),
  ARTIFACT_LINK_MS: wholeNumber(HOUR, MINUTE, 7 * DAY),
  ARTIFACT_FILE_BYTES: wholeNumber(2 * GIGABYTE, 1, 1_024 * GIGABYTE),
  ARTIFACT_OWNER_BYTES: wholeNumber(5 * GIGABYTE, 1, 1_024 * GIGABYTE),
  ARTIFACT_TOTAL_BYTES: wholeNumber(20 * GIGABYTE, 1, 1_024 * GIGABYTE),
  NODE_ID: z
    .string()
    .regex(/^[\w.-]{0,64}$/, 'NODE_ID must be up to 64 letters, digits, dots and dashes')
    .optional()
    .transform(
      (text) =>
        text ||
        hostname()
          .replace(/[^\w.-]/g, '-')
          .slice(0, 64),
    ),
  DRAIN_MS: wholeNumber(120_000, 0, 900_000),
  DRAIN_PAUSE_MS: wholeNumber(0, 0, 60_000),
  LOG_CALL_SHARE: optionalText
    .transform((text) => (text === undefined ? 1 : Number(text)))
    .pipe(z.number('LOG_CALL_SHARE must be 0 to 1').min(0).max(1)),
  MAX_OPEN_CALLS: wholeNumber(10_000, 1, 1_000_000),
  MAX_HELD_BODY_BYTES: wholeNumber(512 * MEGABYTE, 64 * MEGABYTE, 1_024 * GIGABYTE),
  MAX_HELD_ANSWER_BYTES: wholeNumber(512 * MEGABYTE, MEGABYTE, 1_024 * GIGABYTE),
  MAX_EVENT_LOOP_DELAY_MS: wholeNumber(200, 10, 60_000),
  MAX_CONNECTIONS_PER_ADDRESS: wholeNumber(200, 1, 1_000_000),
})

/** Reads the environment. Throws an Error as {@link readEnvironment} describes. */
export function readConfig(environment: Environment = process.env): DataConfig {
  const foundEnvironment = readEnvironment(Variables, environment)
  return {
    version: VERSION,
    isProduction: foundEnvironment.NODE_ENV === 'production',
    host: foundEnvironment.HOST,
    port: foundEnvironment.PORT,
    redisUrl: new Secret(foundEnvironment.REDIS_URL),
    redisCacheUrl: new Secret(foundEnvironment.REDIS_CACHE_URL || foundEnvironment.REDIS_URL),
    moneyBuckets: foundEnvironment.MONEY_BUCKETS,
    baseUrl: foundEnvironment.BASE_URL,
    apiBaseUrl: foundEnvironment.API_BASE_URL,
    hosts: { base: new URL(foundEnvironment.BASE_URL).host, api: new URL(foundEnvironment.API_BASE_URL).host },
    controlPlaneUrl: foundEnvironment.CONTROL_PLANE_URL,
    keyRing: foundEnvironment.CREDENTIAL_KEYS,
    keyPepper: foundEnvironment.KEY_PEPPER,
    journalDir: foundEnvironment.JOURNAL_DIR,
    acceptsJournalDamage: foundEnvironment.JOURNAL_ACCEPT_DAMAGE,
    artifactDir: foundEnvironment.ARTIFACT_DIR ?? `${foundEnvironment.JOURNAL_DIR.replace(/\/+$/, '')}-artifacts`,
    artifactBucket: readBucket(foundEnvironment),
    artifacts: {
      keepMs: foundEnvironment.ARTIFACT_KEEP_MS,
      linkMs: foundEnvironment.ARTIFACT_LINK_MS,
      fileBytes: foundEnvironment.ARTIFACT_FILE_BYTES,
      ownerBytes: foundEnvironment.ARTIFACT_OWNER_BYTES,
      totalBytes: foundEnvironment.ARTIFACT_TOTAL_BYTES,
    },
    snapshotFile: foundEnvironment.SNAPSHOT_FILE,
    nodeId: foundEnvironment.NODE_ID,
    allowsLoopbackUpstreams: foundEnvironment.ALLOW_LOOPBACK_UPSTREAMS,
    drainMs: foundEnvironment.DRAIN_MS,
    drainPauseMs: foundEnvironment.DRAIN_PAUSE_MS,
    maxOpenCalls: foundEnvironment.MAX_OPEN_CALLS,
    maxHeldBodyBytes: foundEnvironment.MAX_HELD_BODY_BYTES,
    maxHeldAnswerBytes: foundEnvironment.MAX_HELD_ANSWER_BYTES,
    maxEventLoopDelayMs: foundEnvironment.MAX_EVENT_LOOP_DELAY_MS,
    maxConnectionsPerAddress: foundEnvironment.MAX_CONNECTIONS_PER_ADDRESS,
    trustedProxies: foundEnvironment.TRUSTED_PROXIES,
    addressWorkPerMinute: foundEnvironment.ADDRESS_WORK_PER_MINUTE,
    logLevel: foundEnvironment.LOG_LEVEL,
    logCallShare: foundEnvironment.LOG_CALL_SHARE,
    telemetry: telemetryOf(foundEnvironment, 'market-data-plane'),
    shown: shownSettings(Variables.shape, environment),
    crashAt: foundEnvironment.CRASH_AT,
  }
}

/** The bucket of media files, if configured. Throws an Error that names the missing settings. */
function readBucket(variables: z.infer<typeof Variables>): BucketAddress | undefined {
  const { ARTIFACT_S3_BUCKET: bucket, ARTIFACT_S3_KEY_ID: keyId, ARTIFACT_S3_SECRET: secret } = variables
  if (bucket === undefined) return undefined
  if (keyId === undefined) throw new Error('ARTIFACT_S3_BUCKET needs ARTIFACT_S3_KEY_ID')
  if (secret === undefined) throw new Error('ARTIFACT_S3_BUCKET needs ARTIFACT_S3_SECRET')
  const endpoint = variables.ARTIFACT_S3_ENDPOINT
  return {
    bucket,
    prefix: variables.ARTIFACT_S3_PREFIX ?? '',
    region: variables.ARTIFACT_S3_REGION ?? 'us-east-1',
    endpoint,
    // Only AWS reliably supports the bucket's name in its host.
    isPathStyle: endpoint !== undefined && !variables.ARTIFACT_S3_HOST_STYLE,
    keyId: new Secret(keyId),
    secret: new Secret(secret),
  }
}
