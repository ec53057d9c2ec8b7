import { readFile } from 'node:fs/promises'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, SCREEN_MS, waitForScreen } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'gpt-5-nano'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})

afterAll(async () => {
  // A journey that fails in between would leave the floor in place for every later file.
  await door('PUT', '/v1/buyer/preferences', network.sandbox.buyer_key, { min_discount_pct: null })
  await browser?.close()
})

const open = (key?: string) => openPerson(browser, { url: site, ...(key === undefined ? {} : { key }) })

const door = (method: string, path: string, key: string, body?: object) => askMarket(site, { method, path, key, body })

const say = (key: string) =>
  door('POST', '/v1/chat/completions', key, {
    model: MODEL,
    max_tokens: 32,
    messages: [{ role: 'user', content: 'Say hello.' }],
  })
const Offers = z.object({
  items: z.array(z.object({ id: z.string(), model: z.string(), status: z.string(), discount: z.number() }).loose()),
})
const offersOf = async () => Offers.parse(await door('GET', '/v1/seller/offers', network.sandbox.seller_key)).items
const OfferPage = Offers.extend({ next_token: z.string().nullish() })
/** Every offer of the sample seller, page after page. */
async function allOffersOf(after?: string): Promise<z.infer<typeof Offers>['items']> {
  const path = `/v1/seller/offers?max_items=100${after === undefined ? '' : `&next_token=${encodeURIComponent(after)}`}`
  const { items, next_token: next } = OfferPage.parse(await door('GET', path, network.sandbox.seller_key))
  return next == null ? items : [...items, ...(await allOffersOf(next))]
}
const Key = z.object({ id: z.string(), key: z.string() }).loose()

