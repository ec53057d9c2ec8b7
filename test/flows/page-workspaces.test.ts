import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { doorsOf } from '#test/support/market/routed-market.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, SCREEN_MS } from '#test/support/page/page-browser.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'
import { until } from '#test/support/run/until.ts'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})

afterAll(() => browser?.close())

const open = () => openPerson(browser, { url: site })

/** Sets a budget of 12.50 USD in the dialog that `ask` opens. */
async function setBudget(page: Page, ask: () => Promise<void>): Promise<void> {
  await ask()
  await dialog(page).getByText('Leave blank for none.').waitFor()
  expect(await dialog(page).getByRole('button', { name: 'Save budget' }).isDisabled()).toBe(true)
  await dialog(page).getByLabel('US dollars a month').fill('12.5')
  await dialog(page).getByRole('button', { name: 'Save budget' }).click()
  await dialog(page).waitFor({ state: 'detached' })
}

it('an owner makes a workspace and switches to it: the tab reads and pays for the workspace until the owner switches back', async () => {
  const wallet = newWallet()
  const { context, page, complaints } = await open()
  await openWallet(context, wallet)
  await page.goto(`${site}/sign-in?to=/buyer/organizations`)
  await page.getByRole('button', { name: 'Test wallet' }).click()
  await heading(page, 'Organisations').waitFor()
  const { operator } = doorsOf(network)
  await operator('credit.grant', {
    wallet: wallet.address.toLowerCase(),
    amountUsd: 3,
    ticket: `own-${wallet.address}`,
    note: 'own',
  })
  await page.getByRole('button', { name: 'New organisation' }).click()
  await page.getByLabel('Name').fill('Switchers')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('link', { name: 'Switchers' }).click()
  await page.getByRole('button', { name: 'New workspace' }).click()
  await page.getByLabel('Name of the workspace').fill('research')
  await page.getByRole('button', { name: 'Create workspace' }).click()
  const spaces = page.getByRole('table', { name: 'Workspaces' })
  await setBudget(page, () => page.getByRole('button', { name: 'Set the budget of research' }).click())
  await spaces.getByRole('row', { name: /research.*\$0\.00 of \$12\.50/ }).waitFor()
  const members = page.getByRole('table', { name: 'Members' })
  await setBudget(page, async () => {
    await members.getByRole('button', { name: /^More actions for/ }).click()
    await members.getByRole('button', { name: 'Set budget' }).click()
  })
  await members.getByRole('row', { name: /owner.*\$0\.00 of \$12\.50/ }).waitFor()
  // A blank field removes the budget.
  await page.getByRole('button', { name: 'Set the budget of research' }).click()
  expect(await dialog(page).getByLabel('US dollars a month').inputValue()).toBe('12.5')
  await dialog(page).getByLabel('US dollars a month').fill('')
  await dialog(page).getByRole('button', { name: 'Save budget' }).click()
  await spaces.getByRole('row', { name: /of \$12\.50/ }).waitFor({ state: 'detached' })
  const sent: (string | undefined)[] = []
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/v1/auth/playground') sent.push(request.headers()['x-mkt-workspace'])
  })
  await page.getByRole('button', { name: 'Switch to research' }).click()
  const account = page.getByRole('button', { name: /^Account menu/ })
  await account.getByText('Switchers / research').waitFor()
  const balance = (amount: string) => page.locator('.stat', { hasText: 'Available credit' }).getByText(amount).waitFor()
  await page.goto(`${site}/buyer/credit`)
  await balance('$0.00')
  await page.getByText('No ledger lines yet').waitFor()
  await page.goto(`${site}/playground`)
  await until('the playground opens a secret of the workspace', SCREEN_MS, async () => sent.length > 0)
  expect(sent[0]).toMatch(/^wsp_/)
  // The budgets of the workspace are those of its own keys: the playground has one there now.
  await page.goto(`${site}/buyer/organizations`)
  await page.getByRole('link', { name: 'Switchers' }).click()
  await page.getByRole('button', { name: 'Key caps in research' }).click()
  await page.waitForURL(/\/buyer\/limits$/)
  await page.getByText('Your keys in Switchers / research').waitFor()
  const limits = page.getByRole('table', { name: 'Limits of keys' })
  await limits.getByRole('row', { name: /playground/i }).waitFor()
  expect(await limits.locator('tbody tr').count()).toBe(1)
  await account.click()
  await page.getByRole('button', { name: 'Switchers / research', pressed: true }).waitFor()
  await page.getByRole('button', { name: 'Personal account' }).click()
  await account.getByText('Switchers / research').waitFor({ state: 'detached' })
  await page.goto(`${site}/buyer/credit`)
  await balance('$3.00')
  expect(complaints).toEqual([])
  // A tab that may not enter its workspace any more falls back to the own account.
  await page.evaluate(() => sessionStorage.setItem('mkt_workspace', 'wsp_01K00000000000000000000000\\nGone / gone'))
  await page.goto(`${site}/buyer/credit`)
  await balance('$3.00')
  expect(await page.evaluate(() => sessionStorage.getItem('mkt_workspace'))).toBeNull()
  await context.close()
})
