import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBrowser } from '#test/support/browser.ts'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { dialog, openPerson, waitForScreen } from '#test/support/page-browser.ts'
import { VIEWS, violationsOf } from '#test/support/page-violations.ts'

const START_MS = 120_000
const JOURNEY_MS = 60_000
let network: Network
let browser: Browser

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
}, START_MS)

afterAll(() => browser?.close())

/** Both widths and both themes, each once. */
const DIALOG_VIEWS = VIEWS.filter(({ width, colorScheme }) => (width === 360) === (colorScheme === 'dark'))

/** A dialog of each kind, and the button that opens it. */
const DIALOGS = [
  { side: 'buyer', path: '/buyer/keys', button: 'New key' },
  { side: 'buyer', path: '/buyer/limits', button: /^Change the limits of/ },
  { side: 'buyer', path: '/buyer/providers', button: 'Add a provider key' },
  { side: 'buyer', path: '/buyer/providers', button: 'See the difference' },
  { side: 'seller', path: '/seller/offers', button: /^Edit the offer of/ },
  { side: 'seller', path: '/seller/keys', button: 'New key' },
  { side: 'operator', path: '/operator/offers', button: /^Delist ofr_/ },
  { side: 'operator', path: '/operator/incidents', button: /^Switch off/ },
  { side: 'operator', path: '/operator/catalogue', button: 'New prices' },
] as const

it.each(['buyer', 'seller', 'operator'] as const)(
  'dialogs can be used by everybody: those of a %s',
  async (side) => {
    const { buyer_key: buyer, seller_key: seller, management_key: operator } = network.sandbox
    const url = network.sandbox.dashboard_url
    const { context, page, complaints } = await openPerson(browser, { url, key: { buyer, seller, operator }[side] })
    const found: string[] = []
    for (const { path, button } of DIALOGS.filter((shown) => shown.side === side)) {
      await page.setViewportSize({ width: 1_280, height: 900 })
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await page.goto(url + path)
      await waitForScreen(page)
      await page.getByRole('button', { name: button }).first().click()
      await dialog(page).waitFor()
      for (const { width, colorScheme } of DIALOG_VIEWS) {
        await page.setViewportSize({ width, height: 900 })
        await page.emulateMedia({ colorScheme })
        found.push(...(await violationsOf(page, `${path} ${String(button)} ${width} ${colorScheme}`)))
      }
    }
    expect(found).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  },
  JOURNEY_MS,
)
