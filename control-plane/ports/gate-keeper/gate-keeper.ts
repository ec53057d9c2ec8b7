import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { CapUse, UseSeed } from '#shared/contract/money-scripts/uses.ts'
import type { MoneyEpoch } from '#shared/contract/money-scripts.ts'

/** What can be seen of the gate from outside. */
export type GateView = {
  /** The epoch and how far its rebuild has come; undefined on an empty or damaged server. */
  readonly epoch: MoneyEpoch | undefined
  /** Which run of the server answers. */
  readonly runId: string
  /** The server's clock, Unix milliseconds. */
  readonly now: number
  /** Whether the server knows all scripts of that epoch. */
  readonly hasScripts: boolean
  /** The epoch that some node does not trust any more. */
  readonly doubted: number | undefined
  /** Node id → Unix milliseconds of its last announcement; negative for one that left with nothing to settle. */
  readonly nodes: ReadonlyMap<string, number>
}

/**
 * The hands of the rebuilder on Redis. Every step names the epoch it belongs to and throws AppError `conflict` when
 * another rebuilder has raised a newer one meanwhile; all of them throw when Redis is away.
 */
export type GateKeeper = {
  view(): Promise<GateView>
  /** Makes every money script unknown and announces the epoch, in one step; `before` is what was seen there. */
  raise(epoch: number, before: MoneyEpoch | undefined): Promise<void>
  /** Loads every script but reserve, and notes the epoch in every bucket. */
  load(epoch: number): Promise<void>
  seed(epoch: number, balances: readonly Omit<PostedChange, 'rid' | 'postedAt'>[]): Promise<void>
  seedUses(epoch: number, seeds: readonly UseSeed[]): Promise<void>
  /** Takes the unposted captures of an older epoch into this one and forgets its sets; answers how many. */
  harvest(epoch: number, older: number): Promise<number>
  /** From here on the caps of offers are counted: whoever brings a capture later counts it there by itself. */
  startCounting(epoch: number): Promise<void>
  /** What the captures of this epoch took of their offers' caps, those that were posted and not confirmed among them. */
  unpostedUses(epoch: number): Promise<CapUse[]>
  /** Counts takes to the caps of their offers, each once an epoch, whoever brings it again. */
  takeCaps(epoch: number, takes: readonly CapUse[]): Promise<void>
  startRegistering(epoch: number): Promise<void>
  /** The nodes that have brought in what they have. */
  ready(epoch: number): Promise<ReadonlySet<string>>
  /** Tells nodes that their membership is on record. */
  admit(nodes: readonly string[]): Promise<void>
  /** Forgets nodes that left. */
  dismiss(nodes: readonly string[]): Promise<void>
  /** Loads reserve and announces the open gate, in one step. */
  open(epoch: number): Promise<void>
  /** The counters of keys and offers in Redis. */
  keyCounter(keyId: string, account: string): string
  offerCounter(offer: string): string
  /** Waits for accounts that some node wants seeded, at most `waitMs`; answers at most `limit`. */
  takeSeedRequests(limit: number, waitMs: number): Promise<string[]>
}
