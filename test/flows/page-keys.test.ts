import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, SCREEN_MS, tabTo, waitForScreen } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
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

const open = (key: string) => openPerson(browser, { url: site, key })

const door = (method: string, path: string, key: string, body?: object) => askMarket(site, { method, path, key, body })

const say = (key: string) =>
  door('POST', '/v1/chat/completions', key, {
    model: MODEL,
    max_tokens: 32,
    messages: [{ role: 'user', content: 'Say hello.' }],
  })
const Key = z.object({ id: z.string(), key: z.string() }).loose()

describe('the keys of a buyer', () => {
  it('can be edited, frozen so that their calls are refused, and unfrozen', async () => {
    const { buyer_key: own } = network.sandbox
    const label = `edited-${Date.now()}`
    const made = Key.parse(
      await door('POST', '/v1/buyer/keys', own, { label, models_allowed: [MODEL], cap_daily_usd: 4 }),
    )
    const { context, page, complaints } = await open(own)
    await page.goto(`${site}/buyer/keys`)
    const row = page.getByRole('row', { name: new RegExp(label) })
    const press = (name: string) => row.getByRole('button', { name, exact: true }).click()
    const more = () => row.getByRole('button', { name: `More actions for ${label}-b` }).click()
    await press('Edit')
    const chip = (name: string) => dialog(page).getByRole('button', { name: `Remove ${name}`, exact: true })
    await chip(MODEL).waitFor()
    const save = dialog(page).getByRole('button', { name: 'Save key' })
    expect(await save.isDisabled()).toBe(true)
    await dialog(page).getByLabel('Name').fill('another')
    expect(await save.isDisabled()).toBe(false)
    await dialog(page).getByLabel('Name').fill(label)
    expect(await save.isDisabled()).toBe(true)
    // A part of a name is enough, and a name that does not exist is refused at its field.
    await dialog(page).getByLabel('Models').fill('haiku')
    await dialog(page).getByRole('option', { name: 'claude-3.5-haiku' }).click()
    await chip('claude-3.5-haiku').waitFor()
    expect(await dialog(page).getByLabel('Models').inputValue()).toBe('')
    await dialog(page).getByLabel('Models').fill('gtp-5-nano')
    await dialog(page).getByRole('button', { name: 'Save key' }).click()
    await dialog(page)
      .getByRole('alert')
      .getByText('No model has the id gtp-5-nano. Did you mean gpt-5-nano?')
      .waitFor()
    expect(await dialog(page).getByLabel('Models').getAttribute('aria-invalid')).toBe('true')
    await dialog(page).getByLabel('Models').fill('')
    await chip(MODEL).click()
    await dialog(page).getByLabel('Models').press('Backspace')
    expect(
      await dialog(page)
        .getByRole('button', { name: /^Remove / })
        .count(),
    ).toBe(0)
    await dialog(page).getByLabel('Blocked providers').fill('nobody-sells-here')
    await dialog(page).getByRole('button', { name: 'Save key' }).click()
    await dialog(page).getByRole('alert').getByText('No provider has the id nobody-sells-here.').waitFor()
    await dialog(page).getByLabel('Blocked providers').fill('')
    await dialog(page).getByLabel('Cap a day, US dollars').fill('2.5')
    await dialog(page).getByLabel('Name').fill(`${label}-b`)
    await dialog(page).getByRole('button', { name: 'Save key' }).click()
    await row.getByText('$2.50 a day').waitFor()
    const Listed = z.object({ keys: z.array(z.looseObject({ id: z.string() })) })
    const { keys } = Listed.parse(await door('GET', '/v1/buyer/keys', own))
    expect(keys.find(({ id }) => id === made.id)).toMatchObject({
      label: `${label}-b`,
      models_allowed: null,
      cap_daily_usd: 2.5,
    })
    await say(made.key)
    await more()
    await press('Freeze')
    await dialog(page).getByRole('button', { name: 'Freeze' }).click()
    await row.getByText('frozen').waitFor()
    const refusal = () => say(made.key).then(() => '', String)
    await until('the frozen key is refused', SCREEN_MS, async () => (await refusal()).includes('key_frozen'))
    expect(await refusal()).toContain('403')
    expect(await savedBy(page, 'Keys')).toContainEqual(expect.stringContaining(`${label}-b,frozen,2.5`))
    await more()
    await press('Unfreeze')
    await dialog(page).getByRole('button', { name: 'Unfreeze' }).click()
    await row.getByText('active').waitFor()
    await until('the key calls again', SCREEN_MS, async () => (await refusal()) === '')
    await door('DELETE', `/v1/buyer/keys/${made.id}`, own)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('cannot be rotated once they expired, and are expired in their file', async () => {
    const { buyer_key: own } = network.sandbox
    const label = `expired-${Date.now()}`
    const soon = Date.now() + 1_500
    const made = Key.parse(await door('POST', '/v1/buyer/keys', own, { label, expires_at: soon }))
    await until('the key has expired', SCREEN_MS, async () => Date.now() > soon)
    const { context, page, complaints } = await open(own)
    await page.goto(`${site}/buyer/keys`)
    const row = page.getByRole('row', { name: new RegExp(label) })
    await row.getByText('expired', { exact: true }).waitFor()
    await row.getByRole('button', { name: /^More actions/ }).click()
    await row.getByRole('button', { name: 'Revoke', exact: true }).waitFor()
    const buttons = await row.getByRole('button').allTextContents()
    expect(buttons).toContain('Edit')
    expect(buttons).not.toContain('Rotate')
    expect(await savedBy(page, 'Keys')).toContainEqual(expect.stringContaining(`${label},expired,`))
    await door('DELETE', `/v1/buyer/keys/${made.id}`, own)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('can be created and revoked with the keyboard alone', async () => {
    const { context, page, complaints } = await open(network.sandbox.buyer_key)
    const { keyboard } = page
    await keyboard.press('g')
    await keyboard.press('k')
    await heading(page, 'Buyer keys').waitFor()
    await waitForScreen(page)
    await tabTo(page, 'New key')
    await keyboard.press('Enter')
    const label = `by-keyboard-${Date.now()}`
    await tabTo(page, 'Name')
    await keyboard.type(label)
    await keyboard.press('Enter')
    await tabTo(page, 'I have stored it')
    await keyboard.press('Space')
    await tabTo(page, 'Done')
    await keyboard.press('Enter')
    const row = page.getByRole('row', { name: new RegExp(label) })
    await row.getByText('active').waitFor()
    await row.getByRole('button', { name: /^More actions/ }).focus()
    await keyboard.press('Enter')
    await row.getByRole('button', { name: 'Revoke', exact: true }).waitFor()
    for (const label of ['Freeze', 'Rotate', 'Revoke']) {
      await keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement.textContent')).toBe(label)
    }
    await keyboard.press('Enter')
    await dialog(page).waitFor()
    await tabTo(page, 'Revoke')
    await keyboard.press('Enter')
    await row.getByText('revoked').waitFor()
    await keyboard.press('?')
    await dialog(page).getByText('Search from anywhere').waitFor()
    await keyboard.press('Escape')
    // Letters after the keys of the search go into it.
    await keyboard.press('Control+k')
    await dialog(page).waitFor()
    await keyboard.type('Activ')
    await dialog(page)
      .getByRole('option', { name: /Activity/, selected: true })
      .waitFor()
    await keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await context.close()
  })
})
