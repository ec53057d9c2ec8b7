import pg from 'pg'
import type { Browser } from 'playwright-core'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { fundTreasury } from '#dev/network/fund-treasury.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { payingFetch } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, offerOf, openPerson, tabTo, waitForScreen } from '#test/support/page/page-browser.ts'
import { handsOf } from '#test/support/page/page-hands.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'
import { BUSY_MS } from '#test/support/run/until.ts'

const Hash = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])
let network: Network
let browser: Browser

/** A treasury of this market's own, which is empty until the test adds money. */
const treasuryKey = generatePrivateKey()
const treasury = { privateKey: treasuryKey, address: privateKeyToAddress(treasuryKey) }

beforeAll(async () => {
  const environment = {
    TREASURY_ADDRESS: treasury.address,
    TREASURY_PRIVATE_KEY: treasury.privateKey,
    // A single call is worth a payout, and payouts are made on request only.
    PAYOUT_THRESHOLD_MICRO: '1',
    PAYOUT_EVERY_SECONDS: '86400',
  }
  ;[network, browser] = await Promise.all([startNetwork(environment), startBrowser()])
})

afterAll(async () => {
  await browser?.close()
  await network?.remove()
})

/** Credits the sample seller by hand: earnings without an offer go to the seller's own wallet. */
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

/** Adds money to the treasury, once. */
function fund(): Promise<void> {
  const { rpc_url: rpcUrl, trpc_url: trpcUrl, management_key: managementKey, buyer_private_key } = network.sandbox
  const buyer = { address: privateKeyToAddress(buyer_private_key) }
  return fundTreasury({ rpcUrl, trpcUrl, managementKey, wallets: { treasury, buyer } })
}

/** Opens a browser of a new user with a wallet of 5 dollars to which the market can pay. */
async function openStranger() {
  await fund()
  const chain = await chainOf()
  const wallet = await chain.newWallet({ usdc: 5_000_000n })
  const person = await openPerson(browser, { url: network.sandbox.dashboard_url })
  await openWallet(person.context, wallet.account)
  return { ...person, chain, wallet }
}

it('a seller requests a payout by keyboard, an operator holds and releases it by keyboard, and it arrives over the chain', async () => {
  const { sandbox } = network
  const url = sandbox.dashboard_url
  // The treasury has no money yet, so the requested payout waits for an operator.
  await credit(`page-payouts-${Date.now()}`, '0.073211')
  const seller = await openPerson(browser, { url, key: sandbox.seller_key })
  await seller.page.keyboard.press('g')
  await seller.page.keyboard.press('p')
  await heading(seller.page, 'Payouts').waitFor()
  await waitForScreen(seller.page)
  // The reason why no payout is made is shown before a request, and for as long as it applies.
  await turnPayouts(false)
  await seller.page.getByText('Payouts are switched off for now.').waitFor()
  await turnPayouts(true)
  await seller.page.getByText('Payouts are switched off for now.').waitFor({ state: 'detached' })
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

  await fund()
  await payout.getByText('paid', { exact: true }).waitFor({ timeout: BUSY_MS })
  await payout.getByTitle(/^0x[0-9a-f]{64}$/).waitFor()
  expect([...seller.complaints, ...operator.complaints]).toEqual([])
  await Promise.all([seller.context.close(), operator.context.close()])
})

it('an operator clears a hold on all payouts with a reason, and the audit has both', async () => {
  const { dashboard_url: url, database_url, management_key } = network.sandbox
  const client = new pg.Client({ connectionString: database_url })
  await client.connect()
  const id = '01K0000000000000000000H0LD'
  await client.query("insert into payout_hold (id, reason) values ($1, 'invariant:I3')", [id])
  const { context, page, complaints } = await openPerson(browser, { url, key: management_key })
  await page.goto(`${url}/operator/money`)
  const holds = page.getByRole('table', { name: 'Holds on all payouts' })
  await holds.getByRole('row', { name: /invariant I3 broken/ }).waitFor()
  await holds.getByRole('button', { name: /^Clear the hold/ }).click()
  await dialog(page).getByRole('row', { name: 'Holds in force 1 0' }).waitFor()
  await dialog(page).getByText('Payouts of all sellers resume').waitFor()
  expect(await dialog(page).getByRole('button', { name: 'Clear hold' }).isDisabled()).toBe(true)
  await dialog(page).getByLabel('Reason').fill('row repaired')
  await dialog(page).getByRole('button', { name: 'Clear hold' }).click()
  await page.getByText('The hold is cleared. Payouts resume.').waitFor()
  await page.getByText('Nothing waits for your decision.').waitFor()
  const { rows } = await client.query('select clear_reason from payout_hold where id = $1', [id])
  expect(rows).toEqual([{ clear_reason: 'row repaired' }])
  const audit = await client.query("select after from audit_log where operation = 'payoutHold.clear'")
  expect(audit.rows).toEqual([{ after: { cleared: true, reason: 'row repaired' } }])
  await client.end()
  expect(complaints).toEqual([])
  await context.close()
})

