import type { z } from 'zod'
import type { Actor, BuyerActor, OperatorActor, OrgActor, SellerActor, SessionActor } from './actor.ts'
import type { AuditedChanges } from './audit.ts'
import type { Ctx, LimitKind } from './ctx.ts'
import type { Replay } from './run-once.ts'

/** The context of a running operation. */
export type RunCtx = Ctx &
  AuditedChanges & {
    /**
     * Counts a call of an operation with `isCountedByRun`: for the given wallet, or else for the caller's network
     * address.
     */
    count(wallet?: string): Promise<void>
  }

/** The actor that an operation receives, by its access. */
export type ActorsByAccess = {
  readonly public: Actor
  readonly buyer: BuyerActor
  /** A buyer who may change settings of the whole account: any buyer but one with a bounded key. */
  readonly 'buyer-account': BuyerActor
  readonly seller: SellerActor
  readonly session: SessionActor
  readonly org: OrgActor | SessionActor
  readonly operator: OperatorActor
}
export type Access = keyof ActorsByAccess

/** An action that a caller can take. */
export type Operation<A extends Access, Input extends z.ZodType, Output> = {
  /** `noun.verb`; audit rows and metrics use this name. */
  readonly name: string
  /** A line in the imperative, without a full stop. The descriptions of all doors begin with it. */
  readonly summary: string
  /** Further sentences in the descriptions of all doors. */
  readonly about?: string
  /** Members of an input that works on a fresh market. */
  readonly example?: Partial<z.input<Input>>
  readonly access: A
  readonly input: Input
  /**
   * The schema of the answer. Doors and their documentation read its shape. It validates nothing at run time; the tests
   * check every answer against it.
   */
  readonly output: z.ZodType<Output>
  /** The limit that counts the call. `none` is for operators' operations. Every operation but a `read` is audited. */
  readonly limit: LimitKind | 'none'
  /**
   * Returns the subject of a call without a credential. Each network address has a separate limit for each subject, so
   * no caller can use up a limit that another caller needs.
   */
  readonly countBy?: (input: z.output<Input>) => string
  /** True when the run finds out which wallet or address the call counts for, and calls `count`. */
  readonly isCountedByRun?: true
  /** False for an operation that changes nothing, but whose limit is not `read`. */
  readonly isAudited?: false
  readonly run: (ctx: RunCtx, actor: ActorsByAccess[A], input: z.output<Input>) => Promise<Output>
} & Replay<Output>

/** Returns the operation unchanged; only its types are inferred. */
export function defineOperation<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
): Operation<A, Input, Output> {
  return operation
}
