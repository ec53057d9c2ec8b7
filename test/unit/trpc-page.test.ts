import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { trpcPage } from '#test/support/trpc-page.ts'

const FILE = new URL('../../docs/trpc.md', import.meta.url)

it('docs/trpc.md lists every procedure; TRPC_UPDATE=1 writes it anew', () => {
  const text = trpcPage()
  if (process.env['TRPC_UPDATE'] === '1') writeFileSync(FILE, text)
  expect(text.match(/^- `/gm)?.length).toBeGreaterThan(80)
  expect(existsSync(FILE) ? readFileSync(FILE, 'utf8') : '').toBe(text)
})
