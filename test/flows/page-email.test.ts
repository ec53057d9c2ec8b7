import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MailServer } from '#test/support/doors/mail-server.ts'
import { headersOf, startMailServer, textOf } from '#test/support/doors/mail-server.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, signOut, tabTo, waitForScreen } from '#test/support/page/page-browser.ts'

let server: MailServer
let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  server = await startMailServer()
  ;[network, browser] = await Promise.all([
    startNetwork({ SMTP_URL: server.url, MAIL_FROM: 'market@example.com' }),
    startBrowser(),
  ])
  site = network.sandbox.dashboard_url
})
afterAll(async () => {
  await browser?.close()
  await network?.remove()
  await server?.stop()
})

const open = () => openPerson(browser, { url: site })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** The link in the newest of `count` mails to an address. */
async function linkTo(address: string, count = 1): Promise<string> {
  return /https?:\S+/.exec(textOf(await server.mailTo(address, count)))?.[0] ?? ''
}

async function askFor(page: Page, address: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(address)
  await button(page, 'Send a link').click()
  await page.getByText(`We sent a link to ${address}.`).waitFor()
}

describe('a reader with an e-mail address', () => {
  it('creates an account by a link, adds a second address, gets alerts there, and unsubscribes', async () => {
    const { context, page, complaints } = await open()
    const [first, second] = ['first@example.com', 'second@example.com']
    await page.goto(`${site}/sign-in?to=/account`)
    await waitForScreen(page)
    await tabTo(page, 'E-mail address')
    await page.keyboard.type(first)
    await page.keyboard.press('Enter')
    await page.getByText(`We sent a link to ${first}.`).waitFor()
    await page.goto(await linkTo(first))
    await heading(page, 'Account').waitFor()
    expect(new URL(page.url()).hash).toBe('')
    await page.getByText('This address is the only way in.').waitFor()
    expect(await button(page, `Remove ${first}`).isDisabled()).toBe(true)

    await page.getByLabel('New address').fill(second)
    await button(page, 'Send a link').click()
    await page.goto(await linkTo(second))
    await page.getByRole('row', { name: new RegExp(second) }).waitFor()
    await button(page, `Remove ${first}`).click()
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('row', { name: new RegExp(first) }).waitFor({ state: 'detached' })

    await page.goto(`${site}/buyer/limits`)
    await button(page, 'New e-mail alert').click()
    await dialog(page).getByLabel('Name').fill('my inbox')
    await button(page, 'Create alert').click()
    await page.getByRole('row', { name: new RegExp(`my inbox.*${second}.* on E-mail `) }).waitFor()
    await button(page, 'Test and deliveries of my inbox').click()
    await dialog(page).getByRole('button', { name: 'Send test' }).click()
    await dialog(page)
      .getByRole('row', { name: /webhook\.test delivered sent 1/ })
      .waitFor()
    const mail = await server.mailTo(second, 2)
    expect(headersOf(mail).get('subject')).toBe('Test alert')
    const unsubscribe = /Unsubscribe: (\S+)/.exec(textOf(mail))?.[1] ?? ''

    const stranger = await open()
    await stranger.page.goto(unsubscribe)
    await button(stranger.page, 'Unsubscribe').click()
    await stranger.page.getByText('You are unsubscribed.').waitFor()
    await page.goto(`${site}/buyer/limits`)
    await page.getByRole('row', { name: /my inbox.* off / }).waitFor()
    expect([...complaints, ...stranger.complaints]).toEqual([])
    await stranger.context.close()
    await context.close()
  })

  it('confirms in another browser, and before a session is replaced', async () => {
    const address = 'elsewhere@example.com'
    const asking = await open()
    await asking.page.goto(`${site}/sign-in`)
    await askFor(asking.page, address)
    const link = await linkTo(address)
    const other = await open()
    await other.page.goto(link)
    await other.page.getByText('Another browser asked for this link.').waitFor()
    // A scanner that opens the link and runs its scripts does not sign in.
    expect((await other.context.cookies()).map(({ name }) => name)).not.toContain('mkt_session')
    await button(other.page, `Sign in as ${address}`).click()
    await heading(other.page, 'Get started').waitFor()
    await asking.page.goto(link)
    await asking.page.getByText('This link was used before, or it has expired.').waitFor()

    const next = 'next@example.com'
    await askFor(await at(other.page, '/sign-in'), next)
    await other.page.goto(await linkTo(next))
    await other.page.getByText('The link signs this browser out of the current account.').waitFor()
    await button(other.page, 'Stay signed in').click()
    await at(other.page, '/account')
    await other.page.getByRole('row', { name: new RegExp(address) }).waitFor()
    await signOut(other.page)
    expect([...asking.complaints, ...other.complaints]).toEqual([])
    await asking.context.close()
    await other.context.close()
  })
})

async function at(page: Page, path: string): Promise<Page> {
  await page.goto(site + path)
  await waitForScreen(page)
  return page
}
