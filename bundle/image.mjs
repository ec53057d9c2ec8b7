// @ts-check
// Makes the programs of the container image and the web page, into `dist`.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildDashboard } from './dashboard.mjs'
import { BUNDLE } from './options.mjs'

await build({
  ...BUNDLE,
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  entryPoints: {
    'data-plane': 'data-plane/main.ts',
    'control-plane': 'control-plane/main.ts',
    migrate: 'control-plane/migrate.ts',
    operator: 'control-plane/operator.ts',
    'check-ledger': 'control-plane/check-ledger/main.ts',
  },
  outdir: 'dist',
  sourcemap: true,
  logLevel: 'info',
})
await buildDashboard(fileURLToPath(new URL('../dist/dashboard', import.meta.url)))
