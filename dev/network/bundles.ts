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

/** The bundles of one network. All are made once, when the first of them is asked for. */
export type Bundles = {
  /** The bundle of a program of the repository. Undefined when it has none, or when none can be written. */
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
    // The page for developers is larger than everything else together. It stays where it is installed.
    options: { external: [...BUNDLE.external, '@graphql-yoga/render-graphiql'] },
  })
}
