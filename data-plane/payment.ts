import type { HoldRecord } from '#shared/contract/hold.ts'
import type { OwnProvider } from '#shared/contract/key-record.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { AccountId, KeyId, RequestId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** Whose money it is: an account's, by one of its keys or its session, or that of a wallet without an account. */
export type PayerIdentity =
  | { readonly account: AccountId; readonly keyId: KeyId | null; readonly wallet: string | null }
  | { readonly account: null; readonly keyId: null; readonly wallet: string }

/** Who pays, as a rail identified them, and what they want of every call. */
export type Payer = PayerIdentity & Wishes

/** A payer with an account, as every key has one. */
export type AccountPayer = Payer & { readonly account: AccountId }

/** What somebody wants of every call; nothing of it says who they are. */
export type Wishes = {
  readonly floorPercents: readonly (number | undefined)[]
  readonly providersBlocked: readonly string[]
  readonly allowsUntrusted: boolean | undefined
  readonly modelsAllowed: readonly string[] | null
  readonly caps: SpendingCaps
  readonly ratePerMinute: number | null
  /** Provider keys of the payer's own, as its account has them. */
  readonly ownProviders?: readonly OwnProvider[]
}

/** Spending caps of a key; null is no cap. They reset at 00:00 UTC and on the first of a month. */
export type SpendingCaps = { readonly dailyMicro: MicroUsd | null; readonly monthlyMicro: MicroUsd | null }

/** The most a call may cost, over the offers that failover may use. */
export type Quote = {
  readonly rid: RequestId
  /** What to hold if the balance covers it, and the least with which the call still makes sense. */
  readonly wantMicro: MicroUsd
  readonly minMicro: MicroUsd
  readonly ttlMs: number
}

/**
 * What a charge is made under: a call's hold, or the end of a long job, whose money left the balance at its submit. Plain
 * data: another process, or the next start of this one, finds the rail by its name and finishes or voids it.
 */
export type Chargeable = PayerIdentity & {
  /** The request id, or that of a job's end. */
  readonly rid: string
  readonly rail: RailName
  /** What the rail needs beside the ids to finish it elsewhere; null where the ids say all. */
  readonly record: RailRecord | null
}

/** A rail's own facts of one payment, fit for JSON. No secret belongs in it. */
export type RailRecord = Readonly<Record<string, unknown>>

/** Money set aside for a call, or the promise of it. */
export type Hold = Chargeable & { readonly rid: RequestId; readonly grantedMicro: MicroUsd }

/** How a charge stands when its rail has done what can be done now. */
export type Settled = {
  /** `final` when nothing can change it any more; `pending` while the rail may still need what the journal has of it. */
  readonly state: 'final' | 'pending'
  /**
   * How whoever books the call learns of it: the rail keeps its event and the name is enough, or the event is sent, or
   * the rail sends it later, once it is final.
   */
  readonly booking: 'by-name' | 'by-event' | 'later'
  /** Headers that the buyer is owed, where they have not gone yet; undefined for none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Members that the answer's body is owed; undefined for none. */
  readonly members?: Readonly<Record<string, unknown>>
}

export type ReserveRequest = {
  readonly rid: RequestId
  readonly account: AccountId
  readonly keyId: KeyId | null
  readonly wantMicro: MicroUsd
  readonly minMicro: MicroUsd
  readonly ttlMs: number
  readonly caps: SpendingCaps
}

/** What the gate holds of an account for a call. */
export type CreditHold = Pick<ReserveRequest, 'rid' | 'account' | 'keyId'> & { readonly grantedMicro: MicroUsd }

/** The ids by which the gate captures: those of a call, or of the end of a job. */
export type CreditClaim = Pick<ReserveRequest, 'account' | 'keyId'> & { readonly rid: string }

/**
 * How sure a capture is: in Redis, or so far only in this process, which needs the journal to be synced first. A
 * contradicted one met another amount of the same call in Redis, which stands.
 */
export type CaptureOutcome = 'accepted' | 'contradicted' | 'queued'

/**
 * The spending gate in Redis. All calls of one tick travel in one batch script a bucket. While money is in doubt,
 * `reserve` refuses with `service_unavailable`; captures and releases wait in an outbox and are sent again in order.
 */
export type Funds = {
  /**
   * Sets money aside: the most of `wantMicro` that the balance covers, but not under `minMicro`.
   * Throws AppError: `insufficient_balance`, `key_cap_reached` (whose, limit, spent, resets_at) or
   * `service_unavailable` with a retry hint.
   */
  reserve(request: ReserveRequest): Promise<CreditHold>
  /** Charges a hold. `event` is the usage event, as the bytes to keep. Never rejects. */
  capture(claim: CreditClaim, usedMicro: MicroUsd, event: string): Promise<CaptureOutcome>
  /** Gives a hold back. Never rejects; the answer need not be awaited before replying. */
  release(claim: CreditClaim, reason: string, event: string): Promise<void>
  /** The hold of a request id of this account, or undefined. Throws `service_unavailable` while Redis is away. */
  find(account: AccountId, rid: RequestId): Promise<HoldRecord | undefined>
  /** Whether paid calls are admitted now. */
  isOpen(): boolean
}
