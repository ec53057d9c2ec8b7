import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { CALL_CODES } from '#dev/openapi/refusals.ts'
import { ERRORS } from '#shared/error-table.ts'
import { ADVICE } from '#test/support/facts/error-advice.ts'
import { errorCatalogue } from '#test/support/facts/error-catalogue.ts'

it('docs/errors.md has every error of the table', async () => {
  await expect(errorCatalogue()).toMatchFileSnapshot('../../docs/errors.md')
})

it('has advice only for errors that exist', () => {
  expect(Object.keys(ADVICE).filter((code) => !(code in ERRORS))).toEqual([])
})

/** The sources of folders, without the table itself. */
function sourcesOf(...folders: string[]): string[] {
  return folders.flatMap((folder) => {
    const root = new URL(`../../${folder}/`, import.meta.url)
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && path !== 'error-table.ts')
      .map((path) => readFileSync(new URL(path, root), 'utf8'))
  })
}

it('has no code without a place that raises it', () => {
  const sources = sourcesOf('shared', 'data-plane', 'control-plane')
  const isRaised = (code: string) => sources.some((source) => source.includes(`'${code}'`))
  expect(Object.keys(ERRORS).filter((code) => !isRaised(code))).toEqual([])
})

it('leaves out of account paths only codes that nothing there raises', () => {
  const sources = sourcesOf(
    'control-plane/api',
    'control-plane/services',
    'control-plane/operation',
    'control-plane/db',
  )
  const raised = [...CALL_CODES].filter((code) => sources.some((source) => source.includes(`'${code}'`)))
  expect(raised).toEqual([])
})
