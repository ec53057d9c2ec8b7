import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { renderDocuments, TYPES_FOLDER } from '#bundle/codegen.mjs'

it('the types of the page are those of its queries: `npm run dashboard:types` writes them', async () => {
  const kept = readdirSync(TYPES_FOLDER).map((name): [string, string] => [
    name,
    readFileSync(`${TYPES_FOLDER}/${name}`, 'utf8'),
  ])
  expect(new Map(kept)).toEqual(await renderDocuments())
})