it('an operator sees a payment by wallet among the newest, and none as open once it is confirmed', async () => {
  const { sandbox } = network
  const chain = await chainOf()
  const wallet = await chain.newWallet({ usdc: 5_000_000n })
  const body = JSON.stringify({ model: 'gpt-5-mini', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] })
  const headers = { 'content-type': 'application/json' }
  const send = payingFetch(chain, wallet, 'exact')
  const answer = await send(`${sandbox.api_base_url}/v1/chat/completions`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
  const operator = await openPerson(browser, { url: sandbox.dashboard_url, key: sandbox.management_key })
  const { page } = operator
  await page.goto(`${sandbox.dashboard_url}/operator/money`)
  await waitForScreen(page)
  const payer = wallet.account.address.toLowerCase()
  const payment = page
    .getByRole('table', { name: 'Wallet payments', exact: true })
    .locator('tbody tr')
    .filter({ hasText: payer.slice(0, 8) })
  await payment.getByText('confirmed', { exact: true }).waitFor({ timeout: BUSY_MS })
  await page.getByText('No payment is open').waitFor()
  expect(await page.getByText('No wallet payments').count()).toBe(0)
  expect(operator.complaints).toEqual([])
  await operator.context.close()
})

it('a buyer pays from the wallet: a permit by signature, credit that is advanced, and its end', async () => {
  const { sandbox } = network
  const url = sandbox.dashboard_url
  const { context, page, complaints } = await openStranger()
  await page.goto(`${url}/sign-in?to=/buyer/credit`)
  await page.getByRole('button', { name: 'Test wallet' }).click()
  await page.getByRole('button', { name: 'Set up' }).click()
  await dialog(page).getByLabel('Amount allowed, US dollars').fill('3')
  await dialog(page).getByRole('button', { name: 'Sign with Test wallet' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  const line = page.getByRole('region', { name: 'Pay from your wallet' })
  await line.getByText('open', { exact: true }).waitFor()
  await line.getByText('$5.00').waitFor({ timeout: BUSY_MS })
  await line.getByText('$1.000000 of at most $1.00').waitFor({ timeout: BUSY_MS })
  await line.getByText('$3.00', { exact: true }).waitFor({ timeout: BUSY_MS })

  await line.getByRole('button', { name: 'End payment' }).click()
  await dialog(page).getByRole('row', { name: 'State open closed' }).waitFor()
  await dialog(page).getByRole('button', { name: 'End it' }).click()
  await line.getByText('closed', { exact: true }).waitFor()
  await line.getByText('$0.000000 of at most $1.00').waitFor()
  await line.getByRole('button', { name: 'Revoke with Test wallet' }).click()
  await line.getByText('Signed. The allowance ends once the permit is in a block.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

it.each([
  { kind: 'mouse', model: 'gpt-5-nano', name: /GPT-5 Nano$/ },
  { kind: 'keyboard', model: 'gpt-5-mini', name: /GPT-5 Mini$/ },
] as const)(
  'a new user lists an offer, sees it win a call, reads why, and is paid over the chain: by $kind',
  async ({ kind, model, name }) => {
    const { sandbox } = network
    const url = sandbox.dashboard_url
    const { chain, wallet, context, page, complaints } = await openStranger()
    const hands = handsOf(kind, page)

    // From the first visit to an offer on sale.
    await page.goto(url)
    await page.getByText('Saved by buyers').waitFor()
    await hands.press('Sell capacity')
    await heading(page, 'List capacity').waitFor()
    await hands.press('Sign in as a seller')
    await heading(page, 'Sign in').waitFor()
    await hands.press('Test wallet')
    await heading(page, 'List capacity').waitFor()
    await waitForScreen(page)
    await hands.write('Base URL of the provider', `${sandbox.provider_url}/v1`)
    await hands.write('API key', 'sk-a-key-of-a-stranger')
    await hands.press('Find your models')
    await page.waitForURL(/step=models/)
    await hands.write('Find a model', model)
    await hands.tick(model)
    await hands.write(`Discount of ${model}, percent`, '91')
    await hands.press('Go on with 1 model')
    await page.waitForURL(/step=terms/)
    await hands.write('Cap a day for each offer, US dollars', '3')
    await hands.tick(/My contract with the provider/)
    await hands.tick(/at my cost/)
    await hands.press('Put on sale')
    await page.waitForURL(/step=live/)
    await hands.press('Make a first call to each')
    await page.getByText(/answered in/).waitFor()
    await hands.press(model)
    await page.waitForURL(/offers\/ofr_/)
    const offer = /ofr_\w+/.exec(page.url())?.[0] ?? ''
    await page.getByText('on sale').first().waitFor()
    const won = page.getByRole('listitem').filter({ hasText: /^Won/ })
    expect(await won.count()).toBe(0)

    // The same person buys in another tab.
    const second = await context.newPage()
    const other = handsOf(kind, second)
    await second.goto(`${url}/buyer`)
    await waitForScreen(second)
    await other.open('/buyer/credit', 'c')
    await other.write('Amount, US dollars', '2')
    await other.press('Sign with Test wallet')
    await second
      .getByRole('table', { name: 'Deposits' })
      .getByRole('row', { name: /credited.*\$2\.00/ })
      .waitFor({ timeout: BUSY_MS })
    await other.open('/buyer/keys', 'k')
    await other.press('New key')
    await other.write('Name', 'first')
    await other.press('Create key')
    expect(await dialog(second).locator('pre').textContent()).toMatch(/^inf_/)
    await other.tick('I have stored it')
    await other.press('Done')
    await second.getByRole('row', { name: /first/ }).waitFor()
    // A dialog returns the focus to the element that opened it.
    expect(await second.evaluate('document.activeElement?.textContent')).toBe('New key')
    await other.open('/models', 'm')
    await other.write('Name', model)
    await second.waitForURL(/search=/)
    await other.press(name)
    await second.getByRole('link', { name: 'Open in the playground' }).waitFor()
    await other.press('Open in the playground')
    await heading(second, 'Playground').waitFor()
    await waitForScreen(second)
    await other.write('Message', 'Say hello.')
    await other.press('Send')
    await second.getByText(/Cost \$0\.\d{6}/).waitFor()

    // The offer's own page shows the call without a reload.
    await won.getByText('1', { exact: true }).waitFor()
    await page.getByTitle(/^\$2\.99\d{4}$/).waitFor()

    // Letters go into the field of the next message while it has the focus.
    await second.locator('#content').focus()
    await other.open('/buyer/logs', 'l')
    if (kind === 'keyboard') await second.keyboard.press('j')
    else await second.getByRole('table', { name: 'Calls' }).locator('tbody').getByRole('button').first().click()
    const route = dialog(second).getByRole('region', { name: 'Route' })
    await route.getByText(/The call went to the lowest-priced of \d+ offers that could serve it/).waitFor()
    await route.getByRole('row').filter({ hasText: offer }).getByText('served').waitFor()
    expect(await route.getByText('served', { exact: true }).count()).toBe(1)
    await second.keyboard.press('Escape')

    await page.bringToFront()
    await hands.open('/seller/payouts', 'p')
    await hands.press('Pay me now')
    const payout = page.getByRole('table', { name: 'Payouts' }).locator('tbody tr').first()
    await payout.getByText('paid', { exact: true }).waitFor({ timeout: BUSY_MS })
    const hash = await payout.getByTitle(/^0x[0-9a-f]{64}$/).getAttribute('title')
    const { status } = await chain.publicClient.getTransactionReceipt({ hash: Hash.parse(hash) })
    expect(status).toBe('success')
    expect(await chain.usdcBalance(wallet.address)).toBeGreaterThan(3_000_000n)
    expect(complaints).toEqual([])
    await context.close()
  },
)
