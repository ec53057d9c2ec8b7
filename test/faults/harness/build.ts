import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { BUNDLE } from '#bundle/options.mjs'
import { REPOSITORY } from '#dev/network/programs.ts'
import { changeSources } from '#test/support/sources/change-sources.ts'
import type { Edit } from '#test/support/sources/replace-once.ts'

/** The programs of a market as in the image, each in one file. */
export type Binaries = { readonly [Name in ProgramName]: string }

const PROGRAMS = {
  dataPlane: 'data-plane/main.ts',
  ownClock: 'test/faults/entries/data-plane.ts',
  controlPlane: 'control-plane/main.ts',
  checkLedger: 'control-plane/check-ledger/main.ts',
} as const
export type ProgramName = keyof typeof PROGRAMS

/**
 * Builds the programs into a folder, with mistakes in the code. Throws unless the code has the text that each mistake
 * replaces.
 */
export async function buildBinaries(folder: string, edits: readonly Edit[] = []): Promise<Binaries> {
  await build({
    ...BUNDLE,
    absWorkingDir: REPOSITORY,
    entryPoints: PROGRAMS,
    outdir: folder,
    // The faults need no GraphiQL, which is half of the code that a process would load at its start.
    external: [...BUNDLE.external, '@graphql-yoga/render-graphiql'],
    sourcemap: 'linked',
    logLevel: 'error',
    plugins: [
      changeSources(
        edits.map(({ file }) => file),
        () => edits,
      ),
    ],
  })
  // Programs read their version one folder up, as in the image.
  await copyFile(join(REPOSITORY, 'package.json'), join(folder, '..', 'package.json'))
  const at = (name: ProgramName) => join(folder, `${name}.mjs`)
  return {
    dataPlane: at('dataPlane'),
    ownClock: at('ownClock'),
    controlPlane: at('controlPlane'),
    checkLedger: at('checkLedger'),
  }
}
