import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { normalizeEmail } from '#control-plane/services/mail/email-address.ts'
import { startSendMail } from '#control-plane/workers/send-mail.ts'
import type { RunningWorker } from '#control-plane/workers/worker.ts'
import { MINUTE } from '#shared/clock.ts'
import type { Answer, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import type { MailServer } from '#test/support/doors/mail-server.ts'
import { headersOf, startMailServer, textOf } from '#test/support/doors/mail-server.ts'
import { newPasskeyAccount } from '#test/support/doors/passkey-account.ts'
import type { PasskeyBrowser } from '#test/support/doors/passkey-browser.ts'
import { newPasskeyBrowser } from '#test/support/doors/passkey-browser.ts'
import { until } from '#test/support/run/until.ts'

const PAGE = 'http://localhost:8402'
const LIFE_MS = 15 * MINUTE

let market: TestMarket
let server: MailServer
const workers: RunningWorker[] = []

beforeAll(async () => {
  server = await startMailServer()
  market = await startMarket({ environment: { SMTP_URL: server.url, MAIL_FROM: 'market@example.com' } })
  workers.push(startSendMail(market.plane))
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  await market?.stop()
  await server?.stop()
})

let made = 0
const newAddress = () => `reader-${++made}@example.com`
const newBrowser = () => newPasskeyBrowser(market, PAGE)
const refusal = (answer: Answer) => [answer.status, codeOf(answer)]
const REFUSED = [401, 'invalid_signature']

const ask = (browser: PasskeyBrowser, email: string, more: object = {}) =>
  browser.send('POST', '/v1/auth/email-link', { email, purpose: 'sign_in', ...more })
const use = (browser: PasskeyBrowser, code: string, more: object = {}) =>
  browser.send('POST', '/v1/auth/email-session', { code, ...more })
const read = (browser: PasskeyBrowser, code: string) => browser.send('POST', '/v1/auth/email-link/read', { code })

/** The link in the newest of `count` mails to an address. */
async function linkTo(address: string, count = 1): Promise<{ url: URL; code: string }> {
  const [url = ''] = /https?:\S+/.exec(textOf(await server.mailTo(address, count))) ?? []
  const link = new URL(url)
  return { url: link, code: link.hash.replace('#email=', '') }
}

/** Asks for a link and returns its code. */
async function codeTo(browser: PasskeyBrowser, typed: string, more: object = {}): Promise<string> {
  const address = normalizeEmail(typed) ?? typed
  const before = server.received(address).length
  expect((await ask(browser, typed, more)).status).toBe(202)
  return (await linkTo(address, before + 1)).code
}

const Session = z.object({ user: z.string() })
const userOf = async (browser: PasskeyBrowser) =>
  Session.parse((await browser.send('GET', '/v1/auth/session')).body).user

/** A browser that is signed in to the account of an address. */
async function signedIn(address: string) {
  const browser = newBrowser()
  expect((await use(browser, await codeTo(browser, address))).status).toBe(201)
  return { browser, user: await userOf(browser) }
}

describe('a link by e-mail', () => {
  it('opens an account for a new address, and signs in to it from then on', async () => {
    const address = newAddress()
    const { browser, user } = await signedIn(address)
    const { body } = await market.graphql(undefined, '{ service { sendsMail } }')
    expect(body).toMatchObject({ data: { service: { sendsMail: true } } })
    const ways = await browser.send('GET', '/v1/auth/ways-in')
    expect(ways.body).toMatchObject({ wallet: null, passkeys: [], emails: [{ email: address }] })
    expect((await signedIn(address.toUpperCase())).user).toBe(user)
  })

  it('has a secret of 256 bits, of which the market keeps a hash', async () => {
    const address = newAddress()
    const code = await codeTo(newBrowser(), address)
    expect(Buffer.from(code, 'base64url')).toHaveLength(32)
    const rows = await market.plane.db.selectFrom('email_link').selectAll().where('address', '=', address).execute()
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(code)
  })

  it('is answered alike for an address with and without an account', async () => {
    const address = newAddress()
    await signedIn(address)
    const answers = [await ask(newBrowser(), address), await ask(newBrowser(), newAddress())]
    const shapes = answers.map(({ status, body }) => [status, Object.keys(z.object({}).loose().parse(body))])
    expect(shapes).toEqual([
      [202, ['expires_at']],
      [202, ['expires_at']],
    ])
  })

  it('works once, also for requests at the same time', async () => {
    const address = newAddress()
    const browser = newBrowser()
    const code = await codeTo(browser, address)
    const rivals = await Promise.all(Array.from({ length: 4 }, () => use(newBrowser(), code, { is_confirmed: true })))
    expect(rivals.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401])
    expect(refusal(await use(browser, code))).toEqual(REFUSED)
    expect(refusal(await read(browser, code))).toEqual(REFUSED)
  })

  it('opens one account for two links that are used at the same time', async () => {
    const address = newAddress()
    const browsers = [newBrowser(), newBrowser()] as const
    const codes = [await codeTo(browsers[0], address), await codeTo(browsers[1], address)] as const
    const answers = await Promise.all([use(browsers[0], codes[0]), use(browsers[1], codes[1])])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401])
    const rows = await market.plane.db.selectFrom('email_address').selectAll().where('address', '=', address).execute()
    expect(rows).toHaveLength(1)
  })

  it('ends after 15 minutes, and its row is removed', async () => {
    const address = newAddress()
    const browser = newBrowser()
    const code = await codeTo(browser, address)
    market.advance(LIFE_MS - 10_000)
    expect((await read(browser, code)).status).toBe(200)
    market.advance(10_001)
    expect(refusal(await read(browser, code))).toEqual(REFUSED)
    expect(refusal(await use(browser, code))).toEqual(REFUSED)
  })

  it('needs a confirmation in another browser than the one that asked', async () => {
    const address = newAddress()
    const asking = newBrowser()
    const code = await codeTo(asking, address)
    const other = newBrowser()
    expect((await read(other, code)).body).toMatchObject({ email: address, is_this_browser: false, purpose: 'sign_in' })
    expect(refusal(await use(other, code))).toEqual([409, 'conflict'])
    expect(other.cookies.has('mkt_session')).toBe(false)
    expect((await read(asking, code)).body).toMatchObject({ is_this_browser: true })
    expect((await use(other, code, { is_confirmed: true })).status).toBe(201)
    expect((await asking.send('GET', '/v1/auth/session')).status).toBe(401)
  })

  it('does not sign in by GET', async () => {
    const address = newAddress()
    const browser = newBrowser()
    await ask(browser, address)
    const { url, code } = await linkTo(address)
    // The secret is behind the #, which no browser and no scanner sends to a server.
    expect(url.search).toBe('')
    expect((await browser.send('GET', `/v1/auth/email-session?code=${code}`)).status).toBe(405)
    expect((await browser.send('GET', `/v1/auth/email-link?code=${code}`)).status).toBe(405)
    expect(browser.cookies.has('mkt_session')).toBe(false)
    expect((await use(browser, code)).status).toBe(201)
  })

  it('begins a session of its own, and ends the session of the request', async () => {
    const thief = await signedIn(newAddress())
    const planted = thief.browser.cookies.get('mkt_session') ?? ''
    const browser = newBrowser()
    browser.cookies.set('mkt_session', planted)
    const code = await codeTo(browser, newAddress())
    expect((await use(browser, code)).status).toBe(201)
    expect(browser.cookies.get('mkt_session')).not.toBe(planted)
    expect(await userOf(browser)).not.toBe(thief.user)
    expect((await thief.browser.send('GET', '/v1/auth/session')).status).toBe(401)
  })

  it('cannot be asked for or used by a page of another site', async () => {
    const address = newAddress()
    const evil = newPasskeyBrowser(market, 'https://evil.example')
    expect(refusal(await ask(evil, address))).toEqual([403, 'forbidden'])
    const code = await codeTo(newBrowser(), address)
    expect(refusal(await use(evil, code, { is_confirmed: true }))).toEqual([403, 'forbidden'])
    expect(refusal(await read(evil, code))).toEqual([403, 'forbidden'])
  })

  it.each(['//evil.example', '/\\evil.example', 'https://evil.example', 'evil', '/a b', '/\n/evil.example', ''])(
    'never leads to another origin: %j',
    async (to) => {
      expect(refusal(await ask(newBrowser(), newAddress(), { to }))).toEqual([400, 'invalid_request'])
    },
  )

  it('leads to the page of the settings, whatever host the request names', async () => {
    const address = newAddress()
    const browser = newBrowser()
    const answer = await market.rest('POST', '/v1/auth/email-link', {
      headers: { ...browser.headers(), 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
      body: { email: address, purpose: 'sign_in', to: '/buyer/keys?sort=name' },
    })
    expect(answer.status).toBe(202)
    const { url } = await linkTo(address)
    expect(url.origin).toBe(PAGE)
    expect(url.pathname).toBe('/sign-in')
    expect(url.searchParams.get('to')).toBe('/buyer/keys?sort=name')
  })

  it('is sent five times at most while five are open', async () => {
    const address = newAddress()
    for (let count = 0; count < 5; count++) expect((await ask(newBrowser(), address)).status).toBe(202)
    expect(refusal(await ask(newBrowser(), address))).toEqual([429, 'rate_limited'])
    const { code } = await linkTo(address, 5)
    expect((await use(newBrowser(), code, { is_confirmed: true })).status).toBe(201)
    expect((await ask(newBrowser(), address)).status).toBe(202)
  })

  it.each([
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com\nBcc: b@example.com',
    'a@example.com, b@example.com',
    'a@example.com>, <b@example.com',
    '"a b"@example.com',
    'a@[127.0.0.1]',
    'a@127.0.0.1',
    'a@localhost',
    'ä@example.com',
    'a..b@example.com',
    'a@exam ple.com',
    '@example.com',
    'a',
    `${'a'.repeat(65)}@example.com`,
  ])('is sent to one plain address, not to %j', async (email) => {
    const links = async () => (await market.plane.db.selectFrom('email_link').select('hash').execute()).length
    const before = await links()
    expect(refusal(await ask(newBrowser(), email))).toEqual([400, 'invalid_request'])
    expect(await links()).toBe(before)
  })

  it('goes to one form of each address', async () => {
    expect(normalizeEmail(' Ada.Lovelace+x@Example.COM ')).toBe('ada.lovelace+x@example.com')
    expect(normalizeEmail('ada@BÜCHER.example')).toBe('ada@xn--bcher-kva.example')
    expect(normalizeEmail('ada@xn--bcher-kva.example')).toBe('ada@xn--bcher-kva.example')
    // A dotless i is another domain, and a full-width letter is the same one (UTS 46).
    expect(normalizeEmail('ada@gıthub.example')).not.toBe(normalizeEmail('ada@github.example'))
    expect(normalizeEmail('ada@ｇithub.example')).toBe('ada@github.example')
    expect(normalizeEmail('ADA@EXAMPLE.COM')).toBe(normalizeEmail('ada@example.com'))
    expect(normalizeEmail('\u212a@example.com')).toBeUndefined()
    const { user } = await signedIn('grace@bücher.example')
    expect((await signedIn('GRACE@xn--BCHER-kva.example')).user).toBe(user)
    expect(server.received('grace@xn--bcher-kva.example')).toHaveLength(2)
  })

  it('has no address, no secret and no name of the account in its subject', async () => {
    const address = newAddress()
    const code = await codeTo(newBrowser(), address)
    const headers = headersOf(await server.mailTo(address))
    expect(headers.get('subject')).toBe('Sign in to localhost:8402')
    expect([...headers.values()].join('\n')).not.toContain(code)
  })

  it('opens no account while sign-ups are off, and still answers alike', async () => {
    const known = newAddress()
    await signedIn(known)
    const staff = market.trpc(await market.managementKey('operator'))
    await staff.feature.put.mutate({ name: 'sign_ups', isOn: false, reason: 'drill' })
    const unknown = newAddress()
    const browser = newBrowser()
    const challenge = { purpose: 'sign_up' }
    const isOff = async () => (await newBrowser().send('POST', '/v1/auth/passkeys/challenge', challenge)).status === 503
    await until('sign-ups are off', 4_000, isOff)
    const code = await codeTo(browser, unknown)
    expect((await use(browser, code)).status).toBe(503)
    expect((await signedIn(known)).user).toMatch(/^usr_/)
    await staff.feature.put.mutate({ name: 'sign_ups', isOn: true, reason: 'drill over' })
    await until('sign-ups are on', 4_000, async () => !(await isOff()))
    expect((await use(browser, code)).status).toBe(201)
  })

  it('is offered only where the market has a mail server', async () => {
    const plain = await startMarket()
    const browser = newPasskeyBrowser(plain, PAGE)
    expect(refusal(await ask(browser, 'ada@example.com'))).toEqual([404, 'not_found'])
    expect(refusal(await use(browser, 'x'))).toEqual([404, 'not_found'])
    const { body } = await plain.graphql(undefined, '{ service { sendsMail } }')
    expect(body).toMatchObject({ data: { service: { sendsMail: false } } })
    await plain.stop()
  })
})

