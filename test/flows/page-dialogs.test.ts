import pg from 'pg'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import {
  accountMenu,
  dialog,
  heading,
  offerOf,
  openPerson,
  signOut,
  waitForScreen,
} from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
import { DIALOGS, pathOf } from '#test/support/page/page-routes.ts'
import { VIEWS, violationsOf } from '#test/support/page/page-violations.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'

let network: Network
let browser: Browser
/** A call of the buyer, which has a receipt. */
let call: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  const messages = [{ role: 'user', content: 'Say hello.' }]
  call = (await ask('/v1/chat/completions', { model: 'gpt-5-nano', max_tokens: 16, messages })) ?? ''
  await ask('/v1/videos', { model: 'sandbox/video-job', prompt: 'Waves', seconds: 4 })
})

/** Makes a call as the buyer. Returns the request id. */
async function ask(path: string, body: object): Promise<string | null> {
  const { api_base_url: url, buyer_key: key } = network.sandbox
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect([answer.ok, await answer.text()]).toEqual([true, expect.any(String)])
  return answer.headers.get('x-request-id')
}

afterAll(() => browser?.close())

/** Both widths and both themes, each once. */
const DIALOG_VIEWS = VIEWS.filter(({ width, colorScheme }) => (width === 360) === (colorScheme === 'dark'))

/** The menu that is opened and the box that is checked before the button of a dialog is pressed. */
type Before = { readonly menu?: RegExp | undefined; readonly check?: string | undefined }

