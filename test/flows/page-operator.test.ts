import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, openPerson, SCREEN_MS } from '#test/support/page/page-browser.ts'
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
afterAll(() => browser?.close())

const open = (key: string) => openPerson(browser, { url: site, key })
const door = (method: string, path: string, key: string, body?: object) => askMarket(site, { method, path, key, body })

const say = (key: string) =>
  door('POST', '/v1/chat/completions', key, {
    model: MODEL,
    max_tokens: 32,
    messages: [{ role: 'user', content: 'Say hello.' }],
  })

/** The request id of a call of the sample buyer that is charged and booked. */
async function chargedCall(): Promise<string> {
  await say(network.sandbox.buyer_key)
  const Requests = z.object({
    requests: z.array(z.object({ request_id: z.string(), buyer_cost_micro: z.number().nullable() }).loose()),
  })
  const newest = async () =>
    Requests.parse(await door('GET', '/v1/requests?limit=5', network.sandbox.buyer_key)).requests.find(
      ({ buyer_cost_micro: cost }) => cost !== null && cost > 0,
    )?.request_id
  await until('a call is booked', SCREEN_MS, async () => (await newest()) !== undefined)
  return (await newest()) ?? ''
}

describe('an operator who helps a customer', () => {
  const customer = () => network.sandbox.buyer_key.slice(0, 12)
  const Figures = z.object({ credit_balance_usdc: z.string() }).loose()
  const balance = async () =>
    BigInt(Figures.parse(await door('GET', '/v1/payments/balance', network.sandbox.buyer_key)).credit_balance_usdc)

  it('finds the customer by a key, gives credit once, and takes it back', async () => {
    const before = await balance()
    const { context, page, complaints } = await open(network.sandbox.management_key)
    // The whole secret is pasted. The address keeps the part that lists show.
    await page.goto(`${site}/operator/support`)
    await page.getByLabel('Find').fill(network.sandbox.buyer_key)
    await page.getByText('Available credit').waitFor()
    expect(page.url()).not.toContain(network.sandbox.buyer_key.slice(0, 13))
    await page.getByRole('button', { name: 'Give credit' }).click()
    await dialog(page).getByLabel('Amount, US dollars').fill('0.000007')
    expect(await dialog(page).getByRole('button', { name: 'Give credit' }).isDisabled()).toBe(true)
    await dialog(page).getByLabel('Reason').fill('a film that stopped')
    // The first answer is lost on its way. The second try of the same dialog has the same ticket.
    let lost = 0
    await page.route('**/graphql', async (route) => {
      if (lost > 0 || !(route.request().postData() ?? '').includes('PageGrantCredit')) return route.continue()
      lost += 1
      await route.fetch()
      return route.abort()
    })
    await dialog(page).getByRole('button', { name: 'Give credit' }).click()
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByRole('button', { name: 'Give credit' }).click()
    await page.getByText('The credit is on the account.').waitFor()
    expect(lost).toBe(1)
    expect((await balance()) - before).toBe(7n)
    await page
      .getByRole('row', { name: /Credit given.*a film that stopped.*\$0\.000007/ })
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Take credit back' }).click()
    await dialog(page).getByLabel('Amount, US dollars').fill('0.000007')
    await dialog(page).getByLabel('Reason').fill('granted by mistake')
    await dialog(page).getByRole('button', { name: 'Take credit back' }).click()
    await page.getByText('The credit is taken back.').waitFor()
    expect(await balance()).toBe(before)
    await page.getByRole('link', { name: 'Changes by operators' }).click()
    await page.getByRole('cell', { name: 'Gave credit to an account' }).first().waitFor()
    await page
      .getByRole('row', { name: /Gave credit/ })
      .first()
      .getByRole('button')
      .click()
    await dialog(page).getByText('a film that stopped').waitFor()
    // A request that the test itself broke is a complaint of the console.
    expect(complaints.filter((line) => !/ERR_FAILED|Failed to load/.test(line))).toEqual([])
    await context.close()
  })

  it('finds a call by its request id and refunds it once, to the micro', async () => {
    const rid = await chargedCall()
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator/support?find=${customer()}`)
    await page.getByText('Available credit').waitFor()
    const before = await balance()
    await page.goto(`${site}/operator/support?find=${rid}`)
    await page.getByRole('button', { name: 'Refund this call' }).click()
    const charged = await dialog(page)
      .getByRole('row', { name: /^Buyer charged \+\$/ })
      .textContent()
    await dialog(page).getByLabel('Reason').fill('the answer was cut')
    await dialog(page).getByRole('button', { name: 'Refund', exact: true }).click()
    await page.getByText('The call is refunded.').waitFor()
    const [, dollars = ''] = /\+\$([\d.]+)/.exec(charged ?? '') ?? []
    expect((await balance()) - before).toBe(BigInt(dollars.replace('.', '')))
    await page.getByText('refunded', { exact: true }).first().waitFor()
    expect(await page.getByRole('button', { name: 'Refund this call' }).count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('an operator who watches the market', () => {
  it('reads revenue, users and errors of a period, which the address keeps, as the door has them', async () => {
    await chargedCall()
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator`)
    await page.getByText('Gross volume').waitFor()
    await page.getByRole('button', { name: '7 days' }).click()
    await page.getByText(/Compared with the .* before\./).waitFor()
    await page.reload()
    await page.getByText(/Compared with the .* before\./).waitFor()
    const Figures = z.object({
      data: z.object({ operatorFigures: z.object({ present: z.object({ buyers: z.number() }) }) }),
    })
    const from = Math.ceil(Date.now() / 3_600_000) * 3_600_000 - 7 * 86_400_000
    const { data } = Figures.parse(
      await door('POST', '/graphql', network.sandbox.management_key, {
        query: `{ operatorFigures(from: ${from}) { present { buyers } } }`,
      }),
    )
    const buyers = page.locator('.stat', { hasText: 'Active buyers' }).locator('dd').first()
    await until('the screen has the buyers of the door', SCREEN_MS, async () => {
      return (await buyers.textContent()) === String(data.operatorFigures.present.buyers)
    })
    await page
      .getByRole('cell', { name: /^\d+ of 10\.0?K$|^\d+ of [\d,.K]+$/ })
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('opens a transaction of the ledger, sees its entries balance, and follows an account', async () => {
    const rid = await chargedCall()
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator/ledger`)
    await page.getByLabel('Reference').fill(rid)
    const row = page.getByRole('row', { name: /Call.*, credit .*, earnings Market fees/ })
    await until('the ledger has one line', SCREEN_MS, async () => (await row.count()) === 1)
    await row.getByRole('button').focus()
    await page.keyboard.press('Enter')
    await dialog(page).getByText(rid).first().waitFor()
    await dialog(page).getByText('Balanced: the entries sum to $0.00').waitFor()
    await dialog(page)
      .getByRole('row', { name: /Market fees/ })
      .waitFor()
    await page.reload()
    await dialog(page).getByText('Balanced: the entries sum to $0.00').waitFor()
    await dialog(page)
      .getByRole('row', { name: /, credit/ })
      .getByRole('link')
      .click()
    await page.getByRole('columnheader', { name: 'This account' }).waitFor()
    expect(page.url()).toContain('account=acc_')
    await page.getByLabel('Kind').selectOption('grant')
    await page
      .getByRole('row', { name: /Credit given.*Free credit/ })
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('imports models after a look at the difference, and sees which rows are refused', async () => {
    const id = `page-import-${Date.now()}`
    const row = textModel(id)
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator/catalogue`)
    await page.getByRole('link', { name: 'Import models' }).click()
    await page.getByLabel('Source').fill('a test of the page')
    await page.getByLabel('Or paste the JSON').fill('{"data": [')
    await page.getByRole('button', { name: 'Preview changes' }).click()
    await page.getByText(/^This is not JSON/).waitFor()
    const buffer = Buffer.from(JSON.stringify({ data: [row, { ...row, id: '' }] }))
    await page.getByLabel('File').setInputFiles({ name: 'models.json', mimeType: 'application/json', buffer })
    await page.getByRole('button', { name: 'Preview changes' }).click()
    await page.getByText('1 new, 0 changed, 0 unchanged, 1 row refused.').waitFor()
    const changes = page.getByRole('table', { name: 'Changes of the import' })
    await changes.getByRole('row', { name: `${id} Tokens in per million none $0.25` }).waitFor()
    await page.getByRole('table', { name: 'Refused rows' }).getByRole('row', { name: /^2 / }).waitFor()
    // The preview changes nothing.
    expect(await door('GET', `/v1/models/${id}`, network.sandbox.buyer_key).catch(String)).toContain('404')
    await page.getByRole('button', { name: 'Import 1 model' }).click()
    await page.getByText('Imported: 1 new, 0 changed, 1 with new prices.').waitFor()
    await page.goto(`${site}/operator/catalogue?model=${id}`)
    await page.getByRole('table', { name: 'List prices' }).getByText('a test of the page').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('runs the check of the invariants, and sees settings without a secret', async () => {
    const { context, page, complaints } = await open(network.sandbox.management_key)
    await page.goto(`${site}/operator/invariants`)
    await page.getByRole('row', { name: /I1 Double entry/ }).waitFor()
    await page.getByRole('button', { name: 'Run the check' }).click()
    await page.getByText('Every checked invariant holds.').first().waitFor()
    await page.getByRole('row', { name: /I9 World sums to 0 .* passed/ }).waitFor()
    await page.goto(`${site}/operator/configuration`)
    await page.getByRole('row', { name: /DATABASE_URL.*hidden/ }).waitFor()
    expect(await page.content()).not.toContain('postgres://')
    // A setting with its default is not among the changed ones. A word of its meaning finds it.
    expect(await page.getByRole('row', { name: /RETENTION_MONTHS/ }).count()).toBe(0)
    await page.getByLabel('Find a setting').fill('detached')
    await page.getByRole('row', { name: /DATABASE_URL/ }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /RETENTION_MONTHS.* 24 months/ }).waitFor()
    await page.getByLabel('Find a setting').fill('')
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await page.getByRole('row', { name: /PLATFORM_FEE_BPS.* 5% 500 5%/ }).waitFor()
    await page.getByRole('row', { name: /Model calls at once/ }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})
