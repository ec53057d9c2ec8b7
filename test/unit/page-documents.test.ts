import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { renderDocuments, TYPES_FILE } from '#bundle/codegen.mjs'

it('the types of the page are those of its queries: `npm run dashboard:types` writes them', async () => {
  expect(readFileSync(TYPES_FILE, 'utf8')).toBe(await renderDocuments())
})
