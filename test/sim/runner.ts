import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildContext, Plugin } from 'esbuild'
import { context } from 'esbuild'
import { BUNDLE } from '#bundle/options.mjs'
import { REPOSITORY } from '#dev/network/programs.ts'
import { replaceOnce } from '#test/support/replace-once.ts'
import type { KeptCase } from './kept-cases.ts'
import { LONG_MUTANTS } from './long-mutants.ts'
import { MUTANTS } from './mutants.ts'
import { PAYMENT_MUTANTS } from './payment-mutants.ts'
import type { Operation, Shares } from './plan.ts'
import { planOf } from './plan.ts'
import type { ProductMutant } from './product-mutants.ts'
import { PRODUCT_MUTANTS } from './product-mutants.ts'
import { RELAY_MUTANTS } from './relay-mutants.ts'
import type { Outcome } from './run.ts'
import { runOperations } from './run.ts'

/** Runs operations in a world with one deliberate fault, or none. */
export type Runner = (
  seed: number,
  operations: readonly Operation[],
  trace?: (line: string) => void,
) => Promise<Outcome>

const BUILT_IN = [...PRODUCT_MUTANTS, ...RELAY_MUTANTS, ...PAYMENT_MUTANTS]
const IN_PRODUCT: readonly ProductMutant[] = [...BUILT_IN, ...LONG_MUTANTS]
export const MUTANT_NAMES: readonly string[] = [...MUTANTS, ...BUILT_IN.map(({ name }) => name)]

/** Finds runners. Close it at the end. */
export type Runners = {
  /** The runner of a mutant, or the one without a fault. Throws for a name that is no mutant's. */
  of(name: string | undefined): Promise<Runner>
  close(): Promise<void>
}

export function createRunners(): Runners {
  const workshop = createWorkshop()
  return {
    async of(name) {
      if (name === undefined) return (seed, operations, trace) => runOperations(seed, operations, { trace })
      const mutant = MUTANTS.find((known) => known === name)
      if (mutant !== undefined) return (seed, operations, trace) => runOperations(seed, operations, { mutant, trace })
      const inProduct = IN_PRODUCT.find((known) => known.name === name)
      if (inProduct === undefined) {
        const names = [...MUTANT_NAMES, ...LONG_MUTANTS.map((long) => long.name)]
        throw new Error(`mutants are ${names.join(', ')}`)
      }
      const run = await workshop.build(inProduct)
      return (seed, operations, trace) => run(seed, operations, { trace })
    },
    close: () => workshop.close(),
  }
}

export type Notice = { readonly seed: number; readonly message: string }
/** The plans in which a mutant is looked for: `kept`, then those of the seeds from 1 to `most`. */
export type Hunt = {
  readonly operations: number
  readonly most: number
  readonly kept?: KeptCase | undefined
  readonly shares: Shares
}

/**
 * Plays plans until one breaks a promise. Undefined when none does. Throws when the same plan breaks one without the
 * mutant, because then it was not the mutant that broke it.
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

function* plansOf({ operations, most, kept, shares }: Hunt): Generator<KeptCase> {
  if (kept !== undefined) yield kept
  for (let seed = 1; seed <= most; seed++) yield { seed, operations: planOf(seed, operations, shares) }
}

type Workshop = {
  build(mutant: ProductMutant): Promise<typeof runOperations>
  close(): Promise<void>
}

/** Builds the simulation anew with the product's code changed, because the product itself knows no mutants. */
function createWorkshop(): Workshop {
  let current: ProductMutant | undefined
  let opened: Promise<{ readonly bench: BuildContext; readonly folder: string }> | undefined
  let built = 0
  /** A single context for all, so that files no mutant has changed are read once. Packages stay where they are. */
  async function open() {
    const parent = join(REPOSITORY, 'dist')
    await mkdir(parent, { recursive: true })
    const folder = await mkdtemp(join(parent, 'sim-'))
    const bench = await context({
      ...BUNDLE,
      packages: 'external',
      absWorkingDir: REPOSITORY,
      entryPoints: { run: 'test/sim/run.ts' },
      write: false,
      outdir: folder,
      logLevel: 'error',
      plugins: [changeFiles(() => current)],
    })
    return { bench, folder }
  }
  return {
    async build(mutant) {
      opened ??= open()
      const { bench, folder } = await opened
      current = mutant
      const { outputFiles = [] } = await bench.rebuild()
      built += 1
      const file = join(folder, `run-${built}.mjs`)
      await writeFile(file, outputFiles[0]?.text ?? '')
      const loaded: unknown = await import(pathToFileURL(file).href)
      if (!isSimulation(loaded)) throw new Error(`${mutant.name}: what was built is no simulation`)
      return loaded.runOperations
    },
    async close() {
      if (opened === undefined) return
      const { bench, folder } = await opened
      await bench.dispose()
      await rm(folder, { recursive: true })
    },
  }
}

/** Changes the files of the current mutant as they are read. Throws unless each text that it changes is there once. */
function changeFiles(currentOf: () => ProductMutant | undefined): Plugin {
  const names = new Set(IN_PRODUCT.flatMap(({ edits }) => edits.map(({ file }) => basename(file))))
  const filter = new RegExp(`/(?:${[...names].map((name) => name.replaceAll('.', '\\.')).join('|')})$`)
  return {
    name: 'mutant',
    setup({ onStart, onLoad, onEnd }) {
      const done = new Set<string>()
      onStart(() => done.clear())
      onLoad({ filter }, async ({ path }) => {
        const mutant = currentOf()
        const edits = mutant?.edits.filter(({ file }) => path === join(REPOSITORY, file)) ?? []
        let contents = await readFile(path, 'utf8')
        for (const edit of edits) {
          contents = replaceOnce(contents, edit)
          done.add(edit.file)
        }
        return { contents, loader: 'ts' }
      })
      onEnd(() => {
        const missing = currentOf()?.edits.find(({ file }) => !done.has(file))
        if (missing !== undefined) throw new Error(`${currentOf()?.name}: ${missing.file} is in no program`)
      })
    },
  }
}

function isSimulation(loaded: unknown): loaded is typeof import('./run.ts') {
  return typeof loaded === 'object' && loaded !== null && 'runOperations' in loaded
}
