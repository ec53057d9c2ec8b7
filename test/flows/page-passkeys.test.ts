import { performance } from 'node:perf_hooks'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, signOut, tabTo, waitForScreen } from '#test/support/page/page-browser.ts'
import { openOwner } from '#test/support/page/page-owner.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'

/** The most clicks from the first screen to the answer of the first paid call. */
const MOST_CLICKS = 8

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})
afterAll(() => browser?.close())

/** Gives a browser an authenticator that needs no touch. */
async function addAuthenticator(context: BrowserContext, page: Page) {
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    /** Makes the reader fail to unlock the passkey. */
    refuse: () => devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false }),
    accept: () => devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true }),
  }
}

async function openStranger() {
  const person = await openPerson(browser, { url: site })
  return { ...person, authenticator: await addAuthenticator(person.context, person.page) }
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

async function leave(page: Page) {
  await signOut(page)
  await page.getByText('Signed out.').waitFor()
}

describe('a new user with a passkey', () => {
  it('makes the first paid call in a few clicks, without obstacles', async () => {
    const { context, page, complaints } = await openStranger()
    await page.goto(site)
    await waitForScreen(page)
    const began = performance.now()
    let clicks = 0
    const click = async (what: ReturnType<typeof button>) => {
      clicks += 1
      await what.click()
    }
    await click(link(page, 'Get an API key'))
    await click(link(page, 'Sign in as a buyer'))
    await click(button(page, 'Create an account'))
    await heading(page, 'Get started').waitFor()
    await click(button(page, 'Add $5 of development credit'))
    await page.getByText('You have $5.00 to spend.').waitFor()
    await click(button(page, 'Create a key'))
    const curl = page.getByRole('region', { name: 'Your first call' })
    await curl.getByText(/Bearer inf_/).waitFor()
    await click(button(page, 'Run it'))
    await page.getByText(/^Cost \$0\.\d+/).waitFor()
    const tookMs = performance.now() - began
    console.log(`a stranger's first paid call: ${clicks} clicks, ${(tookMs / 1_000).toFixed(1)} s`)
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS)
    await link(page, 'Go to your overview').click()
    await heading(page, 'Overview').waitFor()
    // The first steps disappear once a call is booked.
    await expect
      .poll(async () => {
        await page.goto(`${site}/start`)
        await page.waitForURL(/\/(?:start|buyer)$/)
        await waitForScreen(page)
        return new URL(page.url()).pathname
      })
      .toBe('/buyer')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('signs in again by keyboard, saves a recovery code, and signs in by it', async () => {
    const { context, page, complaints, authenticator } = await openStranger()
    await page.goto(`${site}/sign-in?to=/account`)
    await tabTo(page, 'Create an account')
    await page.keyboard.press('Enter')
    await heading(page, 'Account').waitFor()
    await page.getByText('This passkey is the only way in.').waitFor()
    expect(await button(page, 'Remove First passkey').isDisabled()).toBe(true)
    await button(page, 'Create a recovery code').click()
    const code = (await dialog(page).locator('pre').textContent()) ?? ''
    expect(code).toMatch(/^(?:[0-9A-Z]{5}-){4}[0-9A-Z]{5}$/)
    await dialog(page).getByLabel('I have stored it').check()
    await dialog(page).getByRole('button', { name: 'Done' }).click()
    await leave(page)

    await page.goto(`${site}/sign-in?to=/account`)
    await authenticator.refuse()
    await button(page, 'Use a passkey').click()
    await page.getByText(/No passkey was used/).waitFor()
    await authenticator.accept()
    await tabTo(page, 'Use a passkey')
    await page.keyboard.press('Enter')
    await heading(page, 'Account').waitFor()
    await leave(page)

    await page.goto(`${site}/sign-in`)
    await page.getByText('Lost your passkey?').click()
    await page.getByLabel('Recovery code').fill(code.toLowerCase())
    await button(page, 'Recover the account').click()
    const next = (await dialog(page).locator('pre').textContent()) ?? ''
    expect(next).not.toBe(code)
    await dialog(page).getByLabel('I have stored it').check()
    await dialog(page).getByRole('button', { name: 'Done' }).click()
    await heading(page, 'Account').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('sees where a wallet is needed, and links one', async () => {
    const { context, page, complaints } = await openStranger()
    const wallet = newWallet()
    await openWallet(context, wallet)
    await page.goto(`${site}/sign-in?to=/seller/payouts`)
    await button(page, 'Create an account').click()
    await page.getByText(/Earnings wait here until you link a wallet/).waitFor()
    await link(page, 'Link a wallet').click()
    await button(page, 'Link Test wallet').click()
    await page.getByText('Wallet linked.').waitFor()
    await page.locator('main').getByTitle(wallet.address.toLowerCase()).waitFor()
    await page.goto(`${site}/buyer/credit`)
    await waitForScreen(page)
    expect(await link(page, 'Link a wallet').count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('an invite link', () => {
  it('leads a stranger through a new passkey account into the organisation, and sends no server the secret', async () => {
    const owner = await openOwner(browser, site)
    const { organization } = owner
    await owner.page.goto(`${site}/buyer/organizations?organization=${organization}`)
    const makeLink = async () => {
      await button(owner.page, 'Invite people').click()
      await owner.page.getByLabel('Role of new members').selectOption('developer')
      await button(owner.page, 'Create invite link').click()
      const shown = (await dialog(owner.page).locator('pre').textContent()) ?? ''
      await dialog(owner.page).getByLabel('I have stored it').check()
      await dialog(owner.page).getByRole('button', { name: 'Done' }).click()
      return shown
    }
    const url = await makeLink()
    expect(url.slice(0, url.indexOf('#'))).toBe(`${site}/join`)

    const guest = await openStranger()
    const asked: string[] = []
    guest.page.on('request', (request) => asked.push(request.url(), request.headers()['referer'] ?? ''))
    await guest.page.goto(url)
    await link(guest.page, 'Sign in or create an account').waitFor()
    // A reload keeps the invitation. The address without a link has none.
    await guest.page.reload()
    await link(guest.page, 'Sign in or create an account').waitFor()
    await guest.page.goto(`${site}/fees`)
    await guest.page.goto(`${site}/join`)
    await guest.page.getByText('This address has no invitation').waitFor()
    await guest.page.goto(url)
    await link(guest.page, 'Sign in or create an account').click()
    await button(guest.page, 'Create an account').click()
    await heading(guest.page, 'Join an organisation').waitFor()
    await guest.page.getByText('You become a member with the role developer').waitFor()
    expect(guest.page.url()).toBe(`${site}/join`)
    await button(guest.page, 'Join Acme').click()
    await heading(guest.page, 'Acme').waitFor()
    const members = guest.page.getByRole('table', { name: 'Members' })
    await members.getByRole('row', { name: /you developer/ }).waitFor()
    expect(asked.length).toBeGreaterThan(4)
    expect(asked.filter((text) => text.includes(url.slice(url.indexOf('#') + 1)))).toEqual([])
    // The link was for one person.
    await guest.page.goto(url)
    await guest.page.getByText('This invite link does not work.').waitFor()

    const second = await makeLink()
    await owner.page.getByRole('button', { name: /^More actions for Invite link/ }).click()
    await button(owner.page, 'Revoke link').click()
    await dialog(owner.page).getByRole('button', { name: 'Revoke link' }).click()
    await owner.page.getByText('Invite link revoked.').waitFor()
    await guest.page.goto(`${site}/`)
    await guest.page.goto(second)
    await guest.page.getByText('This invite link does not work.').waitFor()
    for (const { context, complaints } of [owner, guest]) {
      expect(complaints).toEqual([])
      await context.close()
    }
  })
})

describe('the sign-in screen', () => {
  it('lets any visitor in as the sample buyer of a development market, in one click', async () => {
    const { context, page, complaints } = await openPerson(browser, { url: site })
    await page.goto(`${site}/sign-in?to=/buyer`)
    await button(page, 'Try it as the sample buyer').click()
    await heading(page, 'Overview').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('leads from an IP address to the host name where passkeys work', async () => {
    const { context, page, complaints } = await openPerson(browser, { url: site })
    await page.goto(`${site.replace('localhost', '127.0.0.1')}/sign-in?to=/buyer/keys`)
    await link(page, `Open ${site}`).waitFor()
    expect(await button(page, 'Create an account').count()).toBe(0)
    await link(page, `Open ${site}`).click()
    await page.waitForURL((url) => url.origin === site && url.searchParams.get('to') === '/buyer/keys')
    await page.getByRole('button', { name: 'Create an account', disabled: false }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it.each(['https://evil.example/', '//evil.example/', '/\\evil.example/', 'javascript:alert(1)'])(
    'leads to no other site after a sign-in: %s',
    async (to) => {
      const { context, page, complaints } = await openPerson(browser, { url: site })
      await page.goto(`${site}/sign-in?to=${encodeURIComponent(to)}`)
      await button(page, 'Try it as the sample buyer').click()
      await page.waitForURL((url) => url.pathname !== '/sign-in')
      expect(new URL(page.url()).origin).toBe(site)
      expect(complaints).toEqual([])
      await context.close()
    },
  )
})
