import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import {
  PageDeclareIncidentDocument,
  PageEndIncidentDocument,
} from '#control-plane/dashboard/data/documents/operator.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, offerOf, openPerson, waitForScreen } from '#test/support/page/page-browser.ts'
import { openOwner } from '#test/support/page/page-owner.ts'
import type { ScreenSide } from '#test/support/page/page-routes.ts'
import { DIALOGS, pathOf, SCREEN_SIDES, SCREENS } from '#test/support/page/page-routes.ts'

// Takes a picture of every screen of a running market, with its dialogs open, in both themes, on a desktop and on a
// phone. The run leaves an incident that has ended and an organisation in that market, since without them their screens
// are empty.

const Sandbox = z.object({
  dashboard_url: z.string(),
  buyer_key: z.string(),
  seller_key: z.string(),
  management_key: z.string(),
})
const Usage = z.object({ items: z.array(z.object({ request_id: z.string() })) })
const VIEWS = [
  { name: 'desk-light', width: 1_280, colorScheme: 'light' },
  { name: 'desk-dark', width: 1_280, colorScheme: 'dark' },
  { name: 'phone-light', width: 360, colorScheme: 'light' },
  { name: 'phone-dark', width: 360, colorScheme: 'dark' },
] as const
const HEIGHT = 900
/** Of a longer screen, only the beginning is photographed. */
const MAX_HEIGHT = 6_000
/** A part that a screen opens on top of itself: by a button of its name, or else by keys. */
type Opened = {
  readonly name: string
  readonly side: ScreenSide
  readonly path: string
  readonly button?: string | RegExp
  /** Matches the button that opens the menu with `button` in it. */
  readonly menu?: RegExp
  /** The box that is checked before `button` is pressed: a form without a change cannot be saved. */
  readonly check?: string
  readonly keys?: string
}
const OPENED: readonly Opened[] = [
  ...DIALOGS,
  { name: 'palette', side: 'member', path: '/', keys: 'Control+k' },
  { name: 'keys', side: 'member', path: '/', keys: '?' },
  { name: 'call-drawer', side: 'buyer', path: '/buyer/logs?period=30d', keys: 'j' },
  { name: 'revoke-key', side: 'buyer', path: '/buyer/keys', menu: /^More actions/, button: 'Revoke' },
  { name: 'audit-drawer', side: 'operator', path: '/operator/audit', button: /^(Signed in|Listed|Created)/ },
]
/** The navigation on a phone. */
const MENU = { name: 'menu', side: 'member', path: '/buyer', button: 'Menu' } as const
const ALL = [...SCREENS, ...OPENED, MENU]
/** A screen has drawn its charts after this time. */
const SETTLE_MS = 300
const INCIDENT_MS = 5 * 60 * 60 * 1_000

const home = process.env['MARKET_HOME'] ?? '.market'
const file = join(home, 'sandbox.json')
if (!existsSync(file)) {
  console.error(`No market runs in ${home}: start one with npm start, and try again.`)
  process.exit(1)
}
const sandbox = Sandbox.parse(JSON.parse(readFileSync(file, 'utf8')))
const url = sandbox.dashboard_url
const keys = { buyer: sandbox.buyer_key, seller: sandbox.seller_key, operator: sandbox.management_key }
const wanted = process.argv.slice(2)
const folder = 'dist/shots'
mkdirSync(folder, { recursive: true })

