import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { startBrowser } from '#test/support/browser.ts'
import { openPerson, waitForScreen } from '#test/support/page-browser.ts'
import type { ScreenSide } from '#test/support/page-routes.ts'
import { SCREENS } from '#test/support/page-routes.ts'

// Takes a picture of every screen of a running market, in both themes, on a desk and on a phone.

const Sandbox = z.object({
  control_plane_url: z.string(),
  buyer_key: z.string(),
  seller_key: z.string(),
  management_key: z.string(),
})
const VIEWS = [
  { name: 'desk-light', width: 1_280, colorScheme: 'light' },
  { name: 'desk-dark', width: 1_280, colorScheme: 'dark' },
  { name: 'phone-light', width: 360, colorScheme: 'light' },
  { name: 'phone-dark', width: 360, colorScheme: 'dark' },
] as const
const HEIGHT = 900
/** A screen has drawn its charts after this. */
const SETTLE_MS = 300

const home = process.env['MARKET_HOME'] ?? '.market'
const file = join(home, 'sandbox.json')
if (!existsSync(file)) {
  console.error(`No market runs in ${home}: start one with npm start, and try again.`)
  process.exit(1)
}
const sandbox = Sandbox.parse(JSON.parse(readFileSync(file, 'utf8')))
const url = sandbox.control_plane_url
const keys = { buyer: sandbox.buyer_key, seller: sandbox.seller_key, operator: sandbox.management_key }
const wanted = process.argv.slice(2)
const folder = 'dist/shots'
mkdirSync(folder, { recursive: true })

const browser = await startBrowser()
for (const side of ['nobody', 'buyer', 'seller', 'operator'] satisfies ScreenSide[]) {
  const screens = SCREENS.filter(
    (screen) => screen.side === side && (wanted.length === 0 || wanted.includes(screen.name)),
  )
  if (screens.length === 0) continue
  const { context, page, complaints } = await openPerson(browser, {
    url,
    ...(side === 'nobody' ? {} : { key: keys[side] }),
  })
  const offer = side === 'seller' ? await offerOf(keys.seller) : ''
  for (const { name, path } of screens) {
    await page.setViewportSize({ width: VIEWS[0].width, height: HEIGHT })
    await page.goto(url + path.replace('{offer}', offer))
    await waitForScreen(page)
    for (const view of VIEWS) {
      await page.emulateMedia({ colorScheme: view.colorScheme })
      await page.setViewportSize({ width: view.width, height: HEIGHT })
      await page.waitForTimeout(SETTLE_MS)
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      if (Number(wide) > 0) console.log(`${name} ${view.name} is ${wide} pixels too wide`)
      await page.screenshot({ path: join(folder, `${name}.${view.name}.png`), fullPage: true })
    }
  }
  for (const complaint of complaints) console.log(`${side}: ${complaint}`)
  await context.close()
}
await browser.close()
writeFileSync(join(folder, 'index.html'), indexPage())
console.log(`${folder}/index.html`)

async function offerOf(key: string): Promise<string> {
  const answer = await fetch(`${url}/v1/seller/offers`, { headers: { authorization: `Bearer ${key}` } })
  const { items } = z.object({ items: z.array(z.object({ id: z.string() })) }).parse(await answer.json())
  return items[0]?.id ?? 'none'
}

function indexPage(): string {
  const rows = SCREENS.map(
    ({ name }) =>
      `<h2>${name}</h2><p>${VIEWS.map((view) => `<a href="${name}.${view.name}.png"><img loading="lazy" height="480" alt="${name} ${view.name}" src="${name}.${view.name}.png"></a>`).join(' ')}</p>`,
  )
  return `<!doctype html><meta charset="utf-8"><title>Screens</title>${rows.join('\n')}\n`
}
