import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { z } from 'zod'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * A desktop and a phone, in both themes. A theme changes only colours, so the second theme of a width is checked only
 * for colours.
 */
export const VIEWS = [
  { width: 1_280, colorScheme: 'light', asks: 'everything' },
  { width: 1_280, colorScheme: 'dark', asks: 'colours' },
  { width: 360, colorScheme: 'dark', asks: 'everything' },
  { width: 360, colorScheme: 'light', asks: 'colours' },
] as const
type View = (typeof VIEWS)[number]

/** The options of axe. Elements that pass a rule are not reported. */
const OPTIONS = {
  everything: { resultTypes: ['violations'] },
  colours: { resultTypes: ['violations'], runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } },
} as const

const Violations = z.array(z.string())

/** Findings of axe on a screen in a view, and a page that is wider than its window. */
export async function violationsOf(page: Page, where: string, view: View): Promise<string[]> {
  const { width, colorScheme } = view
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme })
  if ((await page.evaluate('typeof window.axe')) === 'undefined') await page.evaluate(`(() => { ${AXE} })()`)
  const found = await page.evaluate(`(async () => {
    const { violations } = await window.axe.run(document, ${JSON.stringify(OPTIONS[view.asks])})
    const wide = document.documentElement.scrollWidth > innerWidth ? ['wider than the window'] : []
    return [...wide, ...violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => id + ': ' + html.slice(0, 160)))]
  })()`)
  return Violations.parse(found).map((text) => `${where} ${width} ${colorScheme}: ${text}`)
}
