import type { Shares } from '#test/sim/plan/plan.ts'
import type { Edit } from '#test/support/sources/replace-once.ts'

/** The part of the tests that must notice a mutant. */
export type Noticer =
  /** A test file below `test/`, without its ending. */
  | { readonly by: 'tests'; readonly file: string }
  /** A row of `test/faults`. */
  | { readonly by: 'rows'; readonly row: string }
  | {
      readonly by: 'simulation'
      /** The largest number of seeds that may pass before it is noticed. */
      readonly mostSeeds: number
      /** The kinds of operations in the seeds other than calls. */
      readonly shares: Shares
      /** True when every test run tries it. */
      readonly isQuick: boolean
    }

/** A mistake that an author could make in the product's code, and the tests that must fail because of it. */
export type Mutant = {
  readonly name: string
  readonly edits: readonly Edit[]
  readonly noticedBy: Noticer
}

/**
 * A mutant that changes texts of one place: a file, or `file#function`. Each key of `changes` is replaced by its value.
 */
export function mutant(
  name: string,
  noticedBy: Noticer,
  place: string,
  changes: Readonly<Record<string, string>>,
): Mutant {
  return { name, noticedBy, edits: editsOf(place, changes) }
}

/** The same changes, for a mutant that has them in several places. */
export function editsOf(place: string, changes: Readonly<Record<string, string>>): Edit[] {
  const [file = '', within] = place.split('#')
  return Object.entries(changes).map(([find, replace]) => ({ file, ...(within && { within }), find, replace }))
}

export const tests = (file: string): Noticer => ({ by: 'tests', file })
export const row = (number: string): Noticer => ({ by: 'rows', row: number })

/** A mutant of the simulation that only `npm run test:mutants` tries. */
export function seeds(mostSeeds: number, shares: Shares = {}, isQuick = false): Noticer {
  return { by: 'simulation', mostSeeds, shares: { relays: 0, jobs: 0, wallets: 0, ...shares }, isQuick }
}

/** A mutant of the simulation that is noticed so soon that every test run tries it. */
export const quick = (mostSeeds: number, shares?: Shares) => seeds(mostSeeds, shares, true)
