// @ts-check
// Runs after `npm install`. An installation without development packages builds no page and needs no types of its queries.
import { existsSync } from 'node:fs'

if (existsSync(new URL('../node_modules/@graphql-codegen/core', import.meta.url))) {
  const { writeDocuments } = await import('./codegen.mjs')
  await writeDocuments()
}
