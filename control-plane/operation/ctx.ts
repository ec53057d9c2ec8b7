import type { Database } from '#control-plane/db/database.ts'
import type { ContractWallets } from '#control-plane/ports/contract-wallets/contract-wallets.ts'
import type { Desk } from '#control-plane/ports/desk/desk.ts'
import type { Exporters } from '#control-plane/ports/exports/exporter.ts'
import type { PaymentParts } from '#control-plane/ports/facilitator/payment-parts.ts'
import type { DebitGate } from '#control-plane/ports/gate/debit-gate.ts'
import type { Gate } from '#control-plane/ports/gate/gate.ts'
import type { JobBook } from '#control-plane/ports/jobs/job-book.ts'
import type { KeyCounters } from '#control-plane/ports/key-counters/key-counters.ts'
import type { MoneyCheck } from '#control-plane/ports/ledger/money-check.ts'
import type { MoneyLedger } from '#control-plane/ports/ledger/money-ledger.ts'
import type { CallLimit, Controls } from '#control-plane/ports/limits/controls.ts'
import type { Limiter } from '#control-plane/ports/limits/limiter.ts'
import type { LiveOffers } from '#control-plane/ports/live-offers/live-offers.ts'
import type { MailParts } from '#control-plane/ports/mail/mail-sender.ts'
import type { MarketMemory } from '#control-plane/ports/market-memory/market-memory.ts'
import type { JobProbe } from '#control-plane/ports/provider/job-probe.ts'
import type { MakeToken } from '#control-plane/ports/provider/make-token.ts'
import type { AskLent, AskReport, KeyProbe, ListModels, Probe } from '#control-plane/ports/provider/probe.ts'
import type { Publication } from '#control-plane/ports/publisher/publication.ts'
import type { Publisher } from '#control-plane/ports/publisher/publisher.ts'
import type { Waker } from '#control-plane/ports/queue/waker.ts'
import type { MoneyMetrics } from '#control-plane/ports/telemetry/money-metrics.ts'
import type { Telemetry } from '#control-plane/ports/telemetry/telemetry.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import type { Announce } from '#control-plane/ports/updates/updates.ts'
import type { WebhookSender } from '#control-plane/ports/webhook/webhook-sender.ts'
import type { Time } from '#shared/clock.ts'
import type { ClockWatch } from '#shared/clock-skew.ts'
import type { AccountId, Ids } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import type { KeptBps } from '#shared/money.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import type { RefusedWork } from '#shared/refused-work.ts'
import type { KeyRing } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'
import type { ShownSetting } from '#shared/shown-settings.ts'

/** The kinds of calls that have limits of their own. */
export type LimitKind = 'read' | 'write' | 'probe' | 'challenge'
export type OperationLimits = Readonly<Record<LimitKind, CallLimit>>

/** The time and the terms of payouts. Amounts are micro-USD. */
export type PayoutSettings = {
  /** A smaller balance waits. */
  readonly thresholdMicro: bigint
  /** A larger payout waits for an operator. */
  readonly approvalMicro: bigint
  /** Milliseconds from one payout run to the next. */
  readonly everyMs: number
  /** The wait of earnings after the call that brought them, and of payouts to a new address. Milliseconds. */
  readonly holdMs: number
  readonly coolingMs: number
}

/** Credit of buyers whose wallets pay afterwards. Amounts are micro-USD. */
export type AllowanceSettings = {
  /** The most that is advanced to one account, and to all. 0 disables advances. */
  readonly lineMicro: bigint
  readonly totalMicro: bigint
  /** A debt is drawn from this amount on, or after this time in milliseconds. */
  readonly batchMicro: bigint
  readonly batchMs: number
  /** The greatest age of a reading of the chain, in milliseconds. */
  readonly readMs: number
}

/** The service's settings for passkeys. */
export type RelyingParty = {
  /** The host name that passkeys are bound to. Browsers refuse an IP address. */
  readonly id: string
  /** The origins of pages that may request a passkey. */
  readonly origins: readonly string[]
}

