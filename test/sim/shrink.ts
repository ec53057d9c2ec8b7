import type { Operation } from './plan/plan.ts'
import type { Runner } from './run.ts'

/** Largest number of runs in which a failure is shortened. */
const MAX_RUNS = 400

export type Shrunk = { readonly operations: readonly Operation[]; readonly error: Error }

/**
 * Removes operations as long as the run still breaks the same promise (delta debugging, Zeller and Hildebrandt 2002).
 * Halves are removed first, then smaller and smaller pieces.
 */
export async function shrink(seed: number, all: readonly Operation[], run: Runner): Promise<Shrunk> {
  let runs = 0
  const fails = async (operations: readonly Operation[]): Promise<Error | undefined> => {
    runs += 1
    return (await run(seed, operations)).error
  }
  let operations = all
  let error = (await fails(all)) ?? new Error('the seed does not fail')
  const kind = kindOf(error)
  for (let size = Math.ceil(all.length / 2); size >= 1 && runs < MAX_RUNS; ) {
    let isSmaller = false
    for (let start = 0; start < operations.length && runs < MAX_RUNS; ) {
      const left = [...operations.slice(0, start), ...operations.slice(start + size)]
      const again = await fails(left)
      if (again !== undefined && kindOf(again) === kind) {
        operations = left
        error = again
        isSmaller = true
      } else {
        start += size
      }
    }
    if (size === 1 && !isSmaller) break
    size = size === 1 ? 1 : Math.ceil(size / 2)
  }
  return { operations, error }
}

function kindOf(error: Error): string {
  return error.message.split(':')[0] ?? ''
}
