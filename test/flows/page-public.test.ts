import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { chainOf } from '#test/support/chain/chain.ts'
import { payingFetch } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, signOut, waitForScreen } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'
import { until } from '#test/support/run/until.ts'

const MODEL = 'gpt-5-nano'
const HEAD_MS = 20_000
let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})

afterAll(() => browser?.close())

const open = (key?: string) => openPerson(browser, { url: site, ...(key === undefined ? {} : { key }) })
const Answer = z.object({ usage: z.object({ buyer_cost_micro: z.number() }) }).loose()

const Unsold = z.object({
  data: z.object({
    markets: z.object({
      edges: z.array(z.object({ node: z.object({ id: z.string(), healthySellerCount: z.number() }) })),
    }),
  }),
})

/** The digits of an amount to the micro. */
const exact = (micro: number) => `$0.${String(micro).padStart(6, '0')}`

it('shows where accounts are lent, which of them can serve a call, and a command that makes one', async () => {
  const { context, page, complaints } = await open()
  await page.goto(site)
  await page.getByText('Saved by buyers').waitFor()
  await page.getByRole('link', { name: 'Lent accounts' }).click()
  await heading(page, 'Lent accounts').waitFor()
  await page.getByRole('link', { name: 'Provider P2' }).click()
  await heading(page, 'Provider P2').waitFor()
  const book = page.getByRole('table', { name: 'Lent accounts' })
  await book.getByRole('row', { name: /#1 .*% yes/ }).waitFor()
  const command = (await page.getByRole('region', { name: 'A call to paste' }).locator('pre').textContent()) ?? ''
  expect(command).toContain('/resources/provider-p2/chat/completions')
  const { stdout } = await promisify(execFile)('sh', ['-c', command], {
    env: { ...process.env, MARKET_KEY: network.sandbox.buyer_key },
  })
  expect(stdout).toContain('choices')
  await page.getByLabel('Minimum discount, percent').fill('100')
  await page.waitForURL(/floor=100/)
  await book.getByRole('row', { name: /#1 .* no discount too small/ }).waitFor()
  await page.reload()
  expect(await page.getByLabel('Minimum discount, percent').inputValue()).toBe('100')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await book.getByRole('row', { name: /#1 .*% yes/ }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('shows the receipt of a call to its buyer alone, exact to the micro', async () => {
  const answer = await fetch(`${network.sandbox.api_base_url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5-mini', max_tokens: 32, messages: [{ role: 'user', content: 'Hello.' }] }),
  })
  const cost = Answer.parse(await answer.json()).usage.buyer_cost_micro
  const id = answer.headers.get('x-request-id') ?? ''
  expect(cost).toBeGreaterThan(0)
  const buyer = await open(network.sandbox.buyer_key)
  await buyer.page.goto(`${site}/receipt`)
  await buyer.page.getByLabel('Request ID or transaction hash').fill(id)
  await buyer.page.keyboard.press('Enter')
  await buyer.page.waitForURL(new RegExp(`id=${id}`))
  await buyer.page.getByRole('row', { name: `Charged ${exact(cost)}` }).waitFor()
  await buyer.page.getByText('prepaid credit').waitFor()
  const lines = buyer.page.locator('.sum tbody tr')
  await lines.filter({ hasText: /^Output.*tokens × \$/ }).waitFor()
  const micro = (text: string) => Math.round(Number(text.replace('−', '-').replaceAll(/[^\d.-]/g, '')) * 1e6)
  const amounts = (await lines.locator('td').allTextContents()).map(micro)
  const atList = (await lines.allTextContents()).findIndex((text) => text.startsWith('At list prices'))
  const sum = (some: readonly number[]) => some.reduce((total, amount) => total + amount, 0)
  expect(sum(amounts.slice(0, atList))).toBe(amounts[atList])
  expect(sum(amounts.slice(atList))).toBe(cost)
  // A transaction that has paid no call of the buyer.
  await buyer.page.goto(`${site}/receipt?id=0x${'ab'.repeat(32)}`)
  await buyer.page.getByText('You have no call with this ID').waitFor()
  const stranger = await open()
  await stranger.page.goto(`${site}/receipt?id=${id}`)
  await stranger.page.getByText('Sign in to see this receipt').waitFor()
  expect(await stranger.page.locator('main').textContent()).not.toContain(exact(cost))
  expect([...buyer.complaints, ...stranger.complaints]).toEqual([])
  await Promise.all([buyer.context.close(), stranger.context.close()])
})

it('shows every holder of its id the money of a call that a wallet paid; the payer finds it by its transaction', async () => {
  const { sandbox } = network
  const chain = await chainOf()
  const privateKey = sandbox.buyer_private_key
  const account = privateKeyToAccount(privateKey)
  const answer = await payingFetch(
    chain,
    { privateKey, account, address: account.address },
    'exact',
  )(`${sandbox.base_url}/x402/api/inference/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5-nano', max_tokens: 16, messages: [{ role: 'user', content: 'Hi.' }] }),
  })
  expect(answer.status).toBe(200)
  const id = answer.headers.get('x-request-id') ?? ''
  const holder = await open()
  await holder.page.goto(`${site}/receipt?id=${id}`)
  await holder.page.getByText('Wallet, by x402').waitFor()
  const charged = holder.page.getByRole('row', { name: /^Charged/ })
  const amount = (await charged.getByRole('cell').textContent()) ?? ''
  expect(amount).toMatch(/^\$0\.\d{6}$/)
  const hash = await holder.page.getByText(/^0x[0-9a-f]{64}$/).textContent()
  // The request and its provider are hidden from the holder of a receipt's id.
  expect(await holder.page.locator('main').textContent()).not.toMatch(/gpt-5-nano|Served by/)
  const wallet = await open()
  await openWallet(wallet.context, account)
  await wallet.page.goto(`${site}/sign-in?to=${encodeURIComponent(`/receipt?id=${hash}`)}`)
  await wallet.page.getByRole('button', { name: 'Test wallet' }).click()
  await wallet.page.getByRole('heading', { name: `Receipt ${id}` }).waitFor()
  await wallet.page.getByRole('row', { name: `Charged ${amount}` }).waitFor()
  expect([...holder.complaints, ...wallet.complaints]).toEqual([])
  await Promise.all([holder.context.close(), wallet.context.close()])
})

it('shows an incident that an operator declares, updates and ends, on the page of its model and on the status page', async () => {
  const { context, page, complaints } = await open(network.sandbox.management_key)
  const visitor = await open()
  const title = `Slow answers ${Date.now()}`
  const row = page.getByRole('table', { name: 'Declared incidents' }).getByRole('row', { name: new RegExp(title) })
  await page.goto(`${site}/operator/incidents`)
  await page.getByRole('button', { name: 'Declare an incident' }).click()
  const act = dialog(page).getByRole('button', { name: 'Publish' })
  expect(await act.isDisabled()).toBe(true)
  await dialog(page).getByLabel('Title').fill(title)
  await dialog(page).getByLabel('Note').fill('<b>We look into it.</b>')
  await dialog(page).getByLabel('Models').fill('nothing')
  await act.click()
  // A refusal keeps the typed text.
  await dialog(page).getByText('No model is called nothing.').waitFor()
  await dialog(page).getByLabel('Models').fill(MODEL)
  await act.click()
  await row.getByText('investigating').waitFor()

  await visitor.page.goto(`${site}/model/${MODEL}`)
  await visitor.page.getByText(title).first().waitFor()

  await page.getByRole('button', { name: `Add an update to ${title}` }).click()
  await dialog(page).getByText('Only the note changes.').waitFor()
  await dialog(page).getByLabel('Note').fill('A provider is slow.')
  await dialog(page).getByLabel('State').selectOption('identified')
  await dialog(page).getByRole('row', { name: 'State investigating identified' }).waitFor()
  await act.click()
  await row.getByText('identified').waitFor()
  await page.getByRole('button', { name: `End ${title}` }).click()
  await dialog(page).getByRole('row', { name: 'State identified resolved' }).waitFor()
  await dialog(page).getByLabel('Last note').fill('It is over.')
  await dialog(page).getByRole('button', { name: 'End the incident' }).click()
  await row.getByText('resolved').waitFor()

  await visitor.page.goto(`${site}/status`)
  await visitor.page.getByText(title).first().click()
  for (const note of ['<b>We look into it.</b>', 'A provider is slow.', 'It is over.'])
    await visitor.page.getByText(note).first().waitFor()
  await page.goto(`${site}/operator/audit?operation=incident.end`)
  await page.getByRole('cell', { name: 'Ended an incident' }).first().waitFor()
  expect([...complaints, ...visitor.complaints]).toEqual([])
  await Promise.all([context.close(), visitor.context.close()])
})

it('shows the head of a model before its script and without one, and the script draws the same in the same place', async () => {
  const { context, page } = await open()
  let run = () => {}
  const mayRun = new Promise<void>((resolve) => {
    run = resolve
  })
  await page.route('**/assets/*.js', async (route) => {
    await mayRun
    await route.continue()
  })
  // Without an answer, the page draws the data in the document.
  await page.route('**/graphql', () => {})
  const drawn = () =>
    page.evaluate(`['.page-head', '.stats'].map((name) => {
        const part = document.querySelector('main ' + name)
        const { x, y, width, height } = part.getBoundingClientRect()
        return { html: part.outerHTML, x, y, width, height }
      })`)
  // On a busy machine, the market may not read the head in the time that a document waits for it.
  await until('the document has its head', HEAD_MS, async () => {
    const document = await page.goto(`${site}/model/${MODEL}`, { waitUntil: 'commit' })
    return (await document?.text())?.includes('class="stats"') === true
  })
  await page.locator('main .stats').waitFor()
  await page.waitForFunction('document.styleSheets.length > 0')
  const before = await drawn()
  expect(await page.title()).toBe(`${await page.locator('main h1').textContent()} · Surplus`)
  run()
  await page.locator('#navigation').waitFor({ state: 'attached' })
  expect(await drawn()).toEqual(before)
  await context.close()
})

it('a read that is refused in part or as a whole: the screen says so, shows no zero, and has no placeholder for it', async () => {
  const { dashboard_url: url, buyer_key: key } = network.sandbox
  const { context, page } = await open(key)
  const errors = [{ message: 'Try again later.', extensions: { code: 'internal_error' } }]
  const answerTo = (name: string, change: (data: Record<string, unknown>) => object | null) =>
    page.route('**/graphql*', async (route) => {
      if (route.request().postData()?.includes(name) !== true) return route.fallback()
      const { data } = z.object({ data: z.record(z.string(), z.unknown()) }).parse(await (await route.fetch()).json())
      const changed = change(data)
      await route.fulfill({ json: changed === null ? { errors } : { data: changed, errors } })
    })
  const skeletons = page.locator('main .skeleton')
  const missing = page.getByText('Try again later. A part of this screen is missing.')
  await answerTo('PublicHome', (data) => ({ ...data, marketTotals: null, trades: null }))
  await page.goto(url)
  await missing.waitFor()
  await page.getByText('Not known just now').waitFor()
  const latest = page.getByRole('region', { name: 'Latest calls' })
  await latest.getByText('A part of this screen could not be read').waitFor()
  expect(await skeletons.count()).toBe(0)
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Retry' }).click()
  await missing.waitFor({ state: 'detached' })
  await page.getByText('saved, over').waitFor()

  await answerTo('PublicHome', () => null)
  await page.reload()
  await page.getByRole('alert').getByText('Try again later.').waitFor()
  await page.getByText('Not known just now').waitFor()
  expect(await skeletons.count()).toBe(0)
  await answerTo('PageViewer', () => null)
  await page.goto(`${url}/buyer/keys`)
  await page.getByRole('alert').getByText('Try again later.').waitFor()
  expect(await skeletons.count()).toBe(0)
  await context.close()
})

it('sees a job that is started elsewhere while the list of jobs is open, as soon as the update arrives', async () => {
  const { buyer_key: own } = network.sandbox
  const { context, page, complaints } = await open(own)
  // The list is not read again regularly, so only the update can show the job.
  await page.addInitScript('window.setInterval = () => 0')
  await page.goto(`${site}/buyer/jobs`)
  await page.getByText('Live', { exact: true }).waitFor()
  await waitForScreen(page)
  const rows = page.getByRole('table', { name: 'Jobs', exact: true }).locator('tbody tr')
  const before = await rows.count()
  const body = { model: 'sandbox/video-job', prompt: 'Waves', seconds: 4 }
  await askMarket(site, { method: 'POST', path: '/v1/videos', key: own, body })
  await rows.nth(before).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('lists the models on sale, and on request those that no seller offers', async () => {
  const query = {
    method: 'POST',
    path: '/graphql',
    key: network.sandbox.buyer_key,
    body: {
      query: '{ markets(first: 1, sort: sellers, isReversed: true) { edges { node { id healthySellerCount } } } }',
    },
  }
  const [last] = Unsold.parse(await askMarket(site, query)).data.markets.edges
  expect(last?.node.healthySellerCount).toBe(0)
  const { context, page, complaints } = await open()
  await page.goto(`${site}/models?search=${last?.node.id}&sort=sellers&reverse=yes`)
  await page.getByLabel('Sellers').selectOption('Any or none')
  await page.waitForURL(/sellers=0/)
  await page.getByRole('row', { name: new RegExp(`${last?.node.id} not on sale`) }).waitFor()
  await page.getByLabel('Sellers').selectOption('On sale')
  await page.getByRole('row', { name: new RegExp(`${last?.node.id} not on sale`) }).waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})

it('reads the bars of the status page by arrow keys and by pointer', async () => {
  const { context, page, complaints } = await open()
  await page.goto(`${site}/status`)
  const row = page.getByRole('table', { name: 'Days' }).getByRole('row', { name: /^Whole market/ })
  const bars = row.getByRole('img')
  await row.getByText('90 days ago').waitFor()
  await bars.press('ArrowLeft')
  const today = new Intl.DateTimeFormat('en-GB', { month: 'short', day: '2-digit', timeZone: 'UTC' }).format(new Date())
  await row.getByText(`${today} UTC: `).waitFor()
  await bars.press('ArrowLeft')
  await row.getByText(`${today} UTC: `).waitFor({ state: 'detached' })
  await bars.hover({ position: { x: 20, y: 10 } })
  await row.getByText(/ UTC: no calls$/).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('compares the chosen models while the list shows others', async () => {
  const { context, page, complaints } = await open()
  await page.goto(`${site}/models?search=${MODEL}`)
  await page.getByLabel(/^Compare .*GPT-5 nano$/i).check()
  await page.waitForURL(/compare=/)
  const compared = page.getByRole('region', { name: 'Comparison' })
  await compared.getByRole('columnheader', { name: /GPT-5 nano/i }).waitFor()
  await page.getByLabel('Name').fill('claude-3.5-haiku')
  await page.waitForURL(/search=claude/)
  await page.getByRole('link', { name: /Haiku/ }).first().waitFor()
  await page.getByLabel(/^Compare .*Haiku/).check()
  await compared.getByRole('columnheader', { name: /Haiku/ }).waitFor()
  expect(await compared.getByRole('columnheader').allTextContents()).toEqual([
    expect.stringMatching(/GPT-5 nano/i),
    expect.stringMatching(/Haiku/),
  ])
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await compared.waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})

it('names the figure that leads a row of a table on a phone', async () => {
  const { context, page, complaints } = await open()
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${site}/lent`)
  const lead = 'td[data-phone="lead"]'
  await page
    .locator(lead)
    .first()
    .getByText(/^\d+%$/)
    .waitFor()
  const name = await page.evaluate(`getComputedStyle(document.querySelector('${lead}'), '::before').content`)
  expect(name).toBe('"Best discount"')
  expect(complaints).toEqual([])
  await context.close()
})

it('leads back from a page of a list to the page before, and out of a call to its list', async () => {
  const { context, page, complaints } = await open(network.sandbox.buyer_key)
  await page.goto(`${site}/models`)
  const name = page.getByRole('table', { name: 'Models' }).locator('tbody tr').first().getByRole('link')
  const first = (await name.textContent()) ?? ''
  await page.getByRole('button', { name: 'Next page' }).click()
  await name.filter({ hasNotText: first }).waitFor()
  await page.goBack()
  await name.filter({ hasText: first }).waitFor()
  await page.goto(`${site}/buyer/logs?period=30d`)
  await page.getByRole('table', { name: 'Calls' }).locator('tbody tr').first().waitFor()
  await page.keyboard.press('j')
  await dialog(page).waitFor()
  await page.keyboard.press('j')
  await page.waitForURL(/call=/)
  await page.goBack()
  await dialog(page).waitFor({ state: 'detached' })
  expect(new URL(page.url()).pathname).toBe('/buyer/logs')
  expect(complaints).toEqual([])
  await context.close()
})

it('a screen that is opened while the market is away loads once it is back, and a sign-out leaves nothing in another tab', async () => {
  const { context, page } = await open(network.sandbox.buyer_key)
  await page.goto(`${site}/buyer/logs`)
  await heading(page, 'Logs').waitFor()
  await context.setOffline(true)
  await page.getByRole('link', { name: 'Limits' }).click()
  await page.waitForURL(/limits/)
  await heading(page, 'Logs').waitFor()
  await context.setOffline(false)
  await heading(page, 'Limits').waitFor()
  const other = await context.newPage()
  await other.goto(`${site}/buyer/credit`)
  await signOut(other)
  await page.getByText('to see this page').waitFor()
  await context.close()
})
