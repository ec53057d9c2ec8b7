import pg from 'pg'
import type { Browser } from 'playwright-core'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { fundTreasury } from '#dev/network/fund-treasury.ts'
import { startBrowser } from '#test/support/browser.ts'
import { chainOf } from '#test/support/chain.ts'
import type { Network } from '#test/support/network.ts'
import { startNetwork } from '#test/support/network.ts'
import { dialog, heading, offerOf, openPerson, tabTo, waitForScreen } from '#test/support/page-browser.ts'
import { openWallet } from '#test/support/page-wallet.ts'

const START_MS = 120_000
const JOURNEY_MS = 120_000
/** A payout is drained, signed, mined and confirmed within this on a busy machine. */
const PAID_MS = 90_000
let network: Network
let browser: Browser

/** A treasury of this market's own, which has nothing until the test brings it money. */
const treasuryKey = generatePrivateKey()
const treasury = { privateKey: treasuryKey, address: privateKeyToAddress(treasuryKey) }

beforeAll(async () => {
  const environment = { TREASURY_ADDRESS: treasury.address, TREASURY_PRIVATE_KEY: treasury.privateKey }
  ;[network, browser] = await Promise.all([startNetwork(environment), startBrowser()])
}, START_MS)

afterAll(async () => {
  await browser?.close()
  await network?.remove()
}, START_MS)

/** Credits the sample seller by hand: what is of no offer goes to the seller's own wallet. */
async function credit(ticket: string, amountUsd: string): Promise<void> {
  const { database_url, trpc_url, management_key, seller_key, dashboard_url } = network.sandbox
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  const offer = await offerOf(dashboard_url, seller_key)
  const { rows } = await client.query('select seller_account from offer where id = $1', [offer])
  await client.end()
  const account = z.object({ seller_account: z.string() }).parse(rows[0]).seller_account
  const answer = await fetch(`${trpc_url}/ledger.adjust`, {
    method: 'POST',
    headers: { authorization: `Bearer ${management_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ account, direction: 'credit', amountUsd, ticket, reason: 'a test of the page' }),
  })
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
}

async function turnPayouts(isOn: boolean): Promise<void> {
  const { trpc_url, management_key } = network.sandbox
  const answer = await fetch(`${trpc_url}/feature.put`, {
    method: 'POST',
    headers: { authorization: `Bearer ${management_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'payouts', isOn, reason: 'a test of the page' }),
  })
  expect(answer.status).toBe(200)
}

it(
  'a seller asks for a payout by keyboard, an operator holds and releases it by keyboard, and it comes over the chain',
  async () => {
    const { sandbox } = network
    const url = sandbox.dashboard_url
    // The treasury has no money yet, so what is asked for waits for an operator.
    await credit(`page-payouts-${Date.now()}`, '0.073211')
    const seller = await openPerson(browser, { url, key: sandbox.seller_key })
    await seller.page.keyboard.press('g')
    await seller.page.keyboard.press('p')
    await heading(seller.page, 'Payouts').waitFor()
    await waitForScreen(seller.page)
    // The reason why nobody is paid stands there before anybody asks, and as long as it is so.
    await turnPayouts(false)
    await seller.page.getByText('Operators have switched payouts off for now.').waitFor()
    await turnPayouts(true)
    await seller.page.getByText('Operators have switched payouts off for now.').waitFor({ state: 'detached' })
    await tabTo(seller.page, 'Pay me now')
    await seller.page.keyboard.press('Enter')
    const payout = seller.page.getByRole('table', { name: 'Payouts' }).locator('tbody tr').first()
    await payout.getByText(/scheduled|held/).waitFor()

    const operator = await openPerson(browser, { url, key: sandbox.management_key })
    const { page } = operator
    await page.keyboard.press('g')
    await page.keyboard.press('y')
    await heading(page, 'Money').waitFor()
    await waitForScreen(page)
    const transfer = page.getByRole('table', { name: 'Payouts and sweeps' }).locator('tbody tr').first()
    const decide = async (what: 'Hold' | 'Release', [from, to]: readonly [string, string]) => {
      await transfer.getByRole('button', { name: what }).focus()
      await page.keyboard.press('Enter')
      await dialog(page)
        .getByRole('row', { name: `State ${from} ${to}` })
        .waitFor()
      // Nothing happens without a reason.
      expect(await dialog(page).getByRole('button', { name: what }).isDisabled()).toBe(true)
      await tabTo(page, 'Reason')
      await page.keyboard.type('a look at the books')
      await page.keyboard.press('Enter')
      await dialog(page).waitFor({ state: 'detached' })
      await transfer.getByText(to, { exact: true }).waitFor()
    }
    await decide('Hold', ['scheduled', 'held'])
    await seller.page.reload()
    await payout.getByText('held', { exact: true }).waitFor()
    await decide('Release', ['held', 'scheduled'])

    const { rpc_url: rpcUrl, trpc_url: trpcUrl, management_key: managementKey } = sandbox
    const buyer = { address: privateKeyToAddress(sandbox.buyer_private_key) }
    await fundTreasury({ rpcUrl, trpcUrl, managementKey, wallets: { treasury, buyer } })
    await payout.getByText('paid', { exact: true }).waitFor({ timeout: PAID_MS })
    await payout.getByTitle(/^0x[0-9a-f]{64}$/).waitFor()
    expect([...seller.complaints, ...operator.complaints]).toEqual([])
    await Promise.all([seller.context.close(), operator.context.close()])
  },
  JOURNEY_MS,
)

it(
  'a buyer pays from the wallet: a permit by signature, credit that is advanced, and its end',
  async () => {
    const { sandbox } = network
    const url = sandbox.dashboard_url
    const { rpc_url: rpcUrl, trpc_url: trpcUrl, management_key: managementKey } = sandbox
    const funder = { address: privateKeyToAddress(sandbox.buyer_private_key) }
    await fundTreasury({ rpcUrl, trpcUrl, managementKey, wallets: { treasury, buyer: funder } })
    const chain = await chainOf()
    const wallet = await chain.newWallet({ usdc: 5_000_000n })
    const { context, page, complaints } = await openPerson(browser, { url })
    await openWallet(context, wallet.account)
    await page.goto(`${url}/sign-in?to=/buyer/credit`)
    await page.getByRole('button', { name: 'Test wallet' }).click()
    await page.getByRole('button', { name: 'Begin' }).click()
    await dialog(page).getByLabel('It may take, US dollars').fill('3')
    await dialog(page).getByRole('button', { name: 'Sign with Test wallet' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    const line = page.getByRole('region', { name: 'Pay from your wallet' })
    await line.getByText('open', { exact: true }).waitFor()
    await line.getByText('$5.00').waitFor({ timeout: PAID_MS })
    await line.getByText('$1.000000 of at most $1.00').waitFor({ timeout: PAID_MS })
    await line.getByText('$3.00', { exact: true }).waitFor({ timeout: PAID_MS })

    await line.getByRole('button', { name: 'End payment' }).click()
    await dialog(page).getByRole('row', { name: 'State open closed' }).waitFor()
    await dialog(page).getByRole('button', { name: 'End it' }).click()
    await line.getByText('closed', { exact: true }).waitFor()
    await line.getByText('$0.000000 of at most $1.00').waitFor()
    await line.getByRole('button', { name: 'Take it back with Test wallet' }).click()
    await line.getByText('Signed. The wallet allows nothing once that is in its block.').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  },
  JOURNEY_MS,
)
