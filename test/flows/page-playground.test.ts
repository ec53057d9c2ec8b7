import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newWallet } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { startBrowser } from '#test/support/page/browser.ts'
import { dialog, heading, openPerson, SCREEN_MS, signOut, waitForScreen } from '#test/support/page/page-browser.ts'
import { askMarket } from '#test/support/page/page-door.ts'
import type { HandsKind } from '#test/support/page/page-hands.ts'
import { handsOf } from '#test/support/page/page-hands.ts'
import { VIEWS, violationsOf } from '#test/support/page/page-violations.ts'
import { openWallet } from '#test/support/page/page-wallet.ts'
import { until } from '#test/support/run/until.ts'

const MOST_TABS = 12
/** The scripts of the playground over the wire, with the reader of Markdown. */
const MOST_BYTES = 180_000
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let network: Network
let browser: Browser
let site: string

beforeAll(async () => {
  ;[network, browser] = await Promise.all([sharedNetwork(), startBrowser()])
  site = network.sandbox.dashboard_url
})
afterAll(() => browser?.close())

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
const answerOf = (page: Page, name: RegExp) => page.getByRole('region', { name })
const message = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true })

/** A browser of a new user with a wallet and five dollars, and its calls of the API. */
async function openBuyer(path = '/playground') {
  const person = await openPerson(browser, { url: site })
  const { context, page } = person
  const calls: Request[] = []
  page.on('request', (request) => {
    if (request.headers()['authorization'] !== undefined) calls.push(request)
  })
  await openWallet(context, newWallet())
  await page.goto(`${site}/sign-in?to=${encodeURIComponent(path)}`)
  await button(page, 'Test wallet').click()
  await heading(page, 'Playground').waitFor()
  await page.evaluate(
    `fetch('/v1/buyer/sample-credit', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })`,
  )
  await page.reload()
  await waitForScreen(page)
  await page.getByText('Credit $5.00').waitFor()
  await page.getByText(/^Spent today \$0\.00 of \$1\.00$/).waitFor()
  return { ...person, calls }
}

const Chat = z.object({ model: z.string(), messages: z.array(z.object({ role: z.string(), content: z.unknown() })) })
const chatsIn = (calls: readonly Request[]) =>
  calls
    .filter((request) => request.url().endsWith('/v1/chat/completions'))
    .map((request) => Chat.parse(request.postDataJSON()))
const secretsIn = (calls: readonly Request[]) => [
  ...new Set(calls.map((request) => request.headers()['authorization']?.replace('Bearer ', '') ?? '')),
]

async function ask(page: Page, text: string) {
  await message(page).fill(text)
  await page.keyboard.press('Enter')
}

/** Presses Shift and Tab until the element with this name has the focus: an answer is above the field. */
async function tabBackTo(page: Page, name: RegExp) {
  for (let pressed = 0; pressed < MOST_TABS; pressed++) {
    await page.keyboard.press('Shift+Tab')
    const focused = await page.evaluate(
      `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent`,
    )
    if (name.test(String(focused))) return
  }
  throw new Error(`no Tab leads back to ${name}`)
}