/** Settings and secrets that operations read. */
export type Settings = {
  readonly keyPepper: Secret
  readonly fingerprintPepper: Secret
  /** Signs links that open without a key. */
  readonly linkSecret: Secret
  /** Seals sign-in nonces and derives the hash that a session is looked up by. */
  readonly sessionSecret: Secret
  /** The origins of this service in a browser: `https://host[:port]`. */
  readonly origins: readonly string[]
  /** The service's settings for passkeys; null when its page has no host name. */
  readonly relyingParty: RelyingParty | null
  /** The wallet whose account every visitor may try in a development market; null in every other market. */
  readonly sampleBuyer: string | null
  /** The address that reports of problems go to; null without one. */
  readonly supportEmail: string | null
  /** The public explorer of the chain; null where the chain has none. */
  readonly explorerUrl: string | null
  /** The base URL of the page. */
  readonly baseUrl: string
  /** The base URL of the API, with which links begin. */
  readonly apiBaseUrl: string
  readonly keyRing: KeyRing
  readonly outbound: OutboundPolicy
  readonly platformFeeBps: KeptBps
  /** Defaults of the data plane for a key whose record sets none: calls a minute, and calls at once. */
  readonly keyRatePerMinute: number
  readonly keyInFlight: number
  readonly rateLimits: OperationLimits
  readonly payouts: PayoutSettings
  readonly allowances: AllowanceSettings
  /** The settings of this plane as operators see them, without secrets. */
  readonly shown: readonly ShownSetting[]
}

/** The tables, and the channels to and from the data plane. */
export type StoreParts = {
  readonly db: Database
  readonly publisher: Publisher
  /** Publishes documents from the tables through the publisher. */
  readonly publication: Publication
  readonly liveOffers: LiveOffers
  /** Writers of the files that signed links open. */
  readonly exporters: Exporters
  readonly announce: Announce
  /** This process's memory of the market. */
  readonly marketMemory: MarketMemory
  /** Returns the public name of a seller's account. */
  readonly sellerAlias: (account: AccountId) => string
}

/** The ledger, and the gate for spending. */
export type MoneyParts = {
  /** The money tables of the same database as `db`. */
  readonly ledger: MoneyLedger
  readonly gate: Gate
  readonly debits: DebitGate
  readonly keyCounters: KeyCounters
  readonly jobBook: JobBook
  readonly checkMoney: MoneyCheck
  readonly metrics: MoneyMetrics
}

/** Servers and chains that others run. */
export type OutsideParts = {
  readonly probe: Probe
  readonly makeToken: MakeToken
  readonly listModels: ListModels
  readonly askJob: JobProbe
  readonly probeKey: KeyProbe
  readonly askLent: AskLent
  readonly askReport: AskReport
  readonly sendWebhook: WebhookSender
  /** Mail; null without a mail server. */
  readonly mail: MailParts | null
  readonly contractWallets: ContractWallets
  /** Payments by wallets; null when they are not set up. */
  readonly payments: PaymentParts | null
  /** The treasury; null without a signer. */
  readonly treasury: TreasuryParts | null
  /** The reader of the treasury's transfers; null without a treasury or a chain. */
  readonly moves: MoveParts | null
}

/** Parts of the process that all work needs. */
export type ProcessParts = {
  readonly clock: Time
  /** Compares this process's clock with others. It refuses decisions that depend on the time while the clock is off. */
  readonly clocks: Pick<ClockWatch, 'requireTrusted'>
  readonly ids: Ids
  readonly log: Logger
  readonly telemetry: Telemetry
  readonly settings: Settings
  readonly limiter: Limiter
  readonly refusedWork: RefusedWork
  /** The credentials that were found valid, by open request. */
  readonly callers: WeakMap<object, string>
  readonly controls: Controls
  readonly desk: Desk
  readonly wake: Waker
}

/** Everything that an operation may use. Plain functions take only the parts that they need, by `Pick`. */
export type Ctx = StoreParts & MoneyParts & OutsideParts & ProcessParts
