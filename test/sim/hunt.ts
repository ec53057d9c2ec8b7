import type { KeptCase } from './kept-cases.ts'
import type { Shares } from './plan/plan.ts'
import { planOf } from './plan/plan.ts'
import type { Runner } from './run.ts'
import { runOperations } from './run.ts'

/** Number of operations in each plan. */
export const HUNT_OPERATIONS = 300

type Notice = { readonly seed: number; readonly message: string }
/** The plans in which a mistake is searched for: `kept`, then those of the seeds from 1 to `most`. */
export type Hunt = { readonly most: number; readonly shares: Shares; readonly kept?: KeptCase | undefined }

/**
 * Plays plans until one breaks a promise. Returns undefined when none does. Throws when the same plan breaks a promise
 * without the mistake too, because then the mistake is not the cause.
 */
export async function seekNotice(run: Runner, hunt: Hunt): Promise<Notice | undefined> {
  for (const { seed, operations } of plansOf(hunt)) {
    const { error } = await run(seed, operations)
    if (error === undefined) continue
    const honest = await runOperations(seed, operations)
    if (honest.error !== undefined) throw honest.error
    return { seed, message: error.message }
  }
  return undefined
}

function* plansOf({ most, kept, shares }: Hunt): Generator<KeptCase> {
  if (kept !== undefined) yield kept
  for (let seed = 1; seed <= most; seed++) yield { seed, operations: planOf(seed, HUNT_OPERATIONS, shares) }
}
