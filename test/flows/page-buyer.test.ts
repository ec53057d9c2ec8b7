import pg from 'pg'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { parseAnswerId } from '#shared/ids.ts'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, SCREEN_MS } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'
import { savedBy } from '#test/support/page/table-file.ts'
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

const open = (key?: string) => openPerson(browser, { url: site, ...(key === undefined ? {} : { key }) })

const door = (path: string, key: string, body?: object) =>
  askMarket(site, { method: body === undefined ? 'GET' : 'POST', path, key, body })

const Simulated = z.object({
  calls: z.number(),
  policy: z.object({ served: z.number(), unserved: z.number(), costMicro: z.number() }),
  byModel: z.array(z.object({ model: z.string(), policyProvider: z.string().nullable() })),
})

/** Reads the ledger, because the reads of a key are limited. */
async function untilBooked(id: string): Promise<void> {
  const db = new pg.Client(network.sandbox.database_url)
  await db.connect()
  try {
    const find = () => db.query('select 1 from settlement where rid = $1', [parseAnswerId(id)])
    await until(`${id} is booked`, SCREEN_MS, async () => (await find()).rows.length === 1)
  } finally {
    await db.end()
  }
}

/** The cost of the last day's calls under a policy. */
async function simulated(key: string, policy: object): Promise<z.infer<typeof Simulated>> {
  const query = `query($policy: RoutingPolicyInput!) { routingSimulation(policy: $policy) {
calls policy { served unserved costMicro } byModel { model policyProvider } } }`
  const answer = await door('/graphql', key, { query, variables: { policy } })
  return z.object({ data: z.object({ routingSimulation: Simulated }) }).parse(answer).data.routingSimulation
}

it('a buyer tries rules on the calls of the last day, which changes nothing', async () => {
  // Other files buy with the sample buyer's key, and a table shows only its first models.
  const { buyerKey: own } = await doorsOf(network).user(1)
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const bought = await door('/v1/chat/completions', own, { model: MODEL, max_tokens: 32, messages })
  await untilBooked(z.object({ id: z.string() }).parse(bought).id)
  const provider = (await simulated(own, {})).byModel.find(({ model }) => model === MODEL)?.policyProvider
  const { context, page, complaints } = await open(own)
  await page.goto(`${site}/buyer/providers`)
  const form = page.getByRole('region', { name: 'Try rules on past calls' })
  await form.getByLabel('Blocked providers').fill(provider ?? '')
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.waitForURL(/try=yes/)
  const line = page.getByRole('table', { name: 'Simulation by model' }).getByRole('row', { name: MODEL })
  await line.waitFor()
  expect(await line.getByRole('cell').last().textContent()).not.toBe(provider)
  await page
    .getByRole('table', { name: 'By rules' })
    .getByRole('row', { name: /^New rules/ })
    .waitFor()
  await form.getByLabel('Blocked providers').fill('')
  await form.getByLabel('Minimum discount, percent').fill('100')
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.getByText('no call is served under both').waitFor()
  const none = await simulated(own, { minDiscountPct: 100 })
  expect([none.policy.served, none.policy.unserved, none.policy.costMicro]).toEqual([0, none.calls, 0])
  await form.getByLabel('Only these providers').fill('nobody-sells-here')
  await page.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('alert').getByText('None of these providers is known: nobody-sells-here.').waitFor()
  await page.goBack()
  expect(await form.getByLabel('Minimum discount, percent').inputValue()).toBe('100')
  expect(await door('/v1/buyer/preferences', own)).toMatchObject({ min_discount_pct: null })
  expect(complaints).toEqual([])
  await context.close()
})

