import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ERRORS } from '#shared/error-table.ts'
import { ADVICE } from '#test/support/error-advice.ts'
import { errorCatalogue } from '#test/support/error-catalogue.ts'

const FILE = new URL('../../docs/errors.md', import.meta.url)

it('docs/errors.md holds every error as the table has it; ERRORS_UPDATE=1 writes it anew', () => {
  const text = errorCatalogue()
  if (process.env['ERRORS_UPDATE'] === '1') writeFileSync(FILE, text)
  expect(text).toBe(readFileSync(FILE, 'utf8'))
})

it('advises about nothing that is no error', () => {
  expect(Object.keys(ADVICE).filter((code) => !(code in ERRORS))).toEqual([])
})
