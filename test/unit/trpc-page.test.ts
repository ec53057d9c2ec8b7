import { expect, it } from 'vitest'
import { trpcPage } from '#test/support/doors/trpc-page.ts'

it('docs/trpc.md lists every procedure', async () => {
  const text = trpcPage()
  expect(text.match(/^- `/gm)?.length).toBeGreaterThan(80)
  await expect(text).toMatchFileSnapshot('../../docs/trpc.md')
})
