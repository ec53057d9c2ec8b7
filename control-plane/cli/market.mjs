#!/usr/bin/env node
// Starts the command line. Its sources are bundled once after each change of them, because a bundle starts in a fraction
// of the time; where nothing can be written, they are loaded as they are.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, '..', '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const KEPT_BUNDLES = 1

/** Changes whenever a source or the version does. */
function stampOf() {
  let newest = statSync(join(root, 'package.json')).mtimeMs
  let count = 0
  for (const folder of [here, join(root, 'shared')]) {
    for (const name of readdirSync(folder, { recursive: true })) {
      if (!name.endsWith('.ts') && !name.endsWith('.mjs')) continue
      newest = Math.max(newest, statSync(join(folder, name)).mtimeMs)
      count += 1
    }
  }
  return `${version}-${count}-${Math.round(newest).toString(36)}`
}

async function bundle(into, name) {
  const { build } = await import('esbuild')
  const draft = join(into, `${name}.${process.pid}`)
  await build({
    absWorkingDir: root,
    entryPoints: [join(here, 'main.ts')],
    outdir: draft,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifySyntax: true,
    outExtension: { '.js': '.mjs' },
    banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
    logLevel: 'silent',
  })
  const old = readdirSync(into).filter((known) => known !== name && !known.startsWith(`${name}.`))
  for (const known of old.slice(KEPT_BUNDLES)) rmSync(join(into, known), { recursive: true, force: true })
  try {
    renameSync(draft, join(into, name))
  } catch {
    // Another run was quicker.
    rmSync(draft, { recursive: true, force: true })
  }
}

async function load() {
  try {
    const into = join(root, 'node_modules', '.cache', 'market-cli')
    const name = stampOf()
    const entry = join(into, name, 'main.mjs')
    if (!existsSync(entry)) {
      mkdirSync(into, { recursive: true })
      await bundle(into, name)
    }
    return await import(pathToFileURL(entry).href)
  } catch {
    const { register } = await import('tsx/esm/api')
    register()
    return import(new URL('./main.ts', import.meta.url).href)
  }
}

const { main } = await load()
process.exitCode = await main(process.argv.slice(2), version)
