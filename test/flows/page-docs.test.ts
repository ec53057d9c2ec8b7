import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { heading, openPerson } from '#test/support/page/page-browser.ts'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  // Calls go to the origin of the page, so they can be run on it.
  site = network.sandbox.api_base_url
})

afterAll(() => browser?.close())

const read = async (path: string) => (await fetch(site + path)).text()
const code = (page: Page) => page.locator('article .tabs pre').first()

it('leads from the first page to a text and back, in the frame of all screens', async () => {
  const { context, page, complaints } = await openPerson(browser, { url: site })
  await page.goto(site)
  await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Docs' }).click()
  await heading(page, 'Documentation').waitFor()
  const menu = page.getByRole('navigation', { name: 'Documentation' })
  await menu.getByRole('link', { name: 'Make your first call' }).click()
  await heading(page, 'Make your first call').waitFor()
  await page.waitForURL(/docs\/quickstart$/)
  // The command contains the address of this market.
  expect(await page.locator('article').textContent()).toContain(`MARKET_URL=${site}`)
  await page.getByText('Display', { exact: true }).first().click()
  await page.getByRole('button', { name: 'Dark' }).click()
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  await page.goBack()
  await heading(page, 'Documentation').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('finds a section by words, and leads to its place', async () => {
  const { context, page, complaints } = await openPerson(browser, { url: site })
  await page.goto(`${site}/docs`)
  await heading(page, 'Documentation').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('webhook secret')
  await page.waitForURL(/search=webhook(?:\+|%20)secret/)
  const results = page.getByRole('list', { name: 'Results' })
  await results.getByRole('link').first().waitFor()
  expect(await results.getByRole('link').count()).toBeGreaterThan(3)
  const target = await results.getByRole('link').first().getAttribute('href')
  await results.getByRole('link').first().click()
  await page.waitForURL((url) => !url.search.includes('webhook'))
  expect(target).toMatch(/^\/docs\//)
  await page.goto(`${site}/docs?search=zzzzqqqq`)
  await page.getByText('Nothing found.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('shows an operation in a chosen language, and runs its call', async () => {
  const { context, page, complaints } = await openPerson(browser, { url: site })
  await page.goto(`${site}/docs/reference/getV1Models`)
  await page.getByRole('button', { name: 'Python' }).click()
  await page.waitForURL(/lang=python/)
  await code(page).getByText('import requests').waitFor()
  await page.getByText('Run this call').click()
  await page.getByRole('button', { name: 'Send GET' }).click()
  await page.getByText(/^200 OK/).waitFor()
  // The next operation keeps the choice.
  await page.getByRole('navigation', { name: 'Documentation' }).locator('a[aria-current="page"]').waitFor()
  await page.locator('.docs-foot a', { hasText: '→' }).click()
  await page.waitForURL((url) => url.pathname !== '/docs/reference/getV1Models' && url.search.includes('python'))
  await page.goto(`${site}/docs#getV1Models`)
  await page.waitForURL(/\/docs\/reference\/getV1Models/)
  expect(complaints).toEqual([])
  await context.close()
})

it('shows the fields of an operation beside its example and the response, which agree', async () => {
  const { context, page, complaints } = await openPerson(browser, { url: site })
  await page.setViewportSize({ width: 1_280, height: 900 })
  await page.goto(`${site}/docs/reference/buyerKeyCreate`)
  const fields = page.locator('.call-fields')
  const field = fields.getByRole('listitem').filter({ hasText: 'rate_limit_rpm' }).first()
  expect(await field.textContent()).toContain('The most calls a minute.')
  await fields.getByRole('link', { name: 'authentication_required' }).waitFor()
  const example = page.locator('.call-code')
  // The example sends this cap, so the response has it.
  await example.locator('.language-json').getByText('"rate_limit_rpm": 120').waitFor()
  const left = await fields.boundingBox()
  const right = await example.boundingBox()
  expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0))
  await page.setViewportSize({ width: 390, height: 844 })
  expect((await example.boundingBox())?.x).toBe((await fields.boundingBox())?.x)
  expect(complaints).toEqual([])
  await context.close()
})

it('lists each operation once, and filters the list', async () => {
  const { context, page, complaints } = await openPerson(browser, { url: site })
  await page.goto(`${site}/docs/reference`)
  const links = page.locator('a[href="/docs/reference/buyerKeyCreate"]')
  await links.waitFor()
  await page.getByLabel('Filter operations').fill('delete webhooks')
  await page.waitForURL(/filter=delete/)
  await page.getByText('1 operation', { exact: true }).waitFor()
  await page.getByRole('list', { name: 'Webhooks' }).getByRole('link', { name: 'Delete a webhook' }).click()
  await heading(page, 'Delete a webhook').waitFor()
  expect(new URL(page.url()).search).toBe('')
  expect(complaints).toEqual([])
  await context.close()
})

it('finds an error by its code, with a folded example', async () => {
  const { context, page, complaints } = await openPerson(browser, { url: site })
  await page.goto(`${site}/docs?search=unknown_model`)
  await page.getByRole('list', { name: 'Results' }).getByRole('link').first().click()
  await page.waitForURL(/\/docs\/errors#unknown_model$/)
  const example = page.locator('#unknown_model ~ details').first()
  const body = example.getByText('"code"')
  expect(await body.isVisible()).toBe(false)
  await example.getByText('Example').click()
  await body.waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('can be read without a script, and as Markdown', async () => {
  expect(await read('/docs/buy')).toMatch(/<article class="docs-text"><h1>[^<]+<\/h1>[\s\S]*<h2 id="webhooks">/)
  expect(await read('/docs/buy')).not.toMatch(/<style|\sstyle="|<script>|\son\w+="/)
  expect(await read('/docs/buy.md')).toMatch(/^# /)
  expect(await read('/docs/reference/buyerKeyCreate.md')).toContain(`${site}/v1/buyer/keys`)
  expect((await fetch(`${site}/docs/nothing-here`, { headers: { accept: 'text/html' } })).status).toBe(404)
})
