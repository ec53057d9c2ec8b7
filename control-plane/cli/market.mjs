#!/usr/bin/env node
// Starts the command line: as a bundle, or as its sources where no bundle can be made of them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freshBundles } from '../../bundle/fresh-bundles.mjs'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

async function load() {
  const folder = await freshBundles({
    name: 'cli',
    programs: { main: 'control-plane/cli/main.ts' },
    sources: ['control-plane/cli', 'shared'],
    options: { splitting: true, minifySyntax: true },
  }).catch(() => undefined)
  if (folder !== undefined) return import(pathToFileURL(join(folder, 'main.mjs')).href)
  const { register } = await import('tsx/esm/api')
  register()
  return import(new URL('./main.ts', import.meta.url).href)
}

const { main } = await load()
process.exitCode = await main(process.argv.slice(2), version)
