import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { context } from 'esbuild'
import { BUNDLE } from '#bundle/options.mjs'
import { REPOSITORY } from '#dev/network/programs.ts'
import { seekNotice } from '#test/sim/hunt.ts'
import type { KeptCases } from '#test/sim/kept-cases.ts'
import type { Runner, runOperations } from '#test/sim/run.ts'
import { changeSources } from '#test/support/sources/change-sources.ts'
import type { Edit } from '#test/support/sources/replace-once.ts'
import { MUTANTS } from './index.ts'
import type { Judge } from './judge.ts'
import type { Mutant } from './mutant.ts'

/** The simulation with mutants in the product's code. The product itself contains none. */
export type Workshop = { build(mutant: Mutant): Promise<Runner>; close(): Promise<void> }

export function createWorkshop(): Workshop {
  let opened: ReturnType<typeof open> | undefined
  let current: readonly Edit[] = []
  let built = 0
  /** A single context for all mutants, so that unchanged files are read once. */
  async function open() {
    // Packages are resolved from a folder inside the repository.
    const parent = join(REPOSITORY, 'dist')
    await mkdir(parent, { recursive: true })
    const folder = await mkdtemp(join(parent, 'sim-'))
    const files = MUTANTS.flatMap(({ edits }) => edits.map(({ file }) => file))
    const bench = await context({
      ...BUNDLE,
      packages: 'external',
      absWorkingDir: REPOSITORY,
      entryPoints: { run: 'test/sim/run.ts' },
      write: false,
      outdir: folder,
      logLevel: 'error',
      plugins: [changeSources([...new Set(files)], () => current)],
    })
    return { bench, folder }
  }
  return {
    async build({ edits }) {
      opened ??= open()
      const { bench, folder } = await opened
      current = edits
      const { outputFiles = [] } = await bench.rebuild()
      built += 1
      const file = join(folder, `run-${built}.mjs`)
      await writeFile(file, outputFiles[0]?.text ?? '')
      const loaded: { readonly runOperations: typeof runOperations } = await import(pathToFileURL(file).href)
      return (seed, operations) => loaded.runOperations(seed, operations)
    },
    async close() {
      if (opened === undefined) return
      const { bench, folder } = await opened
      await bench.dispose()
      await rm(folder, { recursive: true })
    },
  }
}

/** Plays the kept case of a mutant, then its seeds. */
export function createSimulationJudge(kept: KeptCases): Judge<'simulation'> {
  const workshop = createWorkshop()
  return {
    async judge(mutant, { mostSeeds: most, shares }) {
      const found = await seekNotice(await workshop.build(mutant), { most, shares, kept: kept.get(mutant.name) })
      return found === undefined
        ? { is: 'MISSED', by: `${most} seeds` }
        : { is: 'caught', by: `seed ${found.seed}: ${found.message.slice(0, 120)}` }
    },
    close: () => workshop.close(),
  }
}
