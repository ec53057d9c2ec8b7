import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import {
  dialog,
  heading,
  offerOf,
  openPerson,
  SCREEN_MS,
  signInByLink,
  signOut,
  waitForScreen,
} from '#test/support/page/page-browser.ts'
import { openOwner } from '#test/support/page/page-owner.ts'
import { pathOf, SCREEN_SIDES, SCREENS } from '#test/support/page/page-routes.ts'
import { VIEWS, violationsOf } from '#test/support/page/page-violations.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'

const MODEL = 'gpt-5-nano'
/** Bytes of compressed scripts: of the first view with its screen, and of each further screen. */
const FIRST_VIEW_BYTES = 130_000
const SCREEN_BYTES = 40_000

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})

afterAll(async () => {
  await browser?.close()
})

const open = (key?: string) => openPerson(browser, { url: site, ...(key === undefined ? {} : { key }) })

/** The bytes of the scripts that a screen has loaded, compressed as they arrived. */
async function scriptBytes(page: Page): Promise<number> {
  return Number(
    await page.evaluate(`(() => {
      const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
      // The browser lists a script twice that is preloaded and then run.
      const sizes = new Map(scripts.map(({ name, encodedBodySize }) => [name, encodedBodySize]))
      return [...sizes.values()].reduce((sum, size) => sum + size, 0)
    })()`),
  )
}

const Answer = z.object({ usage: z.object({ buyer_cost_micro: z.number() }) }).loose()

