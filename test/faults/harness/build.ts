import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'
import { build } from 'esbuild'
import { BUNDLE } from '#bundle/options.mjs'
import { REPOSITORY } from '#dev/network/programs.ts'
import type { Edit } from '#test/support/replace-once.ts'
import { replaceOnce } from '#test/support/replace-once.ts'

/** The programs of a market as the image has them, each one file. */
export type Binaries = { readonly [Name in ProgramName]: string }

const PROGRAMS = {
  dataPlane: 'data-plane/main.ts',
  ownClock: 'test/faults/entries/data-plane.ts',
  controlPlane: 'control-plane/main.ts',
  checkLedger: 'control-plane/check-ledger/main.ts',
} as const
export type ProgramName = keyof typeof PROGRAMS

/** A mistake in the code itself: one place of one file is changed. */
export type Mutant = Edit & {
  readonly name: string
  /** The row that must fail because of it. */
  readonly caughtBy: string
}

/** Builds the programs into a folder. Throws unless the text that a mutant changes is there exactly once. */
export async function buildBinaries(folder: string, mutant?: Mutant): Promise<Binaries> {
  await build({
    ...BUNDLE,
    absWorkingDir: REPOSITORY,
    entryPoints: PROGRAMS,
    outdir: folder,
    sourcemap: 'linked',
    logLevel: 'error',
    plugins: mutant === undefined ? [] : [mutate(mutant)],
  })
  // Programs look for their version one folder up, as in the image.
  await copyFile(join(REPOSITORY, 'package.json'), join(folder, '..', 'package.json'))
  const at = (name: ProgramName) => join(folder, `${name}.mjs`)
  return {
    dataPlane: at('dataPlane'),
    ownClock: at('ownClock'),
    controlPlane: at('controlPlane'),
    checkLedger: at('checkLedger'),
  }
}

/** Changes one place of a file while a program is built. */
function mutate({ name, ...edit }: Mutant): Plugin {
  const { file } = edit
  return {
    name,
    setup({ onLoad, onEnd }) {
      let isDone = false
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (path !== join(REPOSITORY, file)) return undefined
        const contents = replaceOnce(await readFile(path, 'utf8'), edit)
        isDone = true
        return { contents, loader: 'ts' }
      })
      onEnd(() => {
        if (!isDone) throw new Error(`${name}: ${file} is in no program`)
      })
    },
  }
}
