import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBrowser } from '#test/support/browser.ts'
import type { Network } from '#test/support/network.ts'
import { sharedNetwork } from '#test/support/network.ts'
import { dialog, openPerson, waitForScreen } from '#test/support/page-browser.ts'
import { VIEWS, violationsOf } from '#test/support/page-violations.ts'
import { openWallet } from '#test/support/page-wallet.ts'
import { newWallet } from '#test/support/wallet.ts'

const START_MS = 120_000
const JOURNEY_MS = 60_000
let network: Network
let browser: Browser
/** A call of the buyer, which has a receipt. */
let call: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  const messages = [{ role: 'user', content: 'Say hello.' }]
  call = (await ask('/v1/chat/completions', { model: 'gpt-5-nano', max_tokens: 16, messages })) ?? ''
  await ask('/v1/videos', { model: 'sandbox/video-job', prompt: 'Waves', seconds: 4 })
}, START_MS)

/** Calls as the buyer. Returns the request id. */
async function ask(path: string, body: object): Promise<string | null> {
  const { api_base_url: url, buyer_key: key } = network.sandbox
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect([answer.ok, await answer.text()]).toEqual([true, expect.any(String)])
  return answer.headers.get('x-request-id')
}

afterAll(() => browser?.close())

/** Both widths and both themes, each once. */
const DIALOG_VIEWS = VIEWS.filter(({ width, colorScheme }) => (width === 360) === (colorScheme === 'dark'))

/** A dialog of each kind, and the button that opens it. `{call}` stands for a call of the buyer. */
const DIALOGS = [
  { side: 'buyer', path: '/buyer/keys', button: 'New key' },
  { side: 'buyer', path: '/buyer/limits', button: /^Change the limits of/ },
  { side: 'buyer', path: '/buyer/providers', button: 'Add a provider key' },
  { side: 'buyer', path: '/buyer/providers', button: 'See the difference' },
  { side: 'buyer', path: '/buyer/jobs', button: /^Download the files of/ },
  { side: 'buyer', path: '/receipt?id={call}', button: 'curl' },
  { side: 'buyer', path: '/buyer/credit', button: 'Begin' },
  { side: 'seller', path: '/seller/offers', button: /^Edit the offer of/ },
  { side: 'seller', path: '/seller/keys', button: 'New key' },
  { side: 'operator', path: '/operator/offers', button: /^Delist ofr_/ },
  { side: 'operator', path: '/operator/incidents', button: /^Switch off/ },
  { side: 'operator', path: '/operator/incidents', button: 'Declare an incident' },
  { side: 'operator', path: '/operator/catalogue?model=gpt-5-mini', button: 'New prices' },
] as const

/** Opens a dialog, and looks at it in each view. */
async function lookAt(page: Page, url: string, button: string | RegExp): Promise<string[]> {
  await page.setViewportSize({ width: 1_280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.goto(url)
  await waitForScreen(page)
  await page.getByRole('button', { name: button }).first().click()
  await dialog(page).waitFor()
  const found: string[] = []
  for (const { width, colorScheme } of DIALOG_VIEWS) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    found.push(...(await violationsOf(page, `${url} ${String(button)} ${width} ${colorScheme}`)))
    const cut = await page.evaluate(`(() => {
      const body = document.querySelector('dialog .dialog-body')
      return body.scrollWidth - body.clientWidth
    })()`)
    if (Number(cut) > 0) found.push(`${url} ${String(button)} ${width}: the dialog is ${cut} pixels too wide`)
  }
  return found
}

it.each(['buyer', 'seller', 'operator'] as const)(
  'dialogs can be used by everybody: those of a %s',
  async (side) => {
    const { buyer_key: buyer, seller_key: seller, management_key: operator } = network.sandbox
    const url = network.sandbox.dashboard_url
    const { context, page, complaints } = await openPerson(browser, { url, key: { buyer, seller, operator }[side] })
    const found: string[] = []
    for (const { path, button } of DIALOGS.filter((shown) => shown.side === side)) {
      found.push(...(await lookAt(page, url + path.replace('{call}', call), button)))
    }
    expect(found).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  },
  JOURNEY_MS,
)

it(
  'dialogs can be used by everybody: those of an organisation',
  async () => {
    const url = network.sandbox.dashboard_url
    const { context, page, complaints } = await openPerson(browser, { url })
    await openWallet(context, newWallet())
    await page.goto(`${url}/sign-in?to=/buyer/organizations`)
    await page.getByRole('button', { name: 'Test wallet' }).click()
    await page.getByLabel('Name').fill('Dialogs')
    await page.getByRole('button', { name: 'Make it' }).click()
    await page.getByRole('link', { name: 'Dialogs' }).click()
    await page.waitForURL(/organization=org_/)
    const own = page.url()
    const found = [
      ...(await lookAt(page, own, /^Change the role of/)),
      ...(await lookAt(page, own, 'Leave the organisation')),
    ]
    expect(found).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  },
  JOURNEY_MS,
)