async function say(key: string): Promise<{ status: number; cost: number; id: string }> {
  const answer = await fetch(`${network.sandbox.api_base_url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, max_tokens: 32, messages: [{ role: 'user', content: 'Say hello.' }] }),
  })
  const body: unknown = await answer.json()
  const read = Answer.safeParse(body)
  return {
    status: answer.status,
    cost: read.data?.usage.buyer_cost_micro ?? 0,
    id: answer.headers.get('x-request-id') ?? '',
  }
}

describe('the page', () => {
  it('is served at both addresses with a strict security policy, and only to browsers', async () => {
    for (const url of [site, network.sandbox.control_plane_url]) {
      const html = { accept: 'text/html' }
      const home = await fetch(url, { headers: html })
      expect([home.status, home.headers.get('cache-control')]).toEqual([200, 'no-cache'])
      expect(home.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'")
      const text = await home.text()
      const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(text) ?? []
      const asset = await fetch(url + script)
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
      expect((await fetch(url, { headers: { ...html, 'if-none-match': home.headers.get('etag') ?? '' } })).status).toBe(
        304,
      )
      const scriptsAt = async (path: string) => {
        const document = await (await fetch(url + path, { headers: html })).text()
        return [...document.matchAll(/modulepreload" crossorigin href="([^"]+)"/g)].map(([, file]) => file)
      }
      const scripts = await scriptsAt(`/model/${MODEL}`)
      expect(scripts).not.toEqual(await scriptsAt('/models'))
      expect(scripts.length).toBeGreaterThan((await scriptsAt('/nothing-is-here')).length)
      for (const file of scripts) expect((await fetch(url + file)).status, file).toBe(200)
      const missing = await (await fetch(`${url}/model/nothing`, { headers: html })).text()
      expect(missing).not.toContain('data-known')
      expect(text).toContain(`&quot;apiBaseUrl&quot;:&quot;${network.sandbox.api_base_url}&quot;`)
      const dark = await fetch(url, { headers: { ...html, cookie: 'mkt_theme=dark' } })
      expect(await dark.text()).toContain('<html lang="en" data-theme="dark">')
      expect((await fetch(`${url}/buyer/logs`, { headers: html })).status).toBe(200)
      expect((await fetch(`${url}/assets/nothing.js`)).status).toBe(404)
    }
    const control = network.sandbox.control_plane_url
    expect((await fetch(`${control}/nothing-here`, { headers: { accept: 'text/html' } })).status).toBe(404)
    expect(await (await fetch(`${control}/v1/nothing`)).json()).toMatchObject({ error: { code: 'not_found' } })
  })

  it('shows visitors the market: a model by search, its order book, the price of a workload, and Back', async () => {
    const { context, page, complaints } = await open()
    await page.goto(site)
    await page.getByText('Saved by buyers').waitFor()
    expect(await scriptBytes(page)).toBeLessThan(FIRST_VIEW_BYTES)
    await page.locator('pre', { hasText: `${network.sandbox.api_base_url}/v1/chat/completions` }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('m')
    await heading(page, 'Models').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type(MODEL)
    await page.waitForURL(new RegExp(`search=${MODEL}`))
    await page
      .getByRole('link', { name: /GPT-5 Nano/i })
      .first()
      .click()
    await page.getByRole('heading', { name: 'Order book' }).waitFor()
    await page.getByLabel('Tokens in').fill('1000000')
    await page.getByLabel('Tokens out').fill('0')
    await page.waitForURL(/input=1000000/)
    await page.getByText(/instead of \$0\.05/).waitFor()
    await page.reload()
    expect(await page.getByLabel('Tokens in').inputValue()).toBe('1000000')
    await page.goBack()
    await page.waitForURL(/models\?search=/)
    expect(await page.locator('main input[data-search]').inputValue()).toBe(MODEL)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search' }).fill('status')
    await page.keyboard.press('Enter')
    await heading(page, 'Status').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('lets a buyer create a key, call with it, read the cost of the call to the micro, and revoke it', async () => {
    const { context, page, complaints } = await open(network.sandbox.buyer_key)
    await page.goto(`${site}/buyer/keys`)
    await page.getByRole('button', { name: 'New key' }).click()
    const label = `page-${Date.now()}`
    await dialog(page).getByLabel('Name').fill(label)
    await dialog(page).getByLabel('Cap a day, US dollars').fill('0.5')
    await dialog(page).getByRole('button', { name: 'Create key' }).click()
    const secret = (await dialog(page).locator('pre').textContent()) ?? ''
    expect(secret).toMatch(/^inf_\w+$/)
    // Escape does not close a secret that is shown once.
    await page.keyboard.press('Escape')
    const done = dialog(page).getByRole('button', { name: 'Done' })
    expect(await done.isDisabled()).toBe(true)
    await dialog(page).getByLabel('I have stored it').check()
    await done.click()
    const row = page.getByRole('row', { name: new RegExp(label) })
    await row.getByText('$0.50 a day').waitFor()
    expect(await page.content()).not.toContain(secret)

    const call = await say(secret)
    expect([call.status, call.cost > 0]).toEqual([200, true])
    await page.goto(`${site}/buyer/logs?call=${call.id}`)
    const drawer = dialog(page)
    const charged = `$0.${String(call.cost).padStart(6, '0')}`
    await drawer.getByRole('row', { name: `Charged ${charged}` }).waitFor()
    await drawer.getByText('served', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL((url) => !url.search.includes('call='))

    await page.goto(`${site}/buyer/keys`)
    await row.getByRole('button', { name: /^More actions/ }).click()
    await row.getByRole('button', { name: 'Revoke', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('revoked').waitFor()
    const until = Date.now() + SCREEN_MS
    let { status } = await say(secret)
    while (status !== 401 && Date.now() < until) ({ status } = await say(secret))
    expect(status).toBe(401)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('leads a seller from a wallet and a provider key to an offer in the book, with a first call, and off again', async () => {
    const wallet = newWallet()
    const { context, page, complaints } = await open()
    await openWallet(context, wallet)
    await page.goto(`${site}/sign-in?to=/seller/start`)
    await page.getByRole('button', { name: 'Test wallet' }).click()
    await heading(page, 'List capacity').waitFor()
    await page.getByLabel('Base URL of the provider').fill(`${network.sandbox.provider_url}/v1`)
    await page.getByLabel('API key').fill('sk-a-key-of-the-page')
    await page.getByRole('button', { name: 'Find your models' }).click()
    await page.waitForURL(/step=models/)
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByLabel(MODEL, { exact: true }).check()
    const price = page.getByLabel(`Discount of ${MODEL}, percent`)
    const goOn = page.getByRole('button', { name: 'Go on with 1 model' })
    await price.fill('97')
    await goOn.click()
    expect(page.url()).toContain('step=models')
    await price.fill('91')
    await goOn.click()
    // A seller who goes back finds the earlier choices.
    await page.getByRole('button', { name: 'Back' }).click()
    await page.getByRole('button', { name: 'Show all' }).click()
    expect(await price.inputValue()).toBe('91')
    await goOn.click()
    await page.getByLabel(/Cap a day/).fill('3')
    const sell = page.getByRole('button', { name: 'Put on sale' })
    expect(await sell.isDisabled()).toBe(true)
    await page.getByLabel(/My contract with the provider/).check()
    await page.getByLabel(/at my cost/).check()
    await sell.click()
    await page.getByRole('button', { name: 'Make a first call to each' }).click()
    await page.getByText(/answered in/).waitFor()
    expect(await page.content()).not.toContain('sk-a-key-of-the-page')
    await page.getByText('Waiting for your first sale.').waitFor()
    const first = await open()
    await first.page.goto(`${site}/model/${MODEL}`)
    await first.page.getByRole('cell', { name: '91%' }).waitFor()
    await first.context.close()
    await say(network.sandbox.buyer_key)
    await page.getByText(`First sale: a buyer called ${MODEL}`).waitFor()

    await page.getByRole('link', { name: MODEL }).click()
    await page.getByText('on sale').first().waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog(page).getByLabel('Discount, percent').fill('93')
    await dialog(page).getByRole('button', { name: 'Change' }).click()
    await page.getByText('93%').first().waitFor()
    // The offer is in the public book, and wins the next call.
    const visitor = await open()
    await visitor.page.goto(`${site}/model/${MODEL}`)
    await visitor.page.getByRole('cell', { name: '93%' }).waitFor()
    await visitor.context.close()
    const { cost } = await say(network.sandbox.buyer_key)
    await page.goto(`${site}/seller/earnings`)
    const earned = Math.floor(cost * 0.95)
    await page
      .getByTitle(`$0.${String(earned).padStart(6, '0')}`)
      .first()
      .waitFor()

    await page.goto(`${site}/seller/offers`)
    await page.getByRole('button', { name: `Edit the offer of ${MODEL}` }).click()
    const state = (name: string) => page.getByRole('row', { name: new RegExp(MODEL) }).getByText(name, { exact: true })
    const leave = dialog(page).getByRole('button', { name: 'Take off the market' })
    await leave.click()
    // A press takes nothing off: the question names the calls that are lost, and Cancel leads back to the terms.
    await dialog(page)
      .getByText(/Open calls and jobs finish, and you are paid for them/)
      .waitFor()
    await dialog(page).getByRole('row', { name: 'State on sale off the market' }).waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await dialog(page).getByLabel('Discount, percent').waitFor()
    await page.keyboard.press('Escape')
    await state('on sale').waitFor()
    await page.getByRole('button', { name: `Edit the offer of ${MODEL}` }).click()
    await leave.click()
    await leave.click()
    await state('off the market').waitFor()
    await page.getByText(`${MODEL} is off the market.`).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await state('on sale').waitFor()
    await page.getByRole('button', { name: `Edit the offer of ${MODEL}` }).click()
    await leave.click()
    await leave.click()
    await state('off the market').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('shows an operator whether the money is right, and every change with the value before it', async () => {
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator`)
    await page.getByText(/Every checked invariant of the ledger holds|has not been checked yet/).waitFor()
    await page.getByRole('heading', { name: 'Data planes' }).waitFor()
    await page.goto(`${site}/operator/audit?operation=rate-limit.put`)
    await page.getByRole('cell', { name: 'Set a rate limit' }).first().waitFor()
    await page.locator('main tbody button').first().click()
    // The shared market set two limits at its start, which are one row of the list.
    await dialog(page).locator('tbody button').first().click()
    await dialog(page)
      .getByRole('row', { name: /Per key/ })
      .waitFor()
    await page.keyboard.press('Escape')
    // A screen of another side says so and leads to the sign-in.
    await page.goto(`${site}/buyer/keys`)
    await page.getByText('You are signed in as operator.').waitFor()
    await signOut(page)
    await page.getByText('to see this page').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('ends a session with its key, and refuses a used link', async () => {
    const { context, page } = await open()
    const door = (path: string, key: string, body: object) =>
      fetch(`${site}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': `${Math.random()}`,
        },
        body: JSON.stringify(body),
      })
    const made = z.object({ id: z.string(), key: z.string() }).loose()
    const { id, key } = made.parse(
      await (await door('/v1/buyer/keys', network.sandbox.buyer_key, { label: 'short-lived' })).json(),
    )
    await signInByLink(page, site, key)
    await page.goto(`${site}/buyer`)
    await heading(page, 'Overview').waitFor()
    // A link to another account asks before it replaces a session.
    const another = z.object({ code: z.string() })
    const { code } = another.parse(await (await door('/v1/auth/codes', network.sandbox.seller_key, {})).json())
    await page.goto(`${site}/sign-in#code=${code}`)
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    await page.goto(`${site}/buyer`)
    await heading(page, 'Overview').waitFor()
    await page.goto(`${site}/sign-in#code=${code}`)
    await page.getByRole('button', { name: 'Use the link' }).click()
    await heading(page, 'Offers').waitFor()
    await signOut(page)
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    await signInByLink(page, site, key)
    await page.goto(`${site}/buyer`)
    await heading(page, 'Overview').waitFor()
    const gone = await fetch(`${site}/v1/buyer/keys/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${network.sandbox.buyer_key}` },
    })
    expect(gone.ok).toBe(true)
    await page.reload()
    await page.getByText('to see this page').waitFor()
    // A link that was cut when it was copied, and a used link over the screen that reports it.
    for (const length of [20, 43]) {
      await page.goto(`${site}/sign-in#code=${'A'.repeat(length)}`)
      await page.getByText('This sign-in link was used before').waitFor()
      expect(page.url()).not.toContain('code')
    }
    await context.close()
  })

  it('reads live data over one connection, however many tabs are open', async () => {
    const { context, page, complaints } = await open()
    let streams = 0
    const count = (by: 1 | -1) => (request: Request) => {
      if (request.headers()['accept'] !== 'text/event-stream') return
      streams += by
    }
    context.on('request', count(1)).on('requestfinished', count(-1)).on('requestfailed', count(-1))
    const tabs = [page, ...(await Promise.all(Array.from({ length: 7 }, () => context.newPage())))]
    for (const tab of tabs) {
      await tab.goto(`${site}/feed`)
      await tab.getByText('Live', { exact: true }).waitFor()
    }
    expect(streams).toBe(1)
    await say(network.sandbox.buyer_key)
    for (const tab of tabs)
      await tab
        .getByRole('row', { name: new RegExp(`${MODEL}.*(now|\\d s ago)`) })
        .first()
        .waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it.each(SCREEN_SIDES)('is accessible and fits a phone: screens of %s', async (side) => {
    const { buyer_key, seller_key, management_key } = network.sandbox
    const keys = { nobody: undefined, buyer: buyer_key, seller: seller_key, operator: management_key }
    const { context, page, complaints, organization } =
      side === 'member' ? await openOwner(browser, site) : { ...(await open(keys[side])), organization: '' }
    const found: string[] = []
    const offer = side === 'seller' ? await offerOf(site, seller_key) : ''
    for (const { name, path } of SCREENS.filter((screen) => screen.side === side)) {
      await page.setViewportSize({ width: 1_280, height: 900 })
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await page.goto(site + pathOf(path, { offer, organization, buyerKey: buyer_key }))
      await waitForScreen(page)
      expect(await scriptBytes(page), name).toBeLessThan(FIRST_VIEW_BYTES + SCREEN_BYTES)
      for (const view of VIEWS) found.push(...(await violationsOf(page, name, view)))
    }
    expect(found).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})
