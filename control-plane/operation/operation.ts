import type { z } from 'zod'
import type { Actor, BuyerActor, OperatorActor, OrgActor, SellerActor, SessionActor } from './actor.ts'
import type { Change } from './audit.ts'
import type { Ctx, LimitKind } from './ctx.ts'
import type { Replay } from './idempotency.ts'

/** The context of a running operation. */
export type RunCtx = Ctx & {
  /** Says what is being changed; the audit row holds it when the operation ends well. */
  note(change: Change): void
  /** Counts a call that counts when its run says so, for a wallet or, without one, for the caller's network address. */
  count(wallet?: string): Promise<void>
}

/** Which actor an operation with this access is given. */
export type ActorsByAccess = {
  readonly public: Actor
  readonly buyer: BuyerActor
  /** Whoever changes what the whole account goes by: any buyer but a bounded key. */
  readonly 'buyer-account': BuyerActor
  readonly seller: SellerActor
  readonly session: SessionActor
  readonly org: OrgActor | SessionActor
  readonly operator: OperatorActor
}
export type Access = keyof ActorsByAccess

/** One thing a caller can do. */
export type Operation<A extends Access, Input extends z.ZodType, Output> = {
  /** `noun.verb`, as audit and metrics know it. */
  readonly name: string
  readonly access: A
  readonly input: Input
  /**
   * What it answers: doors and their descriptions read the shape of an answer here. Nothing is validated while it runs;
   * the tests hold every answer against it.
   */
  readonly output: z.ZodType<Output>
  /** Which limit counts it. `none` is for operations of operators. Whatever is not a `read` is audited. */
  readonly limit: LimitKind | 'none'
  /**
   * For callers without a credential: what a call is about. Each network address has the limit for each of them to itself,
   * so that nobody can use up what another needs.
   */
  readonly countBy?: (input: z.output<Input>) => string
  /** True where the run finds out for whom a call counts, and says so with `count`. */
  readonly isCountedByRun?: true
  /** False for what changes nothing, although it is not counted as a `read`. */
  readonly isAudited?: false
  readonly run: (ctx: RunCtx, actor: ActorsByAccess[A], input: z.output<Input>) => Promise<Output>
} & Replay<Output>

/** Names the parts of an operation and infers their types. */
export function defineOperation<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
): Operation<A, Input, Output> {
  return operation
}