describe('an address of an account', () => {
  const add = (browser: PasskeyBrowser, code: string) => browser.send('POST', '/v1/auth/emails', { code })
  const codeToAdd = (browser: PasskeyBrowser, address: string) => codeTo(browser, address, { purpose: 'add' })
  const WithId = z.object({ id: z.string() })

  it('is added by its link to the account that asked, and to no other', async () => {
    const address = newAddress()
    const { browser, user } = await newPasskeyAccount(market, PAGE)
    const code = await codeToAdd(browser, address)
    const other = await newPasskeyAccount(market, PAGE)
    expect(refusal(await add(other.browser, code))).toEqual(REFUSED)
    expect((await add(newBrowser(), code)).status).toBe(401)
    expect(refusal(await use(other.browser, code, { is_confirmed: true }))).toEqual(REFUSED)
    expect((await add(browser, code)).body).toMatchObject({ email: address })
    expect(refusal(await add(browser, code))).toEqual(REFUSED)
    expect((await signedIn(address)).user).toBe(user)
  })

  it('belongs to one account, and needs a session of the last hour', async () => {
    const address = newAddress()
    await signedIn(address)
    const { browser } = await newPasskeyAccount(market, PAGE)
    const code = await codeToAdd(browser, address)
    expect(refusal(await add(browser, code))).toEqual([409, 'conflict'])
    expect(refusal(await ask(newBrowser(), newAddress(), { purpose: 'add' }))).toEqual([401, 'authentication_required'])
    market.advance(60 * MINUTE + 1)
    expect(refusal(await ask(browser, newAddress(), { purpose: 'add' }))).toEqual([403, 'forbidden'])
  })

  it('is not added by a link that signs in', async () => {
    const { browser } = await newPasskeyAccount(market, PAGE)
    const code = await codeTo(browser, newAddress())
    expect(refusal(await add(browser, code))).toEqual(REFUSED)
  })

  it('is removed while another way remains, and then does not sign in to the account', async () => {
    const address = newAddress()
    const { browser, user } = await newPasskeyAccount(market, PAGE)
    const { id } = WithId.parse((await add(browser, await codeToAdd(browser, address))).body)
    const elsewhere = await signedIn(address)
    const open = newBrowser()
    const code = await codeTo(open, address)
    expect((await browser.send('DELETE', `/v1/auth/emails/${id}`)).status).toBe(200)
    expect((await elsewhere.browser.send('GET', '/v1/auth/session')).status).toBe(401)
    expect(refusal(await use(open, code))).toEqual(REFUSED)
    expect((await signedIn(address)).user).not.toBe(user)
  })

  it('stays as the only way into the account; with it the last passkey may go', async () => {
    const address = newAddress()
    const { browser } = await signedIn(address)
    const Ways = z.object({ emails: z.array(WithId), passkeys: z.array(WithId) })
    const { emails } = Ways.parse((await browser.send('GET', '/v1/auth/ways-in')).body)
    expect(refusal(await browser.send('DELETE', `/v1/auth/emails/${emails[0]?.id}`))).toEqual([409, 'conflict'])
    const account = await newPasskeyAccount(market, PAGE)
    const { passkeys } = Ways.parse((await account.browser.send('GET', '/v1/auth/ways-in')).body)
    const removePasskey = () => account.browser.send('DELETE', `/v1/auth/passkeys/${passkeys[0]?.id}`)
    expect(refusal(await removePasskey())).toEqual([409, 'conflict'])
    await add(account.browser, await codeToAdd(account.browser, newAddress()))
    expect((await removePasskey()).status).toBe(200)
  })
})