/** Opens a dialog, and checks it in each view. */
async function lookAt(page: Page, url: string, button: string | RegExp, before: Before = {}): Promise<string[]> {
  await page.setViewportSize({ width: 1_280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.goto(url)
  await waitForScreen(page)
  const { menu, check } = before
  if (menu !== undefined) await page.getByRole('button', { name: menu }).first().click()
  if (check !== undefined) await page.getByLabel(check).first().check()
  await page.getByRole('button', { name: button }).first().click()
  await dialog(page).waitFor()
  const found: string[] = []
  for (const view of DIALOG_VIEWS) {
    found.push(...(await violationsOf(page, `${url} ${String(button)}`, view)))
    const cut = await page.evaluate(`(() => {
      const body = document.querySelector('dialog .dialog-body')
      return body.scrollWidth - body.clientWidth
    })()`)
    if (Number(cut) > 0) found.push(`${url} ${String(button)} ${view.width}: the dialog is ${cut} pixels too wide`)
    found.push(...(await buttonsOutOfSight(page)).map((name) => `${url} ${view.width}: ${name} is out of sight`))
  }
  return found
}

/** Buttons at the foot of a dialog that a reader of a window of 720 pixels would have to scroll to. */
async function buttonsOutOfSight(page: Page): Promise<string[]> {
  const { width, height } = page.viewportSize() ?? { width: 1_280, height: 900 }
  await page.setViewportSize({ width, height: 720 })
  const names = await dialog(page)
    .locator('.dialog-foot')
    .last()
    .getByRole('button')
    .evaluateAll((buttons) =>
      buttons.filter((one) => one.getBoundingClientRect().bottom > 720).map((one) => one.textContent),
    )
  await page.setViewportSize({ width, height })
  return names
}

it.each(['buyer', 'seller', 'operator'] as const)('dialogs are accessible: those of a %s', async (side) => {
  const { buyer_key: buyer, seller_key: seller, management_key: operator } = network.sandbox
  const url = network.sandbox.dashboard_url
  const { context, page, complaints } = await openPerson(browser, { url, key: { buyer, seller, operator }[side] })
  const found: string[] = []
  for (const { path, button, ...shown } of DIALOGS.filter((one) => one.side === side)) {
    const menu = 'menu' in shown ? shown.menu : undefined
    const check = 'check' in shown ? shown.check : undefined
    found.push(...(await lookAt(page, url + pathOf(path, { call, buyerKey: buyer }), button, { menu, check })))
  }
  expect(found).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

it('dialogs are accessible: those of an organisation', async () => {
  const url = network.sandbox.dashboard_url
  const { context, page, complaints } = await openPerson(browser, { url })
  await openWallet(context, newWallet())
  await page.goto(`${url}/sign-in?to=/buyer/organizations`)
  await page.getByRole('button', { name: 'Test wallet' }).click()
  // A page that is opened before the answer would be that of a visitor.
  await page.getByRole('button', { name: 'New organisation' }).waitFor()
  const found = await lookAt(page, `${url}/buyer/organizations`, 'New organisation')
  await dialog(page).getByLabel('Name').fill('Dialogs')
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('link', { name: 'Dialogs' }).click()
  await page.waitForURL(/organization=org_/)
  const own = page.url()
  found.push(...(await lookAt(page, own, 'New workspace')))
  found.push(...(await lookAt(page, own, 'Create invite link', { menu: /^Invite people/ })))
  found.push(...(await lookAt(page, own, 'Revoke link', { menu: /^More actions for Invite link/ })))
  const guest = await openPerson(browser, { url })
  const wallet = newWallet()
  await openWallet(guest.context, wallet)
  found.push(...(await lookAt(page, own, 'By wallet', { menu: /^Invite people/ })))
  await dialog(page).getByLabel('Wallet address').fill(wallet.address)
  await dialog(page).getByRole('button', { name: 'Invite', exact: true }).click()
  // A page that is left before the answer would cancel the invitation.
  await dialog(page).waitFor({ state: 'hidden' })
  const member = new RegExp(`^More actions for ${wallet.address.slice(0, 6)}`, 'i')
  found.push(...(await lookAt(page, own, 'Withdraw invitation', { menu: member })))
  await guest.page.goto(`${url}/sign-in?to=/buyer/organizations`)
  await guest.page.getByRole('button', { name: 'Test wallet' }).click()
  await guest.page.getByRole('button', { name: 'Accept the invitation of Dialogs' }).click()
  await guest.page.getByRole('link', { name: 'Dialogs' }).waitFor()
  found.push(...(await lookAt(page, own, 'Change role', { menu: member })))
  found.push(...(await lookAt(page, own, 'Remove', { menu: member })))
  found.push(...(await lookAt(guest.page, own, 'Leave the organisation')))
  expect(guest.complaints).toEqual([])
  await guest.context.close()
  expect(found).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

describe('the page on a bad day', () => {
  it('a key is revoked while a user types: the page says so, keeps the typed text, and goes on after a sign-in', async () => {
    const { dashboard_url: url, buyer_key: own } = network.sandbox
    const made = await askMarket(url, { method: 'POST', path: '/v1/buyer/keys', key: own, body: { label: 'brief' } })
    const { id, key } = z.object({ id: z.string(), key: z.string() }).parse(made)
    const { context, page, complaints } = await openPerson(browser, { url, key })
    await page.goto(`${url}/buyer/keys`)
    await page.getByRole('button', { name: 'New key' }).click()
    const label = `half-typed-${Date.now()}`
    await dialog(page).getByLabel('Name').fill(label)
    await askMarket(url, { method: 'DELETE', path: `/v1/buyer/keys/${id}`, key: own })
    await dialog(page).getByRole('button', { name: 'Create key' }).click()
    await dialog(page).getByText('You are signed out. Sign in again.').waitFor()
    await page.getByText('This session has ended, or its key was revoked.').waitFor()
    const [tab] = await Promise.all([
      context.waitForEvent('page'),
      dialog(page).getByRole('link', { name: 'Sign in in another tab' }).click(),
    ])
    const field = tab.getByLabel('Key', { exact: true })
    await field.fill('inf_mistyped')
    await tab.getByRole('button', { name: 'Sign in' }).click()
    await tab.getByRole('alert').waitFor()
    // A reader who mistyped one of sixty letters corrects that letter.
    expect(await field.inputValue()).toBe('inf_mistyped')
    await field.fill(own)
    await tab.getByRole('button', { name: 'Sign in' }).click()
    await accountMenu(tab).waitFor()
    await page.bringToFront()
    expect(await dialog(page).getByLabel('Name').inputValue()).toBe(label)
    await dialog(page).getByRole('button', { name: 'Create key' }).click()
    await dialog(page).getByLabel('I have stored it').check()
    await dialog(page).getByRole('button', { name: 'Done' }).click()
    await page.getByText('This session has ended').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: new RegExp(label) }).waitFor()
    // A sign-out removes everything from the screen.
    await signOut(page)
    await page.getByText('to see this page').waitFor()
    expect(await page.locator('main').textContent()).not.toContain(label)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('the market is away: the loaded data stays and is marked as old, and the page recovers by itself', async () => {
    const { dashboard_url: url, seller_key: key } = network.sandbox
    const { context, page } = await openPerson(browser, { url, key })
    await page.goto(`${url}/seller/payouts`)
    const figure = page.getByText('To be paid').first()
    await figure.waitFor()
    await page.route('**/graphql', (route) => route.abort())
    await page.getByText('This screen shows the last data that could be read.').waitFor()
    expect(await figure.isVisible()).toBe(true)
    await page.unroute('**/graphql')
    await page.getByText('This screen shows the last data that could be read.').waitFor({ state: 'detached' })
    await figure.waitFor()
    await context.close()
  })

  it('a change fails: its dialog says why and keeps the typed text, and nothing else has changed', async () => {
    const { dashboard_url: url, seller_key: key } = network.sandbox
    const { context, page, complaints } = await openPerson(browser, { url, key })
    await page.goto(`${url}/seller/offers`)
    const edit = page.getByRole('button', { name: /^Edit the offer of/ }).first()
    const row = page.getByRole('table', { name: 'Offers' }).locator('tbody tr').first()
    const before = await row.getByRole('cell').nth(3).textContent()
    const refusal = { errors: [{ message: 'Not <b>today</b>.', extensions: { code: 'conflict' } }] }
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('PageUpdateOffer') === true
        ? route.fulfill({ status: 409, json: refusal })
        : route.continue(),
    )
    await edit.click()
    await dialog(page).getByLabel('Discount, percent').fill('77.25')
    await dialog(page).getByRole('button', { name: 'Change' }).click()
    // The market's words are text, never markup.
    await dialog(page).getByRole('alert').getByText('Not <b>today</b>.').waitFor()
    expect(await dialog(page).getByLabel('Discount, percent').inputValue()).toBe('77.25')
    await page.keyboard.press('Escape')
    expect(await row.getByRole('cell').nth(3).textContent()).toBe(before)
    // The focus returns to the element that opened the dialog.
    expect(await page.evaluate('document.activeElement?.ariaLabel')).toMatch(/^Edit the offer of/)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('letters open screens before the user is known, and Yield begins with the models of the most spend', async () => {
    const { dashboard_url: url, seller_key: key } = network.sandbox
    const { context, page, complaints } = await openPerson(browser, { url, key })
    let tell: () => void = () => undefined
    const isPressed = new Promise<void>((resolve) => {
      tell = resolve
    })
    await page.route('**/graphql*', async (route) => {
      if (route.request().postData()?.includes('PageViewer') === true) await isPressed
      await route.continue()
    })
    await page.goto(url)
    await page.getByText('Saved by buyers').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    tell()
    await heading(page, 'Yield').waitFor()
    await page.getByText(/^(?:All your models|Top \d+ of your \d+ models) by spend/).waitFor()
    const model = page.getByRole('table', { name: 'Your models' }).getByRole('link').first()
    const name = await model.textContent()
    await model.click()
    await page.waitForURL((shown) => shown.searchParams.get('model') === name)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('a call that is opened before its booking is shown once it is booked', async () => {
    const { dashboard_url: url, buyer_key: key } = network.sandbox
    const { context, page, complaints } = await openPerson(browser, { url, key })
    let looks = 0
    await page.route('**/graphql*', (route) => {
      const asked = route.request().postData() ?? ''
      const isLook = asked.includes(call)
      if (isLook) looks += 1
      // The first read comes too early for the call.
      return route.continue(
        isLook && looks === 1 ? { postData: asked.replace(call, '01K00000000000000000000000') } : {},
      )
    })
    await page.goto(`${url}/buyer/logs?call=${call}`)
    await dialog(page).getByText('You have no call with this ID').waitFor()
    await dialog(page)
      .getByRole('row', { name: /^Charged/ })
      .waitFor()
    expect(looks).toBe(2)
    expect(complaints).toEqual([])
    await context.close()
  })

  it("a link to another user's thing shows the same as a link to nothing, and markup in it is text", async () => {
    const { dashboard_url: url, seller_key: key } = network.sandbox
    const { context, page, complaints } = await openPerson(browser, { url })
    await openWallet(context, newWallet())
    await page.goto(`${url}/sign-in?to=/seller/offers`)
    await page.getByRole('button', { name: 'Test wallet' }).click()
    await heading(page, 'Offers').waitFor()
    const told = async (path: string, text: string) => {
      await page.goto(url + path)
      await page.getByText(text).waitFor()
      await waitForScreen(page)
      // The state of the stream may differ between the two screens, so it is left out.
      return (await page.locator('main').textContent())?.replace(/Connecting|Live/, '')
    }
    const nothing = 'ofr_01K00000000000000000000000'
    const none = await told(`/seller/offers/${nothing}`, 'No such offer')
    expect(await told(`/seller/offers/${await offerOf(url, key)}`, 'No such offer')).toBe(none)
    for (const [path, missing] of [
      ['/buyer/logs?call=', 'You have no call with this ID'],
      ['/receipt?id=', 'You have no call with this ID'],
    ] as const) {
      await told(`${path}${call}`, missing)
      await told(`${path}01K00000000000000000000000`, missing)
    }
    const markup = '<img src=x onerror=fail()>'
    expect(await told(`/model/${encodeURIComponent(markup)}`, 'No model has this name')).toContain(
      `No model is named ${markup}.`,
    )
    await told(`/seller/offers/${encodeURIComponent(markup)}`, 'No such offer')
    expect(await page.locator('main img').count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('an account with hundreds of keys: they are shown page by page, and the limits of the oldest active one can be changed', async () => {
    const { dashboard_url: url } = network.sandbox
    const { context, page, complaints } = await openPerson(browser, { url })
    await openWallet(context, newWallet())
    await page.goto(`${url}/sign-in?to=/buyer/keys`)
    await page.getByRole('button', { name: 'Test wallet' }).click()
    await page.getByRole('button', { name: 'New key' }).click()
    const label = `oldest-${Date.now()}`
    await dialog(page).getByLabel('Name').fill(label)
    await dialog(page).getByLabel('Cap a day, US dollars').fill('4')
    await dialog(page).getByRole('button', { name: 'Create key' }).click()
    await dialog(page).getByLabel('I have stored it').check()
    await dialog(page).getByRole('button', { name: 'Done' }).click()
    // A wallet sees both sides, and no two screens have the same name.
    const names = await page.getByRole('navigation').getByRole('link', { includeHidden: true }).allTextContents()
    expect(names).toEqual(expect.arrayContaining(['Buyer keys', 'Seller keys']))
    expect(new Set(names).size).toBe(names.length)
    const lines = page.getByRole('table', { name: 'Keys' }).locator('tbody tr')
    await lines.filter({ hasText: label }).waitFor()
    await addRevokedKeys(label)

    await page.reload()
    await lines.getByText('revoked').first().waitFor()
    const next = page.getByRole('button', { name: 'Next page' })
    let read = await lines.count()
    while (await next.isEnabled()) {
      const shown = (await lines.first().textContent()) ?? ''
      await next.click()
      await lines.first().filter({ hasNotText: shown }).waitFor()
      read += await lines.count()
    }
    expect(read).toBe(MANY_KEYS + 1)
    await lines.filter({ hasText: label }).waitFor()
    await page.goto(`${url}/buyer/limits`)
    const row = page.getByRole('row', { name: new RegExp(label) })
    await row.getByText('default', { exact: true }).waitFor()
    await row.getByRole('button', { name: `Change the limits of ${label}` }).click()
    await dialog(page).getByLabel('Calls a minute').fill('60')
    await dialog(page).getByRole('row', { name: 'Calls a minute default 60' }).waitFor()
    expect(await dialog(page).getByLabel('Cap a day, US dollars').inputValue()).toBe('4')
    await dialog(page).getByRole('button', { name: 'Save limits' }).click()
    await row.getByRole('cell', { name: '60', exact: true }).waitFor()
    await row.getByText('of $4.00').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

const MANY_KEYS = 200

/** Gives the owner of a key many newer ones, which are revoked. */
async function addRevokedKeys(label: string): Promise<void> {
  const db = new pg.Client(network.sandbox.database_url)
  await db.connect()
  try {
    await db.query(
      `insert into api_key (id, type, user_id, workspace_id, hash, key_prefix, label, created_at, revoked_at)
       select 'key_7' || lpad(n::text, 25, '0'), type, user_id, workspace_id, lpad(to_hex(n), 64, '0'), key_prefix,
         'revoked ' || n, created_at, now()
       from api_key, generate_series(1, $2) n where label = $1`,
      [label, MANY_KEYS],
    )
  } finally {
    await db.end()
  }
}
