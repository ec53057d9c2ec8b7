import type {
  ClaimAnswer,
  ClaimAsk,
  HeldClaimText,
  PaymentTerms,
  SettleAnswer,
  SettleAsk,
} from '#shared/contract/chain-payments.ts'
import type { HoldRecord } from '#shared/contract/hold.ts'
import type { KeyBudget, OwnProvider } from '#shared/contract/key-record.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { AppError } from '#shared/errors.ts'
import type { AccountId, KeyId, RequestId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** The owner of the money: an account, by one of its keys or its session, or a wallet without an account. */
export type PayerIdentity =
  | { readonly account: AccountId; readonly keyId: KeyId | null; readonly wallet: string | null }
  | { readonly account: null; readonly keyId: null; readonly wallet: string }

/** The payer that a rail identified, and its preferences for every call. */
export type Payer = PayerIdentity & PayerPreferences

/** A payer with an account. Every key has one. */
export type AccountPayer = Payer & { readonly account: AccountId }

/** Preferences for every call. They do not identify the payer. */
export type PayerPreferences = {
  readonly floorPercents: readonly (number | undefined)[]
  readonly providersBlocked: readonly string[]
  readonly allowsUntrusted: boolean | undefined
  readonly modelsAllowed: readonly string[] | null
  readonly caps: SpendingCaps
  readonly ratePerMinute: number | null
  /**
   * The name under which its calls are counted, while the payer's own name is unproven. Otherwise strangers could use
   * up a payer's rate.
   */
  readonly countedAs?: string
  /** The account's own provider keys. */
  readonly ownProviders?: readonly OwnProvider[]
}

/** Spending caps of a key; null is no cap. They reset at 00:00 UTC, and on the first of a month. */
export type SpendingCaps = {
  readonly dailyMicro: MicroUsd | null
  readonly monthlyMicro: MicroUsd | null
  /** The monthly budgets of the key's member and workspace. Absent without one. */
  readonly budgets?: readonly KeyBudget[]
}

/** The most that a call may cost at any offer that failover may use. */
export type Quote = {
  readonly rid: RequestId
  /** The amount to hold when the balance covers it, and the least with which the call still makes sense. */
  readonly wantMicro: MicroUsd
  readonly minMicro: MicroUsd
  readonly ttlMs: number
}

/**
 * The facts of a charge: a call's hold, or the end of a long job, whose money left the balance at its submit. It is
 * plain data. Another process, or the next start of this one, finds the rail by its name and settles or releases it.
 */
export type Chargeable = PayerIdentity & {
  /** The request id, or the id of a job's end. */
  readonly rid: string
  readonly rail: RailName
  /** The facts that the rail needs besides the ids to finish it elsewhere; null when the ids suffice. */
  readonly record: RailRecord | null
  /** The id of the challenge that the payment answers. It stays in this process, because it proves who paid. */
  readonly challengeId?: string | undefined
}

/** A rail's own facts of one payment as JSON. No secret belongs in it. */
export type RailRecord = Readonly<Record<string, unknown>>

/** The facts that a paid request must present again to get its answer again. */
export type RepeatProof = {
  /** SHA-256 in hex. A claim is stored with it, and a repeat has the same one. */
  readonly digest: string
  /** Milliseconds for which the answer is kept; 0 when no client can present these facts again. */
  readonly keptMs: number
}

/** Money set aside for a call, or the promise of it. */
export type Hold = Chargeable & {
  readonly rid: RequestId
  readonly grantedMicro: MicroUsd
  /** The budgets in which the gate counts it, by id. Absent without one. */
  readonly budgets?: readonly string[]
  /** The facts that a wallet presents to get its answer again. They stay in this process. */
  readonly proof?: RepeatProof
}

/** The state of a charge after its rail has done its work for now. */
export type Settled = {
  /** `final` when nothing can change it any more; `pending` while the rail may still need its record in the journal. */
  readonly state: 'final' | 'pending'
  /**
   * The way in which the booking learns of the call. `by-name`: the rail keeps the event, so the name suffices.
   * `by-event`: the event is sent. `later`: the rail sends it once the charge is final.
   */
  readonly booking: 'by-name' | 'by-event' | 'later'
  /** Headers to add to the buyer's answer while its head has not been sent; undefined for none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Members to add to the answer's body; undefined for none. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Set when the charge can never be taken. An unsent answer is then withheld. */
  readonly refusal?: AppError
}

/** The control plane's desk for payments by wallets. */
export type PaymentDesk = {
  /** The present terms; undefined while payments are closed or not set up. */
  terms(): PaymentTerms | undefined
  /** Whether a wallet is a contract. Undefined while unknown. Never rejects. */
  isContract(wallet: string): Promise<boolean | undefined>
  /** Throws `service_unavailable` when the desk does not answer. The claim may exist then; no other call gets it. */
  claim(ask: ClaimAsk): Promise<ClaimAnswer>
  /** Reports open claims to a restored ledger, a few at once. Throws when the desk does not answer. */
  claimAgain(claims: readonly HeldClaimText[]): Promise<void>
  /** Undefined when the desk does not answer, or gives an unknown answer. Never rejects. */
  settle(ask: SettleAsk): Promise<SettleAnswer | undefined>
  /** Never rejects. An unreleased claim ends with its authorization. */
  release(rid: RequestId): Promise<void>
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

/** The gate's hold on an account for a call. */
export type CreditHold = Pick<ReserveRequest, 'rid' | 'account' | 'keyId'> & Pick<Hold, 'grantedMicro' | 'budgets'>

/** The ids under which the gate captures: those of a call, or of the end of a job. */
export type CreditClaim = Pick<ReserveRequest, 'account' | 'keyId'> & Pick<Hold, 'budgets'> & { readonly rid: string }

/**
 * The state of a capture. `accepted`: Redis has it. `queued`: only this process has it, and the journal must be synced
 * first. `contradicted`: Redis has another amount for the same call, which stays.
 */
export type CaptureOutcome = 'accepted' | 'contradicted' | 'queued'

/**
 * The spending gate in Redis. All calls of one tick go in one batch script for each bucket. While the gate is in doubt,
 * `reserve` refuses with `service_unavailable`; captures and releases wait in a queue and are sent again in order.
 */
export type Funds = {
  /**
   * Sets money aside: the most of `wantMicro` that the balance covers, but at least `minMicro`. Throws AppError:
   * `insufficient_balance`, `insufficient_allowance`, `key_cap_reached` and `budget_reached` (with the
   * owner, limit, spent and resets_at), or `service_unavailable` with a time to retry.
   */
  reserve(request: ReserveRequest): Promise<CreditHold>
  /** Charges a hold. `event` is the usage event as text; its bytes have to be kept. Never rejects. */
  capture(claim: CreditClaim, usedMicro: MicroUsd, event: string): Promise<CaptureOutcome>
  /** Releases a hold. Never rejects. A reply need not wait for it. */
  release(claim: CreditClaim, reason: string, event: string): Promise<void>
  /**
   * The hold of a request id of this account, or undefined. Throws `service_unavailable` while Redis is out of reach.
   */
  find(account: AccountId, rid: RequestId): Promise<HoldRecord | undefined>
  /** True while paid calls are admitted. */
  isOpen(): boolean
}
