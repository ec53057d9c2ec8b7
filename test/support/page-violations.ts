import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { z } from 'zod'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A desk and a phone, in both themes. */
export const VIEWS = [
  { width: 1_280, colorScheme: 'light' },
  { width: 1_280, colorScheme: 'dark' },
  { width: 360, colorScheme: 'dark' },
  { width: 360, colorScheme: 'light' },
] as const

const Violations = z.array(z.string())

/** Findings of axe on a screen, and a page that is wider than its window. */
export async function violationsOf(page: Page, where: string): Promise<string[]> {
  const found = await page.evaluate(`(async () => {
    ${AXE}
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] })
    const wide = document.documentElement.scrollWidth > innerWidth ? ['wider than the window'] : []
    return [...wide, ...violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => id + ': ' + html.slice(0, 160)))]
  })()`)
  return Violations.parse(found).map((text) => `${where}: ${text}`)
}
