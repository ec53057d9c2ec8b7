import { join } from 'node:path'
import { freshBundles } from '#bundle/fresh-bundles.mjs'
import { BUNDLE } from '#bundle/options.mjs'

/** Programs that are started as bundles. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'data-plane': 'data-plane/main.ts',
  'control-plane': 'control-plane/main.ts',
  provider: 'dev/provider/main.ts',
  migrate: 'control-plane/migrate.ts',
  seed: 'dev/seed/main.ts',
  history: 'dev/seed/history-main.ts',
}

/** The bundles of one network. They are made when the first of them is asked for, and once. */
export type Bundles = {
  /** The bundle to run for a program of the repository; undefined for one that has none, and where none can be written. */
  bundleOf(program: string): Promise<string | undefined>
}

export function createBundles(): Bundles {
  let made: Promise<string | undefined> | undefined
  return {
    async bundleOf(program) {
      const name = Object.keys(PROGRAMS).find((known) => PROGRAMS[known] === program)
      if (name === undefined) return undefined
      made ??= makeBundles()
      const folder = await made
      return folder === undefined ? undefined : join(folder, `${name}.mjs`)
    },
  }
}

function makeBundles(): Promise<string | undefined> {
  return freshBundles({
    name: 'dev',
    programs: PROGRAMS,
    sources: ['shared', 'data-plane', 'control-plane', 'dev'],
    // A page for developers that weighs more than all else stays where it is installed.
    options: { external: [...BUNDLE.external, '@graphql-yoga/render-graphiql'] },
  })
}
