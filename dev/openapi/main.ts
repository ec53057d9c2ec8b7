import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { buildDocument } from './document.ts'

/** Writes `docs/openapi.json` from the rows and schemas of both planes. */
const root = new URL('../../', import.meta.url)
const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')))
const document = buildDocument(version)
writeFileSync(new URL('docs/openapi.json', root), `${JSON.stringify(document, null, 1)}\n`)
const { paths } = z.object({ paths: z.record(z.string(), z.unknown()) }).parse(document)
process.stdout.write(`docs/openapi.json: ${Object.keys(paths).length} paths\n`)