it('a job that its provider cannot stop shows that fact beside it, for as long as the page is open', async () => {
  const { buyer_key: own } = network.sandbox
  await door('/v1/videos', own, { model: 'sandbox/job-endless', prompt: 'A boat.' })
  const { context, page, complaints } = await open(own)
  await page.goto(`${site}/buyer/jobs`)
  await page.getByRole('button', { name: 'Cancel the job of sandbox/job-endless' }).first().click()
  await dialog(page).getByRole('button', { name: 'Cancel the job' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  const row = page
    .getByRole('table', { name: 'Running jobs' })
    .getByRole('row')
    .filter({ hasText: 'The provider cannot stop this job' })
  await row.waitFor()
  await page.getByRole('link', { name: 'Credit', exact: true }).click()
  await heading(page, 'Credit').waitFor()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await row.waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('an owner invites a wallet, gives it a role and removes it, and each of the two sees it', async () => {
  const people = await Promise.all(
    [newWallet(), newWallet()].map(async (wallet) => {
      const person = await open()
      await openWallet(person.context, wallet)
      await person.page.goto(`${site}/sign-in?to=/buyer/organizations`)
      await person.page.getByRole('button', { name: 'Test wallet' }).click()
      await heading(person.page, 'Organisations').waitFor()
      return { ...person, wallet }
    }),
  )
  const [owner, guest] = people
  if (owner === undefined || guest === undefined) throw new Error('two people are missing')
  await owner.page.getByRole('button', { name: 'New organisation' }).click()
  await owner.page.getByLabel('Name').fill('Acme')
  await owner.page.getByRole('button', { name: 'Create', exact: true }).click()
  await owner.page.getByRole('link', { name: 'Acme' }).click()
  await heading(owner.page, 'Acme').waitFor()
  await owner.page.getByRole('button', { name: 'Invite people' }).click()
  await dialog(owner.page).getByRole('button', { name: 'By wallet' }).click()
  await dialog(owner.page).getByLabel('Wallet address').fill(guest.wallet.address)
  await dialog(owner.page).getByLabel('Role', { exact: true }).selectOption('developer')
  await dialog(owner.page).getByRole('button', { name: 'Invite', exact: true }).click()
  const members = (page: typeof owner.page) => page.getByRole('table', { name: 'Members' })
  await members(owner.page)
    .getByRole('row', { name: /developer invited/ })
    .waitFor()

  await guest.page.reload()
  await guest.page.getByRole('button', { name: 'Accept the invitation of Acme' }).click()
  await guest.page.getByRole('link', { name: 'Acme' }).click()
  await members(guest.page)
    .getByRole('row', { name: /you developer/ })
    .waitFor()
  // A developer cannot change other members.
  expect(await guest.page.getByRole('button', { name: /^More actions for/ }).count()).toBe(0)
  expect(await guest.page.getByRole('button', { name: 'Invite people' }).count()).toBe(0)

  await owner.page.reload()
  const row = members(owner.page).getByRole('row', { name: /developer/ })
  await row.getByRole('button', { name: /^More actions for/ }).click()
  await row.getByRole('button', { name: 'Change role' }).click()
  await dialog(owner.page).getByLabel('Role', { exact: true }).selectOption('admin')
  await dialog(owner.page).getByRole('row', { name: 'Role developer admin' }).waitFor()
  await dialog(owner.page).getByRole('button', { name: 'Change' }).click()
  const changed = members(owner.page).getByRole('row', { name: /admin/ })
  await changed.getByRole('button', { name: /^More actions for/ }).click()
  await changed.getByRole('button', { name: 'Remove' }).click()
  await dialog(owner.page).getByRole('button', { name: 'Remove' }).click()
  await changed.waitFor({ state: 'detached' })
  // The last owner cannot leave or step down, and the page says so before.
  expect(await owner.page.getByRole('button', { name: 'Leave the organisation' }).isDisabled()).toBe(true)
  await owner.page.getByText('You are the only owner. Make another member an owner first.').waitFor()
  await owner.page.getByRole('button', { name: /^More actions for/ }).click()
  expect(await owner.page.getByRole('button', { name: /^Change role/ }).isDisabled()).toBe(true)
  await guest.page.reload()
  await guest.page.getByText('You are in no organisation with this id').waitFor()
  for (const { complaints, context } of people) {
    expect(complaints).toEqual([])
    await context.close()
  }
})

it('a file of a table has every row, with ISO times and the units of its amounts', async () => {
  const { operator, user } = doorsOf(network)
  const { wallet, buyerKey } = await user()
  const grants = 52
  for (let at = 0; at < grants; at += 1) {
    await operator('credit.grant', { wallet, amountUsd: 0.5, ticket: `file-${wallet}-${at}`, note: 'test' })
  }
  const { context, page, complaints } = await open(buyerKey)
  await page.goto(`${site}/buyer/credit`)
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.waitForURL(/after=/)
  // The last page knows the number of all rows.
  await page.getByText('51–52 of 52').waitFor()
  const [head, ...ledger] = await savedBy(page, 'Ledger')
  expect(head).toContain('When (UTC)')
  expect(head).toContain('(USD)')
  expect(ledger).toHaveLength(grants)
  expect(ledger.filter((row) => !/^\d{4}-\d\d-\d\dT[\d:.]+Z,.*0\.500000/.test(row))).toEqual([])
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const bought = await door('/v1/chat/completions', buyerKey, { model: MODEL, max_tokens: 32, messages })
  const { id } = z.object({ id: z.string() }).parse(bought)
  await untilBooked(id)
  await page.goto(`${site}/buyer/logs`)
  const [, ...calls] = await savedBy(page, 'Calls')
  expect(calls).toHaveLength(1)
  expect(calls[0]).toMatch(new RegExp(`^${parseAnswerId(id)},\\d{4}-\\d\\d-\\d\\dT`))
  expect(complaints).toEqual([])
  await context.close()
})

it('the ledger has the sum of each day, one kind of line with the balances of all, and the call of a line', async () => {
  const { operator, user } = doorsOf(network)
  const { wallet, buyerKey: own } = await user(1)
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const bought = await door('/v1/chat/completions', own, { model: MODEL, max_tokens: 32, messages })
  const rid = parseAnswerId(z.object({ id: z.string() }).parse(bought).id)
  await untilBooked(z.object({ id: z.string() }).parse(bought).id)
  await operator('credit.grant', { wallet, amountUsd: 0.5, ticket: `ledger-${wallet}`, note: 'after the call' })
  const Lines = z.object({
    items: z.array(z.looseObject({ kind: z.string(), amount_micro: z.number(), balance_micro: z.number() })),
  })
  const lines = Lines.parse(await door('/v1/buyer/statements', own)).items
  const { context, page, complaints } = await open(own)
  await page.goto(`${site}/buyer/credit`)
  const ledger = page.getByRole('table', { name: 'Ledger' })
  const rows = ledger.locator('tbody tr:not(.group)')
  await rows.nth(lines.length - 1).waitFor()
  const totals = (await ledger.locator('tbody tr.group').allTextContents()).map((text) =>
    Math.round(Number(text.replace(/^.*total/, '').replaceAll(/[^\d.]/g, '')) * 1e6),
  )
  expect(totals.reduce((sum, total) => sum + total, 0)).toBe(lines[0]?.balance_micro)
  await page.getByLabel('Kind').selectOption('settle')
  await page.waitForURL(/kind=settle/)
  await until('the ledger has one line', 10_000, async () => (await rows.count()) === 1)
  const charge = lines.find(({ kind }) => kind === 'settle')
  const amounts = (await rows.first().locator('td').allTextContents()).slice(-2)
  expect(amounts.map((text) => Math.round(Number(text.replace('$', '').replace('−', '-')) * 1e6))).toEqual([
    charge?.amount_micro,
    charge?.balance_micro,
  ])
  await page.reload()
  await rows.getByRole('link', { name: MODEL }).click()
  await page.waitForURL((url) => url.searchParams.get('call') === rid)
  await page.goBack()
  await page.getByLabel('Kind').selectOption('deposit')
  await page.getByText('No lines of the kind deposit').waitFor()
  await page.getByRole('button', { name: 'Show all kinds' }).click()
  await rows.nth(lines.length - 1).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it('a buyer finds calls by a part of a name, by a key and by days, sorts sums by their heads, and the address keeps the filter', async () => {
  const { buyerKey: own } = await doorsOf(network).user(1)
  const messages = [{ role: 'user', content: 'Say hello.' }]
  for (const model of [MODEL, 'gpt-5-mini']) {
    const bought = await door('/v1/chat/completions', own, { model, max_tokens: 32, messages })
    await untilBooked(z.object({ id: z.string() }).parse(bought).id)
  }
  const { context, page, complaints } = await open(own)
  await page.goto(`${site}/buyer/logs`)
  const rows = page.getByRole('table', { name: 'Calls' }).locator('tbody tr')
  await rows.nth(1).waitFor()
  const field = page.getByRole('combobox', { name: 'Model' })
  await field.fill('NANO')
  await page.getByRole('option', { name: new RegExp(`^${MODEL}`) }).click()
  await page.waitForURL((url) => url.searchParams.get('model') === MODEL)
  await rows.filter({ hasText: 'gpt-5-mini' }).waitFor({ state: 'detached' })
  expect(await rows.count()).toBe(1)
  // The whole row opens the call, and not only its time.
  await rows.first().getByRole('cell', { name: MODEL }).click()
  await dialog(page).getByText('Streamed', { exact: true }).waitFor()
  const phases = dialog(page).getByRole('region', { name: 'Phases' })
  await phases.getByText('Market: checks, routing and payment').waitFor()
  await phases
    .getByRole('listitem')
    .filter({ hasText: 'Answer' })
    .getByText(/ms$|s$/)
    .waitFor()
  await page.keyboard.press('Escape')
  await field.fill('')
  await page.keyboard.press('Enter')
  await rows.filter({ hasText: 'gpt-5-mini' }).waitFor()
  // A head sorts the whole list at the market, and the address keeps the order.
  const calls = page.getByRole('table', { name: 'Calls' })
  await calls.getByRole('button', { name: 'Cost' }).click()
  await page.waitForURL(/sort=cost/)
  await page.reload()
  await rows.nth(1).waitFor()
  expect(await calls.locator('th[aria-sort="descending"]').textContent()).toBe('Cost')
  const costs = (await rows.locator('td:last-child').allTextContents()).map((text) => Number(text.replace('$', '')))
  expect(costs).toEqual([...costs].sort((one, other) => other - one))
  await calls.getByRole('button', { name: 'Cost' }).click()
  await page.waitForURL(/sort=cost&reverse=yes/)
  await calls.locator('th[aria-sort="ascending"]', { hasText: 'Cost' }).waitFor()
  await rows
    .first()
    .filter({ hasText: `$${costs.at(-1)}`.replace('$0.', '0.') })
    .waitFor()
  expect((await savedBy(page, 'Calls')).slice(1).map((line) => Number(line.split(',')[7]))).toEqual(
    costs.map((cost) => Math.round(cost * 1e6)).reverse(),
  )
  await page.getByLabel('First day, UTC').fill('2020-02-01')
  await page.waitForURL(/from=2020-02-01/)
  await page.getByText('No calls match').waitFor()
  await page.goto(`${site}/buyer/activity`)
  const models = page.getByRole('table', { name: 'Activity' })
  const first = models.locator('tbody tr').first().getByRole('cell').first()
  await models.getByRole('button', { name: 'Model' }).click()
  await first.filter({ hasText: 'gpt-5-mini' }).waitFor()
  await models.getByRole('button', { name: 'Model' }).click()
  await first.filter({ hasText: MODEL }).waitFor()
  expect(await models.locator('th[aria-sort="descending"]').textContent()).toBe('Model')
  // Every sum has the period before beside it, and a switch in the address draws that period.
  await page.locator('.stat', { hasText: 'Calls' }).getByText('none in the period before').waitFor()
  await page.getByLabel('Previous period').check()
  await page.waitForURL(/compare=yes/)
  await page.reload()
  await page.getByRole('button', { name: 'Previous period', pressed: true }).waitFor()
  await models.getByRole('row', { name: new RegExp(`${MODEL}.*none in the period before`) }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})
