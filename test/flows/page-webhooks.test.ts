import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, openPerson } from '#test/support/page/page-browser.ts'

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})
afterAll(() => browser?.close())

const open = (key: string) => openPerson(browser, { url: site, key })

describe('the alerts of a buyer', () => {
  it('go to a webhook that is created, tested, edited and deleted on the page', async () => {
    const bodies: string[] = []
    const receiver = createServer((request, answer) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
      request.on('end', () => answer.writeHead(204).end())
    })
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const { port } = z.object({ port: z.number() }).parse(receiver.address())
    const { context, page, complaints } = await open(network.sandbox.buyer_key)
    await page.goto(`${site}/buyer/limits`)
    await page.getByRole('button', { name: 'New webhook' }).click()
    await dialog(page).getByLabel('URL').fill(`http://127.0.0.1:${port}/hook`)
    await dialog(page).getByLabel('Name').fill('our channel')
    await dialog(page).getByLabel('Format').selectOption('slack')
    await dialog(page).getByLabel('The balance is low').check()
    await dialog(page).getByLabel('Low balance, US dollars').fill('2.5')
    await dialog(page).getByLabel('A job is done').check()
    await dialog(page).getByRole('button', { name: 'Create webhook' }).click()
    await dialog(page).getByLabel('I have stored it').check()
    await dialog(page).getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: /our channel.* on Slack .*job\.succeeded.*\$2\.50/ }).waitFor()
    await page.getByRole('button', { name: 'Test and deliveries of our channel' }).click()
    await dialog(page).getByRole('button', { name: 'Send a test event' }).click()
    await dialog(page)
      .getByRole('row', { name: /webhook\.test delivered answered 204 1/ })
      .waitFor()
    expect(JSON.parse(bodies.join(''))).toEqual({ text: expect.stringContaining('*webhook.test*') })
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit our channel' }).click()
    await dialog(page).getByLabel('Send events').uncheck()
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /our channel.* off / }).waitFor()
    await page.getByRole('button', { name: 'Delete our channel' }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('row', { name: /our channel/ }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await context.close()
    receiver.close()
  })
})