const browser = await startBrowser()
const incident = await declareIncident()
// The reads of a key are limited, and each dialog would ask again.
const call = await lastCall()
for (const side of SCREEN_SIDES) {
  const isWanted = (shown: { readonly name: string; readonly side: ScreenSide }) =>
    shown.side === side && (wanted.length === 0 || wanted.includes(shown.name))
  if (!ALL.some(isWanted)) continue
  const { context, page, complaints, organization } = await openSide(side)
  const offer = side === 'seller' ? await offerOf(url, keys.seller) : ''
  for (const { name, path } of SCREENS.filter(isWanted)) {
    await page.setViewportSize({ width: VIEWS[0].width, height: HEIGHT })
    await page.goto(url + pathOf(path, { offer, organization, buyerKey: keys.buyer }))
    await waitForScreen(page)
    for (const view of VIEWS) {
      await page.emulateMedia({ colorScheme: view.colorScheme })
      await page.setViewportSize({ width: view.width, height: HEIGHT })
      await page.waitForTimeout(SETTLE_MS)
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      if (Number(wide) > 0) console.log(`${name} ${view.name} is ${wide} pixels too wide`)
      const tall = Math.max(HEIGHT, Number(await page.evaluate('document.documentElement.scrollHeight')))
      await page.screenshot({
        path: join(folder, `${name}.${view.name}.png`),
        fullPage: true,
        clip: { x: 0, y: 0, width: view.width, height: Math.min(tall, MAX_HEIGHT) },
      })
    }
  }
  for (const opened of OPENED.filter(isWanted)) await takeOpened(page, opened, side)
  for (const { name, path, button } of [MENU].filter(isWanted)) {
    await page.setViewportSize({ width: VIEWS[3].width, height: HEIGHT })
    await page.goto(url + path)
    await page.getByRole('button', { name: button }).click()
    await takeViews(page, name, VIEWS.slice(2))
  }
  for (const complaint of complaints) console.log(`${side}: ${complaint}`)
  await context.close()
}
await askAsOperator(PageEndIncidentDocument, { id: incident, note: 'The pictures are taken.' })
await browser.close()
writeFileSync(join(folder, 'index.html'), indexPage())
console.log(`${folder}/index.html`)

/** Opens a part on its screen and takes its pictures. Reports a screen without the button of the part. */
async function takeOpened(
  page: Page,
  { name, path, button, menu, check, keys: pressed = '' }: Opened,
  side: ScreenSide,
): Promise<void> {
  await page.setViewportSize({ width: VIEWS[0].width, height: HEIGHT })
  await page.goto(url + pathOf(path, { call: side === 'nobody' ? '' : call, buyerKey: keys.buyer }))
  await waitForScreen(page)
  if (menu !== undefined) await page.locator('main').getByRole('button', { name: menu }).first().click()
  if (check !== undefined) await page.locator('main').getByLabel(check).first().check()
  const opener = button === undefined ? undefined : page.locator('main').getByRole('button', { name: button }).first()
  if (opener !== undefined && !(await opener.isVisible())) return console.log(`${name}: nothing opens it here`)
  await (opener === undefined ? page.keyboard.press(pressed) : opener.click())
  await dialog(page).waitFor()
  await takeViews(page, name, VIEWS)
}

async function takeViews(page: Page, name: string, views: readonly (typeof VIEWS)[number][]): Promise<void> {
  for (const view of views) {
    await page.emulateMedia({ colorScheme: view.colorScheme })
    await page.setViewportSize({ width: view.width, height: HEIGHT })
    await page.waitForTimeout(SETTLE_MS)
    await page.screenshot({ path: join(folder, `${name}.${view.name}.png`) })
  }
}

async function lastCall(): Promise<string> {
  const answer = await fetch(`${url}/v1/buyer/usage?max_items=1`, {
    headers: { authorization: `Bearer ${keys.buyer}` },
  })
  return Usage.parse(await answer.json()).items[0]?.request_id ?? ''
}

async function openSide(side: ScreenSide) {
  if (side === 'member') return openOwner(browser, url)
  const key = side === 'nobody' ? {} : { key: keys[side] }
  return { ...(await openPerson(browser, { url, ...key })), organization: '' }
}

async function askAsOperator(query: { toString(): string }, variables: object): Promise<unknown> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.operator}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: query.toString(), variables }),
  })
  return answer.json()
}

/** Charts of a model show its incidents. */
async function declareIncident(): Promise<string> {
  const told = {
    title: 'Slow answers',
    note: 'Twice the usual time to the first token.',
    models: ['claude-3.5-haiku'],
    startedAt: Date.now() - INCIDENT_MS,
  }
  const Declared = z.object({ data: z.object({ declareIncident: z.object({ id: z.string() }) }) })
  return Declared.parse(await askAsOperator(PageDeclareIncidentDocument, told)).data.declareIncident.id
}

function indexPage(): string {
  const rows = ALL.map(
    ({ name }) =>
      `<h2>${name}</h2><p>${VIEWS.map((view) => `<a href="${name}.${view.name}.png"><img loading="lazy" height="480" alt="${name} ${view.name}" src="${name}.${view.name}.png"></a>`).join(' ')}</p>`,
  )
  return `<!doctype html><meta charset="utf-8"><title>Screens</title>${rows.join('\n')}\n`
}