const statusWith = async (secret: string) => {
  const answer = await fetch(`${network.sandbox.api_base_url}/v1/models/user`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  return answer.status
}

describe('the playground', () => {
  it.each<HandsKind>(['mouse', 'keyboard'])(
    'holds a conversation by %s, with a price before and a charge after',
    async (kind) => {
      const { context, page, calls, complaints } = await openBuyer()
      const hands = handsOf(kind, page)
      await page.goto(`${site}/buyer`)
      await waitForScreen(page)
      await hands.open('/playground', 't')
      await hands.write('Message', 'Say hello to **everybody**.')
      const first = answerOf(page, /^Answer of .*GPT-5 Mini/)
      const quoted = page.getByText(/^At most \$0\.\d+ at sandbox-/)
      await quoted.waitFor()
      const most = Number(/\$(0\.\d+)/.exec((await quoted.textContent()) ?? '')?.[1])
      await hands.press('Send')
      await first.getByText('Done').waitFor()
      await first.locator('strong', { hasText: 'everybody' }).waitFor()
      const cost = (await first.getByText(/^Cost \$0\.\d{6} · sandbox-/).textContent()) ?? ''
      const paid = Number(/\$(0\.\d{6})/.exec(cost)?.[1])
      expect([paid > 0, paid <= most]).toEqual([true, true])

      await hands.write('Message', 'And goodbye?')
      await hands.press('Send')
      await expect.poll(() => first.getByText('Done').count()).toBe(2)
      expect(
        chatsIn(calls)
          .at(-1)
          ?.messages.map(({ role }) => role),
      ).toEqual(['user', 'assistant', 'user'])

      if (kind === 'keyboard') await tabBackTo(page, /^Why here: /)
      await hands.press(/^Why here: /)
      await page.getByText(/^The call went to the lowest-priced of \d+ offers/).waitFor()
      const entry = page.getByRole('link', { name: 'Open the log entry' })
      expect(await entry.getAttribute('href')).toMatch(/^\/buyer\/logs\?call=[0-9A-Z]{26}$/)
      await expect
        .poll(async () => (await page.locator('.play-cap').textContent()) ?? '')
        .toMatch(/Spent today \$0\.000\d+ of \$1\.00/)
      if (kind === 'keyboard') await tabBackTo(page, /^New chat$/)
      await hands.press('New chat')
      await page.getByText('Ask something, or begin with an example.').waitFor()
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  it('keeps its secret in memory alone, and loses it when the reader signs out', async () => {
    const { context, page, calls, complaints } = await openBuyer()
    await ask(page, 'Say hello.')
    await answerOf(page, /^Answer of/)
      .getByText('Done')
      .waitFor()
    const [secret = '', ...others] = secretsIn(calls)
    expect([secret.startsWith('inf_'), others]).toEqual([true, []])
    const kept = await page.evaluate(`JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])`)
    expect([String(kept).includes('inf_'), (await page.content()).includes(secret)]).toEqual([false, false])
    expect(await statusWith(secret)).toBe(200)
    await page.goto(`${site}/buyer/keys`)
    await page
      .getByRole('row', { name: /^Playground playground/ })
      .getByText('$1.00 a day')
      .waitFor()
    await signOut(page)
    await page.getByText('Signed out.').waitFor()
    await until('the secret is refused', SCREEN_MS, async () => (await statusWith(secret)) === 401)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('asks models side by side, and its address restores them', async () => {
    const { context, page, calls, complaints } = await openBuyer('/playground?models=gpt-5-mini&tokens=24')
    await button(page, 'Add a model to compare').click()
    await dialog(page).getByRole('combobox', { name: 'Name of a model' }).fill('3.5 haiku')
    await dialog(page)
      .getByRole('option', { name: /Claude 3.5 Haiku/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/claude-3\.5-haiku/)
    const head = page.getByRole('region', { name: /^Model 2: .*Haiku/ })
    await head.getByLabel('Seller').selectOption('sandbox-b')
    await page.waitForURL(/sandbox-b/)
    await page.locator('summary', { hasText: 'Settings' }).click()
    await page.getByLabel('Temperature').fill('0.4')
    await page.getByLabel('System text').fill('Answer in one line.')
    await page.reload()
    await waitForScreen(page)
    await message(page).fill('Say hello.')
    await expect.poll(() => page.getByText(/^At most \$0\.\d+ at sandbox-/).count()).toBe(2)
    await page.keyboard.press('Enter')
    for (const name of [/^Answer of .*GPT-5 Mini/, /^Answer of .*Haiku/]) {
      await answerOf(page, name).getByText('Done').or(answerOf(page, name).getByText('Cut at the limit')).waitFor()
      await answerOf(page, name)
        .getByText(/^Cost \$0\.\d{6} · sandbox-\w · first token \d+/)
        .waitFor()
    }
    await answerOf(page, /^Answer of .*Haiku/)
      .getByText(/sandbox-b/)
      .waitFor()
    // The parameter goes only to the model that supports it, and no model gets a system text from before the reload.
    const bodies = calls
      .filter((call) => call.url().endsWith('/v1/chat/completions'))
      .map((call) => call.postDataJSON())
    expect(bodies).toMatchObject([
      { model: 'gpt-5-mini', max_tokens: 24, messages: [{ role: 'user' }] },
      { model: 'claude-3.5-haiku', max_tokens: 24, temperature: 0.4, provider: { only: ['sandbox-b'] } },
    ])
    expect(bodies[0]).not.toHaveProperty('temperature')
    for (const view of VIEWS) expect(await violationsOf(page, 'answered', view)).toEqual([])
    expect(await scriptBytes(page)).toBeLessThan(MOST_BYTES)
    expect(complaints).toEqual([])
    await context.close()
  })

  it('stops an answer, and shows the cost of the delivered part', async () => {
    const { context, page, complaints } = await openBuyer('/playground?models=sandbox/drip&tokens=6')
    await ask(page, 'Go on and on.')
    const reply = answerOf(page, /^Answer of/)
    await reply.locator('.play-text').waitFor()
    await button(page, 'Stop').click()
    await reply.getByText('Stopped').waitFor()
    await reply.getByText(/^Cost \$0\.000000 · sandbox-/).waitFor()
    await button(page, 'Send').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('says why a call was refused, and repeats it once it can be paid', async () => {
    const person = await openPerson(browser, { url: site })
    const { context, page, complaints } = person
    await openWallet(context, newWallet())
    await page.goto(`${site}/sign-in?to=/playground`)
    await button(page, 'Test wallet').click()
    await page.getByText('You have no credit.').waitFor()
    await ask(page, 'Say hello.')
    const reply = answerOf(page, /^Answer of/)
    await reply.getByText('Failed').waitFor()
    await reply.getByRole('link', { name: 'Add credit' }).waitFor()
    await page.evaluate(
      `fetch('/v1/buyer/sample-credit', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })`,
    )
    await button(page, /^Ask again: /).click()
    await reply.getByText('Done').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('has a daily cap that its owner changes, and that a call cannot exceed', async () => {
    const { context, page, complaints } = await openBuyer()
    await button(page, 'Change the daily cap').click()
    await dialog(page).getByLabel('US dollars a day').fill('0.000001')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByText('of $0.000001').waitFor()
    await expect
      .poll(async () => {
        await ask(page, 'Say hello.')
        await button(page, 'Send').waitFor()
        return answerOf(page, /^Answer of/)
          .last()
          .textContent()
      })
      .toContain('This key has used up its budget.')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('makes pictures of a size, and shows pictures, sound and films', async () => {
    const { context, page, calls, complaints } = await openBuyer('/playground?models=gpt-5-mini')
    const small = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') }
    const large = { name: 'wall.png', mimeType: 'image/png', buffer: Buffer.alloc(5 * 1_024 * 1_024 + 1) }
    await page.getByLabel('Pictures', { exact: true }).setInputFiles([small, large])
    await page.getByText('wall.png is larger than 5 MB.').waitFor()
    await page.getByRole('img', { name: 'dot.png' }).waitFor()
    await ask(page, 'What is this?')
    await answerOf(page, /^Answer of/)
      .getByText('Done')
      .waitFor()
    expect(JSON.stringify(chatsIn(calls)[0]?.messages)).toContain('data:image/png;base64,')

    await page.goto(`${site}/playground?models=gpt-image-1,gpt-4o-mini-tts,sandbox/job`)
    await waitForScreen(page)
    await message(page).fill('A lighthouse in fog')
    // Each model has its price before, the film included.
    await expect.poll(() => page.getByText(/^At most \$\d+\.\d+ at sandbox-/).count()).toBe(3)
    await ask(page, 'A lighthouse in fog')
    const [picture, sound, film] = [/Image 1/, /TTS/, /job/].map((name) =>
      answerOf(page, new RegExp(`^Answer of .*${name.source}`)),
    )
    for (const answer of [picture, sound, film]) await answer?.getByText(/Cost \$\d+\.\d{6} · sandbox-/).waitFor()
    const loaded = (kind: string, test: string) =>
      expect
        .poll(() =>
          page.evaluate(
            `(() => { const at = document.querySelector('main .play-media ${kind}'); return at !== null && ${test} })()`,
          ),
        )
        .toBe(true)
    await loaded('img', 'at.naturalWidth > 0')
    await loaded('audio', 'at.duration > 0')
    await loaded('video', 'at.duration > 0')
    for (const view of VIEWS) expect(await violationsOf(page, 'media', view)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  it('shows each call as code that runs', async () => {
    const { context, page, complaints } = await openBuyer('/playground?models=gpt-5-mini&tokens=16')
    await message(page).fill("It's hello.")
    await button(page, 'Code').click()
    const code = dialog(page).locator('pre')
    const curl = (await code.textContent()) ?? ''
    const body: unknown = JSON.parse(/-d '([\s\S]*)'$/.exec(curl)?.[1]?.replaceAll("'\\''", "'") ?? '')
    expect(body).toMatchObject({ model: 'gpt-5-mini', max_tokens: 16, messages: [{ content: "It's hello." }] })
    const { buyer_key: key } = network.sandbox
    await askMarket(site, {
      method: 'POST',
      path: '/v1/chat/completions',
      key,
      body: { ...z.object({}).loose().parse(body), stream: false },
    })
    await dialog(page).getByRole('button', { name: 'Python' }).click()
    await code.getByText('client.chat.completions.create(').waitFor()
    await dialog(page).getByRole('button', { name: 'TypeScript' }).click()
    await code.getByText('import OpenAI from').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('a page of another origin', () => {
  it('cannot use a playground, though the browser sends the cookie', async () => {
    const { context, page } = await openBuyer()
    const evil = createServer((_request, reply) =>
      reply.setHeader('content-type', 'text/html').end('<title>evil</title>'),
    )
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
    const { port } = evil.address() as AddressInfo
    const host = new URL(site).hostname
    const before = await countSecrets()
    await page.goto(`http://${host}:${port}/`)
    const tried = await page.evaluate(`(async () => {
      const target = '${site}/v1/auth/playground'
      const tries = [
        { mode: 'cors', headers: { 'content-type': 'application/json' }, body: '{}' },
        { mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{}' },
        { mode: 'cors', body: new URLSearchParams({}) },
      ]
      const read = []
      for (const init of tries) {
        const answer = await fetch(target, { method: 'POST', credentials: 'include', ...init }).catch((error) => ({ type: error.name }))
        read.push([answer.type, answer.ok === true ? await answer.text() : ''])
      }
      return read
    })()`)
    expect(JSON.stringify(tried)).not.toContain('inf_')
    await page.setContent(
      `<form method="post" action="${site}/v1/auth/playground" enctype="text/plain"><button>go</button></form>`,
    )
    await page.getByRole('button', { name: 'go' }).click()
    await page.waitForURL(/auth\/playground/)
    expect(await page.content()).toMatch(/forbidden|unsupported_media_type/)
    expect(await countSecrets()).toBe(before)
    evil.close()
    await context.close()
  })
})

/** The playground secrets of this test alone: those of the newest session. */
async function countSecrets(): Promise<number> {
  const db = new pg.Client(network.sandbox.database_url)
  await db.connect()
  try {
    const { rows } = await db.query(
      'select count(*)::int as count from key_session_secret where session_id = (select max(id) from web_session)',
    )
    return z.object({ count: z.number() }).parse(rows[0]).count
  } finally {
    await db.end()
  }
}

/** The bytes of the scripts that a screen has loaded, compressed as they arrived. */
async function scriptBytes(page: Page): Promise<number> {
  return Number(
    await page.evaluate(`(() => {
      const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
      const sizes = new Map(scripts.map(({ name, encodedBodySize }) => [name, encodedBodySize]))
      return [...sizes.values()].reduce((sum, size) => sum + size, 0)
    })()`),
  )
}
