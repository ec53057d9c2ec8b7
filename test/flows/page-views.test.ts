import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { accountMenu, dialog, openPerson, waitForScreen } from '#test/support/page/page-browser.ts'
import { VIEWS, violationsOf } from '#test/support/page/page-violations.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})
afterAll(() => browser?.close())

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

/** Opens a browser of a person who is signed in with a wallet. */
async function openMember() {
  const person = await openPerson(browser, { url: site })
  await openWallet(person.context, newWallet())
  await person.page.goto(`${site}/sign-in?to=/buyer/logs`)
  await button(person.page, 'Test wallet').click()
  await accountMenu(person.page).waitFor()
  return person
}

async function openMenu(page: Page, path: string): Promise<void> {
  await page.goto(site + path)
  await waitForScreen(page)
  await button(page, 'Saved views').click()
}

async function saveAs(page: Page, name: string): Promise<void> {
  await button(page, 'Save these filters').click()
  await dialog(page).getByLabel('Name').fill(name)
  await dialog(page).getByRole('button', { name: 'Save view' }).click()
}

it('a person saves the filters of a list, opens them on a fresh page, renames and deletes them', async () => {
  const { context, page, complaints } = await openMember()
  await openMenu(page, '/buyer/logs')
  await page.getByText('No saved views yet.').waitFor()
  expect(await button(page, 'Choose a filter to save a view').isDisabled()).toBe(true)
  await openMenu(page, '/buyer/logs?outcome=failed&period=7d&after=nothing')
  await saveAs(page, 'Failed calls')
  await page.getByText('Failed calls is saved.').waitFor()

  const fresh = await context.newPage()
  await openMenu(fresh, '/buyer/logs')
  await fresh.getByRole('link', { name: 'Failed calls' }).click()
  await fresh.waitForURL(/outcome=failed/)
  expect(queryOf(fresh)).toEqual({ outcome: 'failed', period: '7d' })
  expect(await fresh.getByLabel('Outcome').inputValue()).toBe('failed')
  await button(fresh, 'Saved views').click()
  expect(await fresh.getByRole('link', { name: 'Failed calls' }).getAttribute('aria-current')).toBe('true')
  // A name in use is refused, and the typed name stays.
  await saveAs(fresh, 'Failed calls')
  await dialog(fresh).getByText('You have a view named Failed calls here. Choose another name.').waitFor()
  await button(fresh, 'Cancel').click()
  await openMenu(fresh, '/models?search=gpt&sort=price')
  await fresh.getByText('No saved views yet.').waitFor()

  await openMenu(fresh, '/buyer/logs')
  await button(fresh, 'Edit views').click()
  const found = []
  for (const view of VIEWS) found.push(...(await violationsOf(fresh, 'saved views', view)))
  expect(found).toEqual([])
  await button(fresh, 'Rename Failed calls').click()
  await dialog(fresh).getByLabel('Name').fill('Failures')
  await button(fresh, 'Rename view').click()
  await button(fresh, 'Delete Failures').click()
  await button(fresh, 'Delete view').click()
  await fresh.getByText('Failures is deleted.').waitFor()
  await dialog(fresh).getByText('No saved views yet.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it.each([
  ['models', '/models?search=gpt&sort=price&discount=10'],
  ['activity', '/buyer/activity?group=provider&figure=calls&compare=yes&from=2026-11-01&to=2026-11-07'],
  ['jobs', '/buyer/jobs?state=failed'],
  ['offers', '/seller/offers?status=paused&window=7d&model=gpt&columns=gross,cap'],
] as const)('the filters of %s are saved by the keyboard, and the menu has no fault', async (name, path) => {
  const { context, page, complaints } = await openMember()
  const wanted = Object.fromEntries(new URL(path, site).searchParams)
  await page.goto(site + path)
  await waitForScreen(page)
  await button(page, 'Saved views').press('Enter')
  await button(page, 'Save these filters').press('Enter')
  await dialog(page).getByLabel('Name').fill(name)
  await page.keyboard.press('Enter')
  await page.getByText(`${name} is saved.`).waitFor()
  await page.goto(site + new URL(path, site).pathname)
  await waitForScreen(page)
  await button(page, 'Saved views').press('Enter')
  const link = page.getByRole('link', { name, exact: true })
  await link.waitFor()
  const found = []
  for (const view of VIEWS) {
    if (view.asks === 'everything') found.push(...(await violationsOf(page, path, view)))
  }
  expect(found).toEqual([])
  await page.setViewportSize({ width: 1_280, height: 900 })
  if (!(await link.isVisible())) await button(page, 'Saved views').press('Enter')
  await link.press('Enter')
  await page.waitForURL((url) => url.search !== '')
  expect(queryOf(page)).toEqual(wanted)
  expect(complaints).toEqual([])
  await context.close()
})
