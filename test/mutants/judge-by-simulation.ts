import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { BUNDLE } from '#bundle/options.mjs'
import { REPOSITORY } from '#dev/network/programs.ts'
import { seekNotice } from '#test/sim/hunt.ts'
import type { KeptCases } from '#test/sim/kept-cases.ts'
import type { Runner, runOperations } from '#test/sim/run.ts'
import { changeSources } from '#test/support/change-sources.ts'
import type { Judge } from './judge.ts'
import type { Mutant } from './mutant.ts'

/** The simulation with mutants in the product's code, because the product itself knows none. */
export type Workshop = { build(mutant: Mutant): Promise<Runner>; close(): Promise<void> }

export function createWorkshop(): Workshop {
  let made: Promise<string> | undefined
  let built = 0
  async function makeFolder(): Promise<string> {
    // Packages are found from a folder inside the repository.
    const parent = join(REPOSITORY, 'dist')
    await mkdir(parent, { recursive: true })
    return mkdtemp(join(parent, 'sim-'))
  }
  return {
    async build({ edits }) {
      made ??= makeFolder()
      const { outputFiles = [] } = await build({
        ...BUNDLE,
        packages: 'external',
        absWorkingDir: REPOSITORY,
        entryPoints: { run: 'test/sim/run.ts' },
        write: false,
        outdir: await made,
        logLevel: 'error',
        plugins: [changeSources(edits)],
      })
      built += 1
      const file = join(await made, `run-${built}.mjs`)
      await writeFile(file, outputFiles[0]?.text ?? '')
      const loaded: { readonly runOperations: typeof runOperations } = await import(pathToFileURL(file).href)
      return (seed, operations) => loaded.runOperations(seed, operations)
    },
    async close() {
      if (made !== undefined) await rm(await made, { recursive: true })
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
