// @ts-check
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { BUNDLE } from './options.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The files that say how and of what a bundle is made, beside its sources. */
const RECIPE = ['bundle', 'package.json', 'node_modules/.package-lock.json']
/** Bundles of sources that have changed since go after so long: what runs from them has loaded all it needs. */
const KEPT_MS = 3_600_000
/** A folder of somebody else, a medium that takes nothing. */
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC'])

/**
 * @typedef {object} Wish
 * @property {string} name Of the folder below `dist` that the bundles lie in.
 * @property {Record<string, string>} programs The name of each bundle and the source that it begins with.
 * @property {readonly string[]} sources The folders that the programs are made of.
 * @property {import('esbuild').BuildOptions} [options] What is special about these bundles.
 */

/**
 * The folder with the bundles of some programs, made anew after each change of their sources: a bundle is up in a
 * fraction of the time that sources take to load. Undefined where nothing can be written. Throws what esbuild does.
 * @param {Wish} wish
 * @returns {Promise<string | undefined>}
 */
export function freshBundles({ name, programs, sources, options = {} }) {
  return freshFolder(name, sources, async (draft) => {
    const { build, stop } = await import('esbuild')
    await build({
      ...BUNDLE,
      logLevel: 'silent',
      ...options,
      absWorkingDir: ROOT,
      entryPoints: programs,
      outdir: draft,
      plugins: [keepAddresses],
    })
    // The process of esbuild would stay for as long as ours.
    await stop()
  })
}

/**
 * The folder below `dist` with what `make` makes of some sources, made anew after each change of them. Undefined where
 * nothing can be written. Throws what `make` does.
 * @param {string} name
 * @param {readonly string[]} sources
 * @param {(draft: string) => Promise<void>} make
 * @returns {Promise<string | undefined>}
 */
export async function freshFolder(name, sources, make) {
  const all = join(ROOT, 'dist', name)
  const folder = join(all, stampOf([...RECIPE, ...sources]))
  if (existsSync(folder)) return folder
  // Under a name of our own until it is whole: another start may be making the same.
  const draft = `${folder}.${process.pid}`
  try {
    mkdirSync(draft, { recursive: true })
    await make(draft)
    removeOld(all)
    place(draft, folder)
    return folder
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (error instanceof Error && 'code' in error && UNWRITABLE.has(String(error.code))) return undefined
    throw error
  }
}

/**
 * @param {string} draft
 * @param {string} folder
 */
function place(draft, folder) {
  try {
    renameSync(draft, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    // A second start with the same sources was quicker.
    rmSync(draft, { recursive: true, force: true })
  }
}

/**
 * Sources find files beside them by their own address: in a bundle they keep it.
 * @type {import('esbuild').Plugin}
 */
const keepAddresses = {
  name: 'keep-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = path.includes('node_modules') ? '' : await readFile(path, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'ts' }
    })
  },
}

/**
 * Changes whenever a file of these paths does.
 * @param {readonly string[]} paths
 */
function stampOf(paths) {
  const files = paths.map((path) => join(ROOT, path)).flatMap(filesAt)
  const newest = files.reduce((latest, file) => Math.max(latest, statSync(file).mtimeMs), 0)
  return `${files.length}-${Math.round(newest).toString(36)}`
}

/**
 * The file itself, or the sources below a folder; none where there is nothing.
 * @param {string} path
 * @returns {string[]}
 */
function filesAt(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => /\.(?:m?ts|mjs|tsx|css|html|graphql|json|md)$/.test(name))
    .map((name) => join(path, name))
}

/** @param {string} folder */
function removeOld(folder) {
  for (const known of readdirSync(folder)) {
    const path = join(folder, known)
    // A second start may have removed it meanwhile.
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - madeAt > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
