import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { CapUse, UseSeed } from '#shared/contract/money-scripts/uses.ts'
import type { MoneyEpoch } from '#shared/contract/money-scripts.ts'

/** The state of the gate as an outside reader sees it. */
export type GateView = {
  /** The epoch and the phase of its rebuild; undefined on an empty or damaged server. */
  readonly epoch: MoneyEpoch | undefined
  /** Identifies one run of the Redis server. */
  readonly runId: string
  /** The server's clock, Unix milliseconds. */
  readonly now: number
  /** True when the server knows all scripts of that epoch. */
  readonly hasScripts: boolean
  /** The epoch that a node has reported as damaged. */
  readonly doubted: number | undefined
  /** The newest beat that the ledger has reported; undefined when the server has none. */
  readonly ledgerBeat: number | undefined
  /** Node id → Unix milliseconds of its last announcement; negative for a node that left with nothing to settle. */
  readonly nodes: ReadonlyMap<string, number>
}

/**
 * The steps of a rebuild on Redis. Every step names its epoch and throws AppError `conflict` when another rebuilder has
 * raised a newer one. All of them throw when Redis is away.
 */
export type GateKeeper = {
  view(): Promise<GateView>
  /**
   * Announces the epoch and makes the server forget every money script, in one step. `before` is the epoch seen last.
   * The later phases of the epoch keep its `restore`.
   */
  raise(next: Omit<MoneyEpoch, 'phase'>, before: MoneyEpoch | undefined): Promise<void>
  /** Notes the newest beat of the ledger. */
  noteBeat(beat: number): Promise<void>
  /** Loads every script but reserve, and records the epoch in every bucket. */
  load(epoch: number): Promise<void>
  seed(epoch: number, balances: readonly Omit<PostedChange, 'rid' | 'postedAt'>[]): Promise<void>
  seedUses(epoch: number, seeds: readonly UseSeed[]): Promise<void>
  /** Moves the unposted captures of an older epoch into this one and deletes the older sets. Returns their number. */
  harvest(epoch: number, older: number): Promise<number>
  /** Begins the count of offer caps. From now on a node that reports a capture counts it on the cap itself. */
  startCounting(epoch: number): Promise<void>
  /**
   * The amounts that this epoch's captures took of their offers' caps. Captures that were posted but not confirmed are
   * included.
   */
  unpostedUses(epoch: number): Promise<CapUse[]>
  /** Counts takes on the caps of their offers. Each take counts once in an epoch, however often it is reported. */
  takeCaps(epoch: number, takes: readonly CapUse[]): Promise<void>
  startRegistering(epoch: number): Promise<void>
  /** The nodes that have reported their calls. */
  ready(epoch: number): Promise<ReadonlySet<string>>
  /** Tells nodes that their membership is on record. */
  admit(nodes: readonly string[]): Promise<void>
  /** Removes nodes that signed off. */
  dismiss(nodes: readonly string[]): Promise<void>
  /** Loads reserve and announces that the gate is open, in one step. */
  open(epoch: number): Promise<void>
  /** The Redis keys of the counters of a key, a budget and an offer. */
  keyCounter(keyId: string, account: string): string
  budgetCounter(budget: string): string
  offerCounter(offer: string): string
  /** Waits at most `waitMs` for accounts that a node wants seeded. Returns at most `limit`. */
  takeSeedRequests(limit: number, waitMs: number): Promise<string[]>
}
