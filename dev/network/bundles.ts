import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'
import { build } from 'esbuild'
import { HOUR } from '#shared/clock.ts'

/** Programs that are started as bundles: a bundle is up in a fifth of the time that its sources take. */
const PROGRAMS: ReadonlyMap<string, string> = new Map([
  ['data-plane/main.ts', 'data-plane'],
  ['control-plane/main.ts', 'control-plane'],
  ['dev/provider/main.ts', 'provider'],
])
/** What the programs are made of. */
const SOURCES = ['shared', 'data-plane', 'control-plane', 'dev'] as const
const FOLDER = 'dist'
const PREFIX = 'dev-'
/** A bundle that nobody has made for so long goes: a market that runs from it has read it. */
const KEPT_MS = 1 * HOUR
/** Bundled CommonJS packages ask for a `require` that an ES module lacks. */
const BANNER =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** A folder of somebody else, a medium that takes nothing. */
const UNWRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC'])

let made: Promise<string | undefined> | undefined

/**
 * The file to run for a program of the repository: its bundle, made after each change of the sources, or undefined for
 * one that has none, and where nothing can be written.
 */
export async function bundleOf(repository: string, program: string): Promise<string | undefined> {
  const name = PROGRAMS.get(program)
  if (name === undefined) return undefined
  made ??= makeBundles(repository)
  const stem = await made
  return stem === undefined ? undefined : `${stem}${name}.mjs`
}

/** Answers what the names of all bundles begin with. */
async function makeBundles(repository: string): Promise<string | undefined> {
  try {
    const folder = join(repository, FOLDER)
    const stem = join(folder, `${PREFIX}${stampOf(repository)}-`)
    const names = [...PROGRAMS.values()]
    if (names.every((name) => existsSync(`${stem}${name}.mjs`))) return stem
    mkdirSync(folder, { recursive: true })
    removeOld(folder)
    await buildInto(repository, stem)
    return stem
  } catch (error) {
    if (isUnwritable(error)) return undefined
    throw error
  }
}

function isUnwritable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && UNWRITABLE.has(String(error.code))
}

async function buildInto(repository: string, stem: string): Promise<void> {
  // Under a name of our own until it is whole: another start may be making the same.
  const draft = `${stem}${process.pid}-`
  await build({
    absWorkingDir: repository,
    entryPoints: [...PROGRAMS].map(([path, name]) => ({ in: path, out: `${draft}${name}` })),
    outdir: join(repository, FOLDER),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // A page for developers that weighs more than all else, and what nobody installs.
    external: ['pg-native', '@graphql-yoga/render-graphiql'],
    banner: { js: BANNER },
    logLevel: 'silent',
    plugins: [keepAddresses],
  })
  for (const name of PROGRAMS.values()) renameSync(`${draft}${name}.mjs`, `${stem}${name}.mjs`)
}

/** Sources find files beside them by their own address: in a bundle they keep it. */
const keepAddresses: Plugin = {
  name: 'keep-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = path.includes('node_modules') ? '' : await readFile(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'ts' }
    })
  },
}

/** Changes whenever a source or an installed package does. */
function stampOf(repository: string): string {
  let newest = statSync(join(repository, 'package.json')).mtimeMs
  let count = 0
  for (const folder of SOURCES) {
    for (const name of readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue
      newest = Math.max(newest, statSync(join(repository, folder, name)).mtimeMs)
      count += 1
    }
  }
  const installed = join(repository, 'node_modules', '.package-lock.json')
  if (existsSync(installed)) newest = Math.max(newest, statSync(installed).mtimeMs)
  return `${count}-${Math.round(newest).toString(36)}`
}

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (name.startsWith(PREFIX) && Date.now() - statSync(file).mtimeMs > KEPT_MS) rmSync(file, { force: true })
  }
}
