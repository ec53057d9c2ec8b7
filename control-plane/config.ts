import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { ChainAddress } from '#shared/chain-terms.ts'
import { BASE_CHAIN_ID, BASE_USDC, EXPLORERS } from '#shared/chain-terms.ts'
import { addressVariable, privateKeyVariable } from '#shared/chain-variables.ts'
import { DAY, HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { CrashAt } from '#shared/crash-point.ts'
import type { Environment } from '#shared/environment.ts'
import { flag, optionalText, readEnvironment, secretOf, sharedVariables, wholeNumber } from '#shared/environment.ts'
import type { LogLevel } from '#shared/logger.ts'
import type { KeptBps } from '#shared/money.ts'
import { keptBps } from '#shared/money.ts'
import { isLoopbackHost } from '#shared/outbound-guard.ts'
import type { KeyRing } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import type { ShownSetting } from '#shared/shown-settings.ts'
import { shownSettings } from '#shared/shown-settings.ts'
import type { TelemetrySettings } from '#shared/telemetry/settings.ts'
import { telemetryOf, telemetryVariables } from '#shared/telemetry/settings.ts'
import type { AllowanceSettings, PayoutSettings } from './operation/ctx.ts'
import type { MailFrom } from './ports/mail/smtp-mail-sender.ts'
import type { MoneyTimes } from './workers/worker.ts'

/** The control plane's settings from the environment. */
export type ControlConfig = {
  readonly isProduction: boolean
  readonly host: string
  readonly port: number
  readonly databaseUrl: Secret
  /** Most Postgres connections of this process. */
  readonly databasePool: number
  /** Redis of the gate and the queues. */
  readonly redisUrl: Secret
  /** Redis of the snapshot, the keys and the limits; the same instance unless set. */
  readonly redisCacheUrl: Secret
  readonly moneyBuckets: number
  readonly baseUrl: string
  readonly apiBaseUrl: string
  readonly keyRing: KeyRing
  readonly keyPepper: Secret
  readonly fingerprintPepper: Secret
  readonly sessionSecret: Secret
  /** Addresses and networks whose `X-Forwarded-For` counts: the data planes and the load balancers in front. */
  readonly trustedProxies: readonly string[]
  /** Units of refused work that one address, or one key, may cause in a minute; see refused-work.ts. */
  readonly addressWorkPerMinute: number
  /** JSON-RPC endpoint of the chain. Undefined refuses sign-ins of contract wallets. */
  readonly chainRpcUrl: Secret | undefined
  /** Payments by wallets. Undefined without an address to pay to, or without a way to settle. */
  readonly payments: PaymentConfig | undefined
  /** The treasury's account for transfers out. Undefined without a signer: then no seller is paid out. */
  readonly treasury: TreasuryConfig | undefined
  /**
   * The reader of the treasury's transfers. Undefined without a treasury or without a chain: then no deposit is
   * credited.
   */
  readonly moves: MoveConfig | undefined
  readonly payouts: PayoutSettings
  readonly allowances: AllowanceSettings
  readonly platformFeeBps: KeptBps
  readonly allowsLoopbackUpstreams: boolean
  /** True allows introspection queries on GraphQL. */
  readonly allowsIntrospection: boolean
  readonly logLevel: LogLevel
  /** The receiver of traces; undefined turns tracing off. */
  readonly telemetry: TelemetrySettings | undefined
  readonly money: MoneyTimes
  /** Folder with the journals of data planes that this process can read, for the checker; undefined without one. */
  readonly journalDir: string | undefined
  /** The wallet whose account every visitor may try in a development market. Undefined in every other market. */
  readonly sampleBuyer: string | undefined
  /** The address that reports of problems go to. Undefined without one: the page then offers no report. */
  readonly supportEmail: string | undefined
  /** The mail server, and the sender of mails; undefined without one: then the page offers nothing by e-mail. */
  readonly mail: MailSettings | undefined
  /** The public explorer of the chain; undefined for a chain without one, and for one on loopback. */
  readonly explorerUrl: string | undefined
  /** Folder of the built web page; undefined for the one beside the programs. */
  readonly pageDir: string | undefined
  /** The settings as operators see them, without secrets. */
  readonly shown: readonly ShownSetting[]
  /** The point at which a fault run makes this process die. */
  readonly crashAt: CrashAt | undefined
}

/** The settings of mail: `smtp://` or `smtps://` with the login, and who mails are from. */
export type MailSettings = { readonly url: Secret; readonly from: MailFrom }

/** The settings of payments by wallets. Amounts are micro-USD. */
export type PaymentConfig = {
  readonly chainId: number
  readonly asset: ChainAddress
  readonly assetName: string
  readonly assetVersion: string
  readonly payTo: ChainAddress
  readonly confirmations: number
  readonly payerExposureMicro: bigint
  readonly contractExposureMicro: bigint
  readonly exposureMicro: bigint
  /** The key that settles, and its endpoint; or the URL of a hosted facilitator. */
  readonly facilitator: { readonly key: Secret; readonly rpcUrl: Secret } | { readonly url: string }
}

/** The settings of the treasury. Amounts are micro-USD. */
export type TreasuryConfig = Pick<
  PaymentConfig,
  'chainId' | 'asset' | 'assetName' | 'assetVersion' | 'confirmations'
> & {
  readonly address: ChainAddress
  readonly rpcUrl: Secret
  /** The treasury's key, or the URL of a signing service. */
  readonly signing: { readonly key: Secret } | { readonly url: string }
  readonly validMs: number
  readonly coldAddress: ChainAddress | undefined
  readonly ceilingMicro: bigint
  readonly floorMicro: bigint
  /** A file with addresses that receive no payouts. */
  readonly blockedFile: string | undefined
}

/** The settings of the reader of the treasury's transfers. */
export type MoveConfig = Pick<
  TreasuryConfig,
  'chainId' | 'asset' | 'assetName' | 'assetVersion' | 'confirmations' | 'address' | 'rpcUrl' | 'coldAddress'
> & {
  /** The first block to read; null for the next block. */
  readonly firstBlock: bigint | null
}

const Variables = z.object({
  ...sharedVariables,
  ...telemetryVariables,
  PORT: wholeNumber(8_403, 0, 65_535),
  DATABASE_URL: z
    .string('DATABASE_URL is required')
    .regex(/^postgres(ql)?:\/\//, 'DATABASE_URL must be a postgres:// URL'),
  DATABASE_POOL: wholeNumber(10, 2, 200),
  FINGERPRINT_PEPPER: secretOf('FINGERPRINT_PEPPER'),
  SESSION_SECRET: secretOf('SESSION_SECRET'),
  CHAIN_RPC_URL: optionalText.pipe(
    z
      .url('CHAIN_RPC_URL must be a URL')
      .transform((url) => new Secret(url))
      .optional(),
  ),
  CHAIN_ID: wholeNumber(BASE_CHAIN_ID, 1, 4_294_967_295),
  SUPPORT_EMAIL: optionalText.pipe(z.email('SUPPORT_EMAIL must be an e-mail address').optional()),
  SMTP_URL: optionalText.pipe(
    z
      .string()
      .refine(isMailServer, 'SMTP_URL must be smtp:// or smtps:// with a host, and a user and password if needed')
      .transform((url) => new Secret(url))
      .optional(),
  ),
  MAIL_FROM: optionalText.transform(readMailFrom),
  CHAIN_CONFIRMATIONS: wholeNumber(12, 1, 1_000),
  USDC_ADDRESS: addressVariable('USDC_ADDRESS'),
  TREASURY_ADDRESS: addressVariable('TREASURY_ADDRESS'),
  TREASURY_PRIVATE_KEY: privateKeyVariable('TREASURY_PRIVATE_KEY'),
  TREASURY_KEY_FILE: optionalText.transform(readKeyFile),
  TREASURY_SIGNER_URL: optionalText.pipe(z.url('TREASURY_SIGNER_URL must be a URL').optional()),
  TREASURY_COLD_ADDRESS: addressVariable('TREASURY_COLD_ADDRESS'),
  TREASURY_CEILING_MICRO: wholeNumber(10_000_000_000, 0, 1_000_000_000_000_000),
  TREASURY_FLOOR_MICRO: wholeNumber(100_000_000, 0, 1_000_000_000_000_000),
  TREASURY_FROM_BLOCK: optionalText.pipe(
    z
      .string()
      .regex(/^\d{1,15}$/, 'TREASURY_FROM_BLOCK must be the number of a block')
      .transform((text) => BigInt(text))
      .optional(),
  ),
  PAYOUT_THRESHOLD_MICRO: wholeNumber(1_000_000, 1, 1_000_000_000_000),
  PAYOUT_APPROVAL_MICRO: wholeNumber(1_000_000_000, 1, 1_000_000_000_000_000),
  PAYOUT_EVERY_SECONDS: wholeNumber(DAY / SECOND, 1, (31 * DAY) / SECOND),
  PAYOUT_HOLD_SECONDS: wholeNumber(0, 0, (90 * DAY) / SECOND),
  PAYOUT_COOLING_SECONDS: wholeNumber(DAY / SECOND, 0, (90 * DAY) / SECOND),
  PAYOUT_VALID_SECONDS: wholeNumber(HOUR / SECOND, 60, DAY / SECOND),
  PAYOUT_BLOCKED_FILE: optionalText,
  ALLOWANCE_LINE_MICRO: wholeNumber(1_000_000, 0, 1_000_000_000),
  ALLOWANCE_TOTAL_MICRO: wholeNumber(500_000_000, 0, 1_000_000_000_000),
  ALLOWANCE_BATCH_MICRO: wholeNumber(500_000, 1, 1_000_000_000),
  ALLOWANCE_BATCH_SECONDS: wholeNumber((5 * MINUTE) / SECOND, 1, DAY / SECOND),
  ALLOWANCE_READ_SECONDS: wholeNumber(30, 1, HOUR / SECOND),
  FACILITATOR_PRIVATE_KEY: privateKeyVariable('FACILITATOR_PRIVATE_KEY'),
  FACILITATOR_URL: optionalText.pipe(z.url('FACILITATOR_URL must be a URL').optional()),
  PAYER_EXPOSURE_MICRO: wholeNumber(5_000_000, 1_000_000, 1_000_000_000),
  CONTRACT_EXPOSURE_MICRO: wholeNumber(20_000_000, 1_000_000, 1_000_000_000_000),
  PAYMENT_EXPOSURE_MICRO: wholeNumber(500_000_000, 1_000_000, 1_000_000_000_000),
  PLATFORM_FEE_BPS: wholeNumber(500, 0, 10_000).transform(keptBps),
  ALLOW_INTROSPECTION: flag,
  SWEEP_EVERY_MS: wholeNumber(3 * SECOND, 100, 30 * SECOND),
  UNPOSTED_AFTER_MS: wholeNumber(MINUTE, SECOND, HOUR),
  UNPOSTED_WHEN_QUIET_MS: wholeNumber(3 * SECOND, 100, HOUR),
  CHECK_EVERY_MS: wholeNumber(HOUR, SECOND, DAY),
  RETENTION_MONTHS: wholeNumber(24, 0, 1_200),
  JOURNAL_DIR: optionalText,
  PAGE_DIR: optionalText,
  SAMPLE_BUYER: addressVariable('SAMPLE_BUYER'),
})

function isMailServer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(text)
  if (/%(?![\da-f]{2})/i.test(username + password)) return false
  // A query could set options of the mail client, such as one that turns TLS off.
  return /^smtps?:$/.test(protocol) && hostname !== '' && pathname.replace('/', '') === '' && search + hash === ''
}

const NAMED_SENDER = /^([^<>"\p{Cc}]*)<([^<>]+)>$/u

/** Reads `name@host` or `A name <name@host>`. */
function readMailFrom(text: string | undefined, context: z.RefinementCtx<string | undefined>): MailFrom | undefined {
  if (text === undefined) return undefined
  const [, name = '', address = text] = NAMED_SENDER.exec(text) ?? []
  if (z.email().safeParse(address).success) return { name: name.trim(), address }
  context.addIssue({ code: 'custom', message: 'MAIL_FROM must be an e-mail address, or a name and <address>' })
  return z.NEVER
}

/** Reads a private key from a file. */
function readKeyFile(path: string | undefined, context: z.RefinementCtx<string | undefined>): Secret | undefined {
  if (path === undefined) return undefined
  const issue = (message: string) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  try {
    const read = privateKeyVariable('TREASURY_KEY_FILE').safeParse(readFileSync(path, 'utf8').trim())
    return read.success ? read.data : issue('TREASURY_KEY_FILE must hold a private key: 0x and 64 hex digits')
  } catch {
    return issue('TREASURY_KEY_FILE cannot be read')
  }
}

/** Reads the environment. Throws the Error that {@link readEnvironment} describes. */
export function readConfig(environment: Environment = process.env): ControlConfig {
  const variables = readEnvironment(Variables, environment)
  const isProduction = variables.NODE_ENV === 'production'
  return {
    isProduction,
    host: variables.HOST,
    port: variables.PORT,
    databaseUrl: new Secret(variables.DATABASE_URL),
    databasePool: variables.DATABASE_POOL,
    redisUrl: new Secret(variables.REDIS_URL),
    redisCacheUrl: new Secret(variables.REDIS_CACHE_URL || variables.REDIS_URL),
    moneyBuckets: variables.MONEY_BUCKETS,
    baseUrl: variables.BASE_URL,
    apiBaseUrl: variables.API_BASE_URL,
    keyRing: variables.CREDENTIAL_KEYS,
    keyPepper: variables.KEY_PEPPER,
    fingerprintPepper: variables.FINGERPRINT_PEPPER,
    sessionSecret: variables.SESSION_SECRET,
    trustedProxies: variables.TRUSTED_PROXIES,
    addressWorkPerMinute: variables.ADDRESS_WORK_PER_MINUTE,
    chainRpcUrl: variables.CHAIN_RPC_URL,
    payments: paymentsOf(variables),
    treasury: treasuryOf(variables),
    moves: movesOf(variables),
    payouts: {
      thresholdMicro: BigInt(variables.PAYOUT_THRESHOLD_MICRO),
      approvalMicro: BigInt(variables.PAYOUT_APPROVAL_MICRO),
      everyMs: variables.PAYOUT_EVERY_SECONDS * SECOND,
      holdMs: variables.PAYOUT_HOLD_SECONDS * SECOND,
      coolingMs: variables.PAYOUT_COOLING_SECONDS * SECOND,
    },
    allowances: allowancesOf(variables),
    platformFeeBps: variables.PLATFORM_FEE_BPS,
    allowsLoopbackUpstreams: variables.ALLOW_LOOPBACK_UPSTREAMS,
    money: {
      sweepEveryMs: variables.SWEEP_EVERY_MS,
      unpostedAfterMs: variables.UNPOSTED_AFTER_MS,
      unpostedWhenQuietMs: variables.UNPOSTED_WHEN_QUIET_MS,
      checkEveryMs: variables.CHECK_EVERY_MS,
      retentionMonths: variables.RETENTION_MONTHS,
    },
    journalDir: variables.JOURNAL_DIR,
    sampleBuyer: sampleBuyerOf(variables),
    supportEmail: variables.SUPPORT_EMAIL,
    mail: mailOf(variables),
    explorerUrl: explorerOf(variables),
    pageDir: variables.PAGE_DIR,
    allowsIntrospection: isProduction ? variables.ALLOW_INTROSPECTION : true,
    logLevel: variables.LOG_LEVEL,
    telemetry: telemetryOf(variables, 'market-control-plane'),
    shown: shownSettings(Variables.shape, environment),
    crashAt: variables.CRASH_AT,
  }
}

/** Throws an Error that names the missing setting when only one of the two is set. */
function mailOf({ SMTP_URL: url, MAIL_FROM: from }: z.output<typeof Variables>): MailSettings | undefined {
  if (url === undefined && from === undefined) return undefined
  if (url === undefined) throw new Error('MAIL_FROM needs SMTP_URL')
  if (from === undefined) throw new Error('SMTP_URL needs MAIL_FROM')
  return { url, from }
}

/** Throws an Error for a reachable market that would let every caller in. */
function sampleBuyerOf(variables: z.output<typeof Variables>): string | undefined {
  const { SAMPLE_BUYER: wallet, NODE_ENV, HOST, BASE_URL, API_BASE_URL } = variables
  if (wallet === undefined) return undefined
  const isOpen = ![HOST, ...[BASE_URL, API_BASE_URL].map((url) => new URL(url).hostname)].every(isLoopbackHost)
  if (NODE_ENV === 'production' || isOpen) {
    throw new Error('SAMPLE_BUYER lets everybody in: it is for development on loopback only')
  }
  return wallet.toLowerCase()
}

/** A chain for development often has the id of Base, so its address decides as well. */
function explorerOf({ CHAIN_ID: id, CHAIN_RPC_URL: rpcUrl }: z.output<typeof Variables>): string | undefined {
  if (rpcUrl === undefined || isLoopbackHost(new URL(rpcUrl.reveal()).hostname)) return undefined
  return EXPLORERS.get(id)
}

/** Throws an Error that names the missing settings when only some are set. */
function paymentsOf(variables: z.output<typeof Variables>): PaymentConfig | undefined {
  const facilitator = facilitatorOf(variables)
  if (facilitator === undefined) {
    if (variables.TREASURY_ADDRESS === undefined || signingOf(variables) !== undefined) return undefined
    throw new Error('TREASURY_ADDRESS needs FACILITATOR_PRIVATE_KEY, FACILITATOR_URL or a key of its own')
  }
  if (variables.TREASURY_ADDRESS === undefined) throw new Error('a facilitator needs TREASURY_ADDRESS')
  return {
    ...tokenOf(variables),
    payTo: variables.TREASURY_ADDRESS,
    payerExposureMicro: BigInt(variables.PAYER_EXPOSURE_MICRO),
    contractExposureMicro: BigInt(variables.CONTRACT_EXPOSURE_MICRO),
    exposureMicro: BigInt(variables.PAYMENT_EXPOSURE_MICRO),
    facilitator,
  }
}

function tokenOf(variables: z.output<typeof Variables>) {
  return {
    chainId: variables.CHAIN_ID,
    asset: variables.USDC_ADDRESS ?? BASE_USDC,
    assetName: 'USD Coin',
    assetVersion: '2',
    confirmations: variables.CHAIN_CONFIRMATIONS,
  }
}

function allowancesOf(variables: z.output<typeof Variables>): AllowanceSettings {
  return {
    lineMicro: BigInt(variables.ALLOWANCE_LINE_MICRO),
    totalMicro: BigInt(variables.ALLOWANCE_TOTAL_MICRO),
    batchMicro: BigInt(variables.ALLOWANCE_BATCH_MICRO),
    batchMs: variables.ALLOWANCE_BATCH_SECONDS * SECOND,
    readMs: variables.ALLOWANCE_READ_SECONDS * SECOND,
  }
}

/** The signer of the treasury. Throws an Error for more than one signer. */
function signingOf(variables: z.output<typeof Variables>): TreasuryConfig['signing'] | undefined {
  const { TREASURY_PRIVATE_KEY: key, TREASURY_KEY_FILE: filed, TREASURY_SIGNER_URL: url } = variables
  const sources = [key && { key }, filed && { key: filed }, url && { url }].filter((one) => one !== undefined)
  if (sources.length > 1)
    throw new Error('set only one of TREASURY_PRIVATE_KEY, TREASURY_KEY_FILE and TREASURY_SIGNER_URL')
  return sources[0] === '' ? undefined : sources[0]
}

/** Throws an Error that names the missing settings when only some are set. */
function treasuryOf(variables: z.output<typeof Variables>): TreasuryConfig | undefined {
  const signing = signingOf(variables)
  if (signing === undefined) return undefined
  const { TREASURY_ADDRESS: address, CHAIN_RPC_URL: rpcUrl, TREASURY_COLD_ADDRESS: coldAddress } = variables
  if (address === undefined) throw new Error('a signer of the treasury needs TREASURY_ADDRESS')
  if (rpcUrl === undefined) throw new Error('a signer of the treasury needs CHAIN_RPC_URL')
  if (coldAddress === address) throw new Error('TREASURY_COLD_ADDRESS must differ from TREASURY_ADDRESS')
  return {
    ...tokenOf(variables),
    address,
    rpcUrl,
    signing,
    validMs: variables.PAYOUT_VALID_SECONDS * SECOND,
    coldAddress,
    ceilingMicro: BigInt(variables.TREASURY_CEILING_MICRO),
    floorMicro: BigInt(variables.TREASURY_FLOOR_MICRO),
    blockedFile: variables.PAYOUT_BLOCKED_FILE,
  }
}

function movesOf(variables: z.output<typeof Variables>): MoveConfig | undefined {
  const { TREASURY_ADDRESS: address, CHAIN_RPC_URL: rpcUrl, TREASURY_COLD_ADDRESS: coldAddress } = variables
  if (address === undefined || rpcUrl === undefined) return undefined
  return { ...tokenOf(variables), address, rpcUrl, coldAddress, firstBlock: variables.TREASURY_FROM_BLOCK ?? null }
}

/** A hosted facilitator has precedence over our own. */
function facilitatorOf(variables: z.output<typeof Variables>): PaymentConfig['facilitator'] | undefined {
  const { FACILITATOR_URL: url, FACILITATOR_PRIVATE_KEY: key, CHAIN_RPC_URL: rpcUrl } = variables
  if (url !== undefined) return { url }
  if (key === undefined) return undefined
  if (rpcUrl === undefined) throw new Error('FACILITATOR_PRIVATE_KEY needs CHAIN_RPC_URL')
  return { key, rpcUrl }
}

/** Reads the one variable that a migration needs. Throws an Error when it is missing. */
export function readDatabaseUrl(environment: Environment = process.env): Secret {
  const parsed = Variables.shape.DATABASE_URL.safeParse(environment['DATABASE_URL'])
  if (!parsed.success) throw new Error('DATABASE_URL is required and must be a postgres:// URL')
  return new Secret(parsed.data)
}
