import type { Offer } from '#data-plane/call.ts'
import { MAX_ATTEMPTS } from '#shared/contract/usage-event.ts'
import type { AppError } from '#shared/errors.ts'
import { toAppError } from '#shared/errors.ts'
import type { Course } from './plan/plan-call.ts'

export type TurnBounds = {
  /** Attempts of this turn and of the turns before it together. */
  readonly maxAttempts: number
  /** True when no other turn follows. */
  readonly isLast: boolean
}

/** The ways to try offers of one kind. Each returns undefined while another kind may take over. */
export type Turns<Result> = {
  own(offers: readonly Offer[], bounds: TurnBounds): Promise<Result | undefined>
  sold(bounds: TurnBounds): Promise<Result | undefined>
  /** True when the payer's own providers may still take over after the marketplace has refused. */
  mayFallBack(error: AppError): boolean
}

/**
 * Tries the payer's own providers of the model, then the marketplace, then the payer's providers for every model. An
 * attempt is reserved for each later turn.
 */
export async function inTurns<Result>({ own }: Pick<Course, 'own'>, turns: Turns<Result>): Promise<Result | undefined> {
  const { first, last } = own
  const keptTurns = last.length > 0 ? 1 : 0
  if (first.length > 0) {
    const result = await turns.own(first, { maxAttempts: MAX_ATTEMPTS - 1 - keptTurns, isLast: false })
    if (result !== undefined) return result
  }
  try {
    const result = await turns.sold({ maxAttempts: MAX_ATTEMPTS - keptTurns, isLast: keptTurns === 0 })
    if (result !== undefined || keptTurns === 0) return result
  } catch (thrown) {
    if (keptTurns === 0 || !turns.mayFallBack(toAppError(thrown))) throw thrown
  }
  return turns.own(last, { maxAttempts: MAX_ATTEMPTS, isLast: true })
}
