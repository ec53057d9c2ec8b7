import { join } from 'node:path'
import { freshBundles } from '#bundle/fresh-bundles.mjs'
import { BUNDLE } from '#bundle/options.mjs'

/** Programs that a network starts as bundles. */
const NETWORK: Readonly<Record<string, string>> = {
  'data-plane': 'data-plane/main.ts',
  'control-plane': 'control-plane/main.ts',
  provider: 'dev/provider/main.ts',
  migrate: 'control-plane/migrate.ts',
  seed: 'dev/seed/main.ts',
  history: 'dev/seed/history-main.ts',
}

/** The bundles of some programs. All are built once, at the first request for one of them. */
export type Bundles = {
  /** The bundle of a program of the repository. Undefined when it has none, or when none can be written. */
  bundleOf(program: string): Promise<string | undefined>
}

/** The bundles below `dist/{name}`. By default those of a network. */
export function createBundles(name = 'dev', programs = NETWORK): Bundles {
  let made: Promise<string | undefined> | undefined
  return {
    async bundleOf(program) {
      const file = Object.keys(programs).find((known) => programs[known] === program)
      if (file === undefined) return undefined
      made ??= makeBundles(name, programs)
      const folder = await made
      return folder === undefined ? undefined : join(folder, `${file}.mjs`)
    },
  }
}

function makeBundles(name: string, programs: Readonly<Record<string, string>>): Promise<string | undefined> {
  return freshBundles({
    name,
    programs,
    sources: ['shared', 'data-plane', 'control-plane', 'dev', ...Object.values(programs)],
    // The page for developers is larger than the rest together, and builders find their parts beside themselves.
    options: { external: [...BUNDLE.external, '@graphql-yoga/render-graphiql', '#bundle/*'] },
  })
}