describe('a buyer', () => {
  it('sees the spend by any group, cumulated or not, and opens the calls of a group', async () => {
    const { buyer_key: key } = network.sandbox
    await say(key)
    const { context, page, complaints } = await open(key)
    await page.goto(`${site}/buyer/activity?period=24h`)
    await page.getByLabel('Metric').selectOption('calls')
    await page.getByRole('link', { name: MODEL, exact: true }).first().waitFor()
    await page.getByLabel('Group by').selectOption('provider')
    await page.getByLabel('Cumulative').check()
    await page.waitForURL(/group=provider.*sum=yes|sum=yes.*group=provider/)
    await page.reload()
    expect(await page.getByLabel('Cumulative').isChecked()).toBe(true)
    await page.getByLabel('By hour of day').check()
    const hours = page.getByRole('region', { name: 'Calls by hour of the day' })
    await hours.getByRole('img').focus()
    await page.keyboard.press('ArrowRight')
    await hours.getByText(/01:00 .*: (?:\d|not enough data)/).waitFor()
    await hours.getByText('As a table').click()
    await hours.getByRole('row', { name: /[1-9]/ }).first().waitFor()
    await page.getByText('As a table').first().click()
    const line = page.getByRole('table', { name: 'Activity' }).getByRole('link').first()
    const provider = (await line.textContent()) ?? ''
    await line.click()
    await heading(page, 'Logs').waitFor()
    expect(new URL(page.url()).searchParams.get('provider')).toBe(provider)
    await page
      .getByRole('row', { name: new RegExp(provider) })
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('changes the caps of a key after a preview of the difference', async () => {
    const { buyer_key: own } = network.sandbox
    const { id } = Key.parse(await door('POST', '/v1/buyer/keys', own, { label: 'bounded', cap_daily_usd: 4 }))
    const { context, page, complaints } = await open(own)
    await page.goto(`${site}/buyer/limits`)
    await page.getByRole('button', { name: 'Change the limits of bounded' }).click()
    expect(await dialog(page).getByRole('button', { name: 'Save limits' }).isDisabled()).toBe(true)
    await dialog(page).getByLabel('Cap a day, US dollars').fill('2.5')
    await dialog(page).getByRole('row', { name: 'Cap a day $4.00 $2.50' }).waitFor()
    await dialog(page).getByRole('button', { name: 'Save limits' }).click()
    await page.getByRole('row', { name: /bounded.*of \$2\.50/ }).waitFor()
    await door('DELETE', `/v1/buyer/keys/${id}`, own)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('shows the files of a finished job, and saves them, without a key of its own', async () => {
    const { buyer_key: own } = network.sandbox
    const begin = (model: string) => door('POST', '/v1/videos', own, { model, prompt: 'Waves', seconds: 4 })
    const { id } = z.looseObject({ id: z.string() }).parse(await begin('sandbox/video-job'))
    const { context, page, complaints } = await open(own)
    await page.goto(`${site}/buyer/jobs`)
    // The sample buyer has jobs of other files as well.
    await page.getByRole('button', { name: `View files of ${id.replace('job_', '')}` }).click()
    await dialog(page).getByText('/content').waitFor()
    const film = dialog(page).locator('video')
    const link = dialog(page).getByRole('link', { name: /^Download|^Open the file at its provider/ })
    await link.waitFor()
    const href = (await link.getAttribute('href')) ?? ''
    // The link is the provider's until a copy is stored here.
    if (new URL(href, site).origin === new URL(site).origin) {
      await expect.poll(() => film.evaluate((shown) => Number(Reflect.get(shown, 'duration')))).toBeGreaterThan(0)
      const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
      expect((await readFile(await download.path())).length).toBeGreaterThan(0)
    } else {
      // The page shows nothing of other origins: the preview comes through the market.
      await dialog(page).getByRole('button', { name: 'Load preview' }).click()
      await film.waitFor()
      await expect.poll(() => film.evaluate((shown) => Number(Reflect.get(shown, 'duration')))).toBeGreaterThan(0)
      const [tab] = await Promise.all([context.waitForEvent('page'), link.click()])
      await tab.waitForURL(href)
      await tab.close()
    }
    expect(new URL(page.url()).pathname).toBe('/buyer/jobs')
    await page.keyboard.press('Escape')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('sets the rules of every call, and removes them', async () => {
    const { buyer_key: own } = network.sandbox
    const { context, page, complaints } = await open(own)
    const floorOf = async () =>
      z
        .object({ min_discount_pct: z.number().nullable() })
        .loose()
        .parse(await door('GET', '/v1/buyer/preferences', own)).min_discount_pct
    await page.goto(`${site}/buyer/providers`)
    // Without a change there is nothing to save.
    const review = page.getByRole('button', { name: 'Review changes' })
    await review.waitFor()
    expect(await review.isDisabled()).toBe(true)
    for (const [typed, shown, stored] of [
      ['1', 'Minimum discount none 1%', 1],
      ['', 'Minimum discount 1% none', null],
    ] as const) {
      await page
        .getByRole('region', { name: 'Default routing rules' })
        .getByLabel('Minimum discount, percent')
        .fill(typed)
      await review.click()
      await dialog(page).getByRole('row', { name: shown }).waitFor()
      await dialog(page).getByRole('button', { name: 'Save rules' }).click()
      await dialog(page).waitFor({ state: 'detached' })
      expect(await floorOf()).toBe(stored)
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})

it('a visitor tries a model of its page in the playground once signed in, and a link with a wrong value still opens', async () => {
  const { context, page, complaints } = await open()
  await page.goto(`${site}/model/${MODEL}?speed=tps`)
  await page.getByRole('button', { name: 'Tokens a second', pressed: true }).waitFor()
  await page.getByRole('link', { name: 'Open in the playground' }).click()
  await page.getByRole('link', { name: 'Sign in as a buyer' }).click()
  await page.waitForURL(/sign-in\?to=/)
  expect(new URL(page.url()).searchParams.get('to')).toBe(`/playground?models=${MODEL}`)
  await page.goto(`${site}/feed?days=30`)
  await page.getByRole('button', { name: '30 days', pressed: true }).waitFor()
  await page.goto(`${site}/feed?days=bogus`)
  await page.getByRole('button', { name: '7 days', pressed: true }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

describe('a seller', () => {
  it('changes several offers at once, sees the result of each, and undoes it', async () => {
    const [first, second] = (await offersOf()).filter(({ status }) => status === 'active')
    if (first === undefined || second === undefined) throw new Error('the sample seller has fewer than two offers')
    const { context, page, complaints } = await open(network.sandbox.seller_key)
    await page.goto(`${site}/seller/offers`)
    await waitForScreen(page)
    for (const { id } of [first, second])
      await page
        .locator('main tr', { has: page.locator(`a[href$="${id}"]`) })
        .getByRole('checkbox')
        .check()
    await page.getByRole('button', { name: 'Change 2 selected' }).click()
    await dialog(page).getByLabel('Discount, percent').fill('61.5')
    await dialog(page)
      .getByRole('row', { name: /61\.5%/ })
      .nth(1)
      .waitFor()
    await dialog(page).getByRole('button', { name: 'Change 2' }).click()
    await page.getByText('2 offers changed.').waitFor()
    const discounts = async () =>
      (await offersOf()).filter(({ id }) => id === first.id || id === second.id).map(({ discount }) => discount)
    expect(await discounts()).toEqual([61.5, 61.5])
    await page.getByRole('button', { name: 'Undo' }).click()
    await until('the change is undone', SCREEN_MS, async () => !(await discounts()).includes(61.5))
    const inOrder = (values: readonly number[]) => [...values].sort((a, b) => a - b)
    expect(inOrder(await discounts())).toEqual(inOrder([first.discount, second.discount]))
    expect(complaints).toEqual([])
    await context.close()
  })

  it('changes the offers that are selected on several pages, and selects every offer of the list', async () => {
    const all = await allOffersOf()
    expect(all.length).toBeGreaterThan(50)
    const { context, page, complaints } = await open(network.sandbox.seller_key)
    await page.goto(`${site}/seller/offers`)
    await waitForScreen(page)
    const boxes = page.getByRole('checkbox')
    await boxes.first().check()
    const top = await page.locator('main td a[href^="/seller/offers/"]').first().getAttribute('href')
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.locator(`main a[href="${top}"]`).waitFor({ state: 'detached' })
    await boxes.first().check()
    await page.getByRole('button', { name: 'Change 2 selected' }).click()
    await dialog(page).getByLabel('Discount, percent').fill('62.5')
    await dialog(page).getByRole('button', { name: 'Change 2', exact: true }).click()
    await page.getByText('2 offers changed.').waitFor()
    const changed = async () => (await allOffersOf()).filter(({ discount }) => discount === 62.5).length
    expect(await changed()).toBe(2)
    await page.getByRole('button', { name: 'Undo' }).click()
    await until('the change is undone', SCREEN_MS, async () => (await changed()) === 0)
    await page.getByRole('button', { name: 'Select all' }).click()
    await page.getByRole('button', { name: `Change ${all.length} selected` }).click()
    await dialog(page).getByLabel('Cap a day, US dollars').fill('123.25')
    await dialog(page)
      .getByRole('button', { name: `Change ${all.length}`, exact: true })
      .waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Model').fill(MODEL)
    await page.getByRole('button', { name: 'Change selected' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('sees which calls of the last day a discount would win', async () => {
    await say(network.sandbox.buyer_key)
    const { context, page, complaints } = await open(network.sandbox.seller_key)
    await page.goto(`${site}/seller/yield?model=${MODEL}&discount=95`)
    const card = page.getByRole('table', { name: 'Yield by discount' })
    await card.getByRole('row', { name: /95%.*selected/ }).waitFor()
    await page.getByLabel('Discount, percent').fill('0')
    await page.waitForURL(/discount=0/)
    await card.getByRole('row', { name: /^0%.*selected 0 / }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('creates a key that is shown once, lists with it, and revokes it', async () => {
    const { context, page, complaints } = await open(network.sandbox.seller_key)
    await page.goto(`${site}/seller/keys`)
    await page.getByRole('button', { name: 'New key' }).click()
    const label = `seller-${Date.now()}`
    await dialog(page).getByLabel('Name').fill(label)
    await dialog(page).getByRole('button', { name: 'Create key' }).click()
    const secret = (await dialog(page).locator('pre').textContent()) ?? ''
    expect(await door('GET', '/v1/seller/offers', secret)).toHaveProperty('items')
    await dialog(page).getByLabel('I have stored it').check()
    await dialog(page).getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: `Revoke ${label}` }).click()
    await dialog(page).getByRole('row', { name: 'State active revoked' }).waitFor()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await page
      .getByRole('row', { name: new RegExp(label) })
      .getByText('revoked')
      .waitFor()
    await expect(door('GET', '/v1/seller/offers', secret)).rejects.toThrow('401')
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('an operator', () => {
  it('delists an offer for a reason that its seller sees, and restores it', async () => {
    const [offer] = (await offersOf()).filter(({ status }) => status === 'active').reverse()
    if (offer === undefined) throw new Error('the sample seller has no offer')
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator/offers?model=${offer.model}`)
    await page.getByRole('button', { name: `Delist ${offer.id}` }).click()
    const act = dialog(page).getByRole('button', { name: 'Delist' })
    expect(await act.isDisabled()).toBe(true)
    await dialog(page).getByLabel('Reason').fill('resold keys')
    await dialog(page).getByRole('row', { name: 'State on sale delisted' }).waitFor()
    await act.click()
    await page.getByRole('row', { name: new RegExp(`delisted resold keys.*${offer.id}`) }).waitFor()
    const seller = await open(network.sandbox.seller_key)
    await seller.page.goto(`${site}/seller/offers/${offer.id}`)
    await seller.page.getByText('Because: resold keys.').waitFor()
    await seller.context.close()
    await page.getByRole('button', { name: `Restore ${offer.id}` }).click()
    await dialog(page).getByLabel('Reason').fill('cleared up')
    await dialog(page).getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('row', { name: new RegExp(`paused.*${offer.id}`) }).waitFor()
    await door('PATCH', `/v1/seller/offers/${offer.id}`, network.sandbox.seller_key, { status: 'active' })
    await page.goto(`${site}/operator/audit?operation=offer.restore&subject=${offer.id}`)
    await page.getByRole('cell', { name: 'Restored an offer' }).first().waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('turns a switch, and sets a price after a preview of the difference', async () => {
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator/incidents`)
    for (const [to, from] of [
      ['off', 'on'],
      ['on', 'off'],
    ] as const) {
      await page.getByRole('button', { name: `Switch ${to} new offers` }).click()
      await dialog(page)
        .getByRole('row', { name: `New offers ${from} ${to}` })
        .waitFor()
      await dialog(page).getByLabel('Reason').fill('a drill')
      await dialog(page)
        .getByRole('button', { name: `Switch ${to}` })
        .click()
      await page.getByRole('row', { name: new RegExp(`New offers.* ${to} a drill`) }).waitFor()
    }
    await page.goto(`${site}/operator/catalogue`)
    await page.getByRole('region', { name: 'Providers' }).getByRole('button', { name: 'Show all' }).click()
    await page.getByText('*.services.ai.azure.com').waitFor()
    await page.goto(`${site}/operator/catalogue?model=${MODEL}`)
    await page.getByRole('button', { name: 'New prices' }).click()
    const field = dialog(page).getByLabel('Tokens in per million, US dollars')
    const before = await field.inputValue()
    await field.fill('7.125')
    await dialog(page).getByLabel('Source').fill('a test of the page')
    // The change waits for its time, so it prices no call of another test.
    await dialog(page).getByLabel('Effective in, hours').fill('720')
    await dialog(page)
      .getByRole('row', { name: `Tokens in per million $${before} $7.125` })
      .waitFor()
    await dialog(page).getByRole('button', { name: 'Preview' }).click()
    await dialog(page)
      .getByText(/1 price affects \d+ offers? of \d+ sellers? and \d+ buyers?/)
      .waitFor()
    await dialog(page).getByRole('button', { name: 'Set the prices' }).click()
    await page.getByRole('row', { name: /scheduled.*\$7\.125.*a test of the page/ }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
