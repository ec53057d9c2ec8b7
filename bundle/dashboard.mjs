// @ts-check
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freshFolder } from './fresh-bundles.mjs'

const SOURCES = fileURLToPath(new URL('../control-plane/dashboard', import.meta.url))
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const THIS = fileURLToPath(import.meta.url)
const PAGES = fileURLToPath(new URL('documentation/main.ts', import.meta.url))
/** The sources of the page: its own, the vocabulary that it shares with the planes, and the texts of `/docs`. */
const FOLDERS = ['control-plane/dashboard', 'shared', 'docs', 'CHANGELOG.md']

/**
 * Code that most screens share is one file: each further file of a screen waits for one of the six connections of a
 * browser, and on a slow line for a way there and back. Charts are a second file, since half of the screens have none.
 * Code of some screens lies with them: a file of three hundred bytes costs a hundred more than its content.
 */
const GROUPS = [
  {
    name: 'shared',
    priority: 3,
    test: /control-plane\/dashboard\/(?:ui\/(?!kept-input)|data\/|market\/)/,
    minShareCount: 15,
  },
  // The first view has no field with its value in the address.
  { name: 'kept', priority: 2, test: /dashboard\/ui\/kept-input/, minShareCount: 2 },
  {
    name: 'charts',
    priority: 2,
    test: /control-plane\/dashboard\/(?:charts\/(?!sparkline|meter|heat|every|uptime)|market\/(?:price-text|market-columns))/,
    minShareCount: 2,
  },
  {
    name: 'market',
    priority: 2,
    test: /dashboard\/market\/(?:model-link|model-name|prices|trade-table)/,
    minShareCount: 2,
  },
  { name: 'live', priority: 1, test: /control-plane\/dashboard\/(?:ui\/live-mark|data\/use-now)/, minShareCount: 2 },
]

/**
 * Builds the web page into a folder.
 * @param {string} outDir
 */
export async function buildDashboard(outDir) {
  const { writeDocuments } = await import('./codegen.mjs')
  await writeDocuments()
  const { build } = await import('vite')
  // Vite takes the variable for the build's, and what a test runner set would make it React's for development.
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  try {
    await build(optionsFor(outDir))
  } finally {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  }
  await promisify(execFile)(process.execPath, ['--import', 'tsx', PAGES, join(outDir, 'docs')], { cwd: ROOT })
}

/**
 * @param {string} outDir
 * @returns {import('vite').InlineConfig}
 */
function optionsFor(outDir) {
  return {
    configFile: false,
    root: SOURCES,
    envDir: false,
    publicDir: false,
    mode: 'production',
    logLevel: 'error',
    cacheDir: `${ROOT}/dist/.vite`,
    build: {
      outDir,
      emptyOutDir: true,
      // The control plane names a screen's scripts in the document that it sends.
      manifest: 'manifest.json',
      target: 'es2022',
      // A script of its own that inserts links would be one more thing to trust.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      // Names of files stand in the first script, and hashes are names enough.
      rolldownOptions: { output: { chunkFileNames: 'assets/[hash:7].js', codeSplitting: { groups: GROUPS } } },
    },
  }
}

/**
 * The folder with the web page of the present sources. Undefined where nothing can be written.
 * @returns {Promise<string | undefined>}
 */
export function freshDashboard() {
  return freshFolder('page', FOLDERS, buildApart)
}

/**
 * Builds the page in a process of its own, which takes what the bundler holds with it: 0.8 GB.
 * @param {string} outDir
 */
async function buildApart(outDir) {
  await promisify(execFile)(process.execPath, [THIS, outDir])
}

const [, program, outDir] = process.argv
if (program === THIS && outDir !== undefined) await buildDashboard(outDir)
