import type { Browser, Locator } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, openPerson } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'

const MODEL = 'gpt-5-nano'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})

afterAll(() => browser?.close())

const Key = z.object({ key: z.string() })
const Answer = z.object({ usage: z.object({ buyer_cost_micro: z.number() }) })

/** Creates a key of the sample buyer and calls with it. */
async function callWithNewKey(label: string): Promise<{ id: string; cost: number }> {
  const input = { method: 'POST' as const, path: '/v1/buyer/keys', key: network.sandbox.buyer_key, body: { label } }
  const { key } = Key.parse(await askMarket(site, input))
  const answer = await fetch(`${network.sandbox.api_base_url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, max_tokens: 32, messages: [{ role: 'user', content: 'Say hello.' }] }),
  })
  const { usage } = Answer.parse(await answer.json())
  return { id: answer.headers.get('x-request-id') ?? '', cost: usage.buyer_cost_micro }
}

/** The sum of the lines of a price in micro-USD, without the subtotal and the total. */
async function sumOfRows(price: Locator): Promise<number> {
  const amounts = await price
    .locator('tbody tr')
    .filter({ hasNotText: 'At list prices' })
    .locator('td')
    .allTextContents()
  return amounts.reduce((sum, text) => sum + Math.round(Number(text.replace('−', '-').replace('$', '')) * 1e6), 0)
}

it('shows the bill, the key and the path of a call, and the search finds the call, the key and the actions', async () => {
  const label = `calls-${Date.now()}`
  const call = await callWithNewKey(label)
  const charged = `$0.${String(call.cost).padStart(6, '0')}`
  const { context, page, complaints } = await openPerson(browser, { url: site, key: network.sandbox.buyer_key })
  const drawer = dialog(page)
  // The call's own address shows the key and the path, which the list beside the drawer lacks.
  await page.goto(`${site}/buyer/logs?model=gpt-5&call=${call.id}`)
  await drawer.getByRole('row', { name: `Charged ${charged}` }).waitFor()
  expect(await sumOfRows(drawer.getByRole('region', { name: 'Price' }))).toBe(call.cost)
  await drawer.getByText('chat', { exact: true }).waitFor()
  await drawer.getByText(label, { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.waitForURL((url) => !url.search.includes('call='))
  // The search finds the key by its name, and the call by its id.
  const search = page.getByRole('combobox', { name: 'Search' })
  await page.keyboard.press('Control+k')
  await search.fill(label)
  await dialog(page).getByRole('option', { name: label, selected: true }).click()
  await page.waitForURL(/key=/)
  await page.keyboard.press('Control+k')
  await search.fill(call.id)
  await dialog(page)
    .getByRole('option', { name: /Open call/, selected: true })
    .waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/call=/)
  await drawer.getByRole('row', { name: `Charged ${charged}` }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await search.fill('dark theme')
  await page.keyboard.press('Enter')
  await page.locator('html[data-theme="dark"]').waitFor()
  await page.keyboard.press('Control+k')
  await search.fill('create api key')
  await page.keyboard.press('Enter')
  await dialog(page).getByLabel('Name').waitFor()
  await page.keyboard.press('Escape')
  await page.waitForURL((url) => !url.search.includes('new='))
  expect(complaints).toEqual([])
  await context.close()
})
