import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { BUNDLE } from '#bundle/options.mjs'
import { REPOSITORY } from '#dev/network/programs.ts'
import { mutate } from '#test/faults/harness/build.ts'
import { LONG_MUTANTS } from './long-mutants.ts'
import { MUTANTS } from './mutants.ts'
import { PAYMENT_MUTANTS } from './payment-mutants.ts'
import type { Operation, Shares } from './plan.ts'
import { planOf } from './plan.ts'
import type { ProductMutant } from './product-mutants.ts'
import { PRODUCT_MUTANTS } from './product-mutants.ts'
import type { Outcome } from './run.ts'
import { runOperations } from './run.ts'

/** Runs operations in a world with one deliberate fault, or none. */
export type Runner = (
  seed: number,
  operations: readonly Operation[],
  trace?: (line: string) => void,
) => Promise<Outcome>

const BUILT_IN = [...PRODUCT_MUTANTS, ...PAYMENT_MUTANTS]
export const MUTANT_NAMES: readonly string[] = [...MUTANTS, ...BUILT_IN.map(({ name }) => name)]

/** Finds the runner of a mutant, or the one without a fault. Throws for a name that is no mutant's. */
export async function runnerOf(name: string | undefined): Promise<Runner> {
  if (name === undefined) return (seed, operations, trace) => runOperations(seed, operations, { trace })
  const mutant = MUTANTS.find((known) => known === name)
  if (mutant !== undefined) return (seed, operations, trace) => runOperations(seed, operations, { mutant, trace })
  const inProduct = [...BUILT_IN, ...LONG_MUTANTS].find((known) => known.name === name)
  if (inProduct === undefined) {
    const names = [...MUTANT_NAMES, ...LONG_MUTANTS.map((mutant) => mutant.name)]
    throw new Error(`mutants are ${names.join(', ')}`)
  }
  const run = await loadRun(inProduct)
  return (seed, operations, trace) => run(seed, operations, { trace })
}

export type Notice = { readonly seed: number; readonly message: string }
/** The plans in which a mutant is looked for: those of the seeds from 1 to `most`, and `first` before them. */
export type Hunt = {
  readonly operations: number
  readonly most: number
  readonly first?: number | undefined
  readonly shares: Shares
}

/**
 * Plays seeds until one breaks a promise, at most so many. Undefined when none does. Throws when the same seed breaks
 * one without the mutant, because then it was not the mutant that broke it.
 */
export async function seekNotice(run: Runner, hunt: Hunt): Promise<Notice | undefined> {
  const { operations, most, first, shares } = hunt
  const others = Array.from({ length: most }, (_, place) => place + 1).filter((seed) => seed !== first)
  for (const seed of first === undefined ? others : [first, ...others]) {
    const plan = () => planOf(seed, operations, shares)
    const { error } = await run(seed, plan())
    if (error === undefined) continue
    const honest = await runOperations(seed, plan())
    if (honest.error !== undefined) throw honest.error
    return { seed, message: error.message }
  }
  return undefined
}

/** Builds the simulation anew with the product's code changed, because the product itself knows no mutants. */
async function loadRun({ name, edits }: ProductMutant): Promise<typeof runOperations> {
  const folder = await mkdtemp(join(tmpdir(), 'sim-mutant-'))
  try {
    await build({
      ...BUNDLE,
      absWorkingDir: REPOSITORY,
      entryPoints: { run: 'test/sim/run.ts' },
      outdir: folder,
      logLevel: 'error',
      // Each plugin reads one file from disk, so two edits must not change the same file.
      plugins: edits.map((edit) => mutate({ name, ...edit })),
    })
    const loaded: unknown = await import(pathToFileURL(join(folder, 'run.mjs')).href)
    if (!isSimulation(loaded)) throw new Error(`${name}: what was built is no simulation`)
    return loaded.runOperations
  } finally {
    await rm(folder, { recursive: true })
  }
}

function isSimulation(loaded: unknown): loaded is typeof import('./run.ts') {
  return typeof loaded === 'object' && loaded !== null && 'runOperations' in loaded
}
