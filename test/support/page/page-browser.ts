import type { Browser, BrowserContext, Page } from 'playwright-core'
import { z } from 'zod'
import { BUSY_MS } from '#test/support/run/until.ts'

const Code = z.object({ code: z.string() })
/** Longer than a screen takes to load, and a change to reach it. */
export const SCREEN_MS = BUSY_MS

/** Problems that a browser reports: blocked content, errors on the console, and unhandled rejections. */
export type Complaints = readonly string[]

/** A browser of one person. Every problem that it reports is kept. */
export async function openPerson(
  browser: Browser,
  { url, key, ...options }: { readonly url: string; readonly key?: string } & Parameters<Browser['newContext']>[0],
): Promise<{ readonly context: BrowserContext; readonly page: Page; readonly complaints: Complaints }> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options })
  context.setDefaultTimeout(SCREEN_MS)
  const complaints: string[] = []
  context.on('page', (page) => {
    page.on('console', (line) => {
      if (line.type() === 'error' && !isRefusal(line.text())) complaints.push(line.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
  })
  await context.exposeBinding('tellViolation', (_source, text: string) => complaints.push(text))
  await context.addInitScript(WATCH_VIOLATIONS)
  const page = await context.newPage()
  if (key !== undefined) await signInByLink(page, url, key)
  return { context, page, complaints }
}

const WATCH_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  window.tellViolation('blocked ' + event.violatedDirective + ' ' + event.blockedURI))`

/** A browser writes every unsuccessful answer to its console. Such answers are part of a journey. */
function isRefusal(text: string): boolean {
  return /^Failed to load resource: the server responded with a status of 4\d\d/.test(text)
}

/** Opens a sign-in link in the form that the command line and `npm start` print. */
export async function signInByLink(page: Page, url: string, key: string): Promise<void> {
  const made = await fetch(`${url}/v1/auth/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{}',
  })
  const { code } = Code.parse(await made.json())
  await page.goto(`${url}/sign-in#code=${code}`)
  await accountMenu(page).waitFor()
}

/** The button of the account in the navigation. Only signed-in users have one. */
export const accountMenu = (page: Page) => page.getByRole('button', { name: /^Account menu/ })

export async function signOut(page: Page): Promise<void> {
  await accountMenu(page).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

/**
 * The place of a screen that the page's script drew. The server draws the heads of some screens before the script runs,
 * without this attribute: keys pressed on them are lost.
 */
const RUNNING = 'main[tabindex]'

/** Waits until a screen is loaded: it has a heading, and no placeholders. */
export async function waitForScreen(page: Page): Promise<void> {
  await page.locator(`${RUNNING} h1`).first().waitFor()
  await page.locator('main [aria-busy="true"], main .skeleton').first().waitFor({ state: 'detached' })
}

export const heading = (page: Page, name: string) =>
  page.locator(RUNNING).getByRole('heading', { level: 1, name, exact: true })
export const dialog = (page: Page) => page.getByRole('dialog')

const MAX_TABS = 60

/** Presses Tab until the focused element has this name. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let pressed = 0; pressed < MAX_TABS; pressed++) {
    const focused = await page.evaluate(`(() => {
      const { activeElement: at } = document
      return at?.getAttribute('aria-label') ?? at?.labels?.[0]?.textContent ?? at?.textContent ?? ''
    })()`)
    if (focused === name) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to ${name}`)
}

/** An offer of a seller. */
export async function offerOf(site: string, key: string): Promise<string> {
  const answer = await fetch(`${site}/v1/seller/offers`, { headers: { authorization: `Bearer ${key}` } })
  const { items } = z.object({ items: z.array(z.object({ id: z.string() })) }).parse(await answer.json())
  return items[0]?.id ?? ''
}
