import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { updatePasskeyUsed } from '#control-plane/db/passkeys.ts'
import { deleteExpiredSignIns, deleteSession, insertSession } from '#control-plane/db/sessions.ts'
import { lockUser, openUser } from '#control-plane/db/users.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { newUser } from '#control-plane/services/users/new-user.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import { isId } from '#shared/ids.ts'
import type { Twist } from '#test/support/doors/authenticator.ts'
import { newAuthenticator } from '#test/support/doors/authenticator.ts'
import type { Answer, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, operator, startMarket } from '#test/support/doors/control-plane.ts'
import { newPasskeyAccount, signUpWith } from '#test/support/doors/passkey-account.ts'
import type { PasskeyBrowser } from '#test/support/doors/passkey-browser.ts'
import { newPasskeyBrowser, PasskeyAsked } from '#test/support/doors/passkey-browser.ts'
import { newWallet, signedChallenge, signedLink, signInForSession } from '#test/support/doors/wallet.ts'
import { until } from '#test/support/run/until.ts'

const PAGE = 'http://localhost:8402'
let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

type Browser = PasskeyBrowser
type Authenticator = ReturnType<typeof newAuthenticator>

const newBrowser = (of = market) => newPasskeyBrowser(of, PAGE)

async function signIn(browser: Browser, authenticator: Authenticator, user: string, twist: Twist = {}) {
  const asked = await browser.challenge('sign_in')
  const body = authenticator.assert({ ...asked, user }, twist)
  return { body, answer: await browser.send('POST', '/v1/auth/passkey-session', body) }
}

const newAccount = () => newPasskeyAccount(market, PAGE)

const refusal = (answer: Answer) => [answer.status, codeOf(answer)]
const REFUSED = [401, 'invalid_signature']
const WAIT_MS = 10_000

/**
 * Keeps the rows of `hold` locked until a call waits for them, and runs `then` in the same transaction. Returns the
 * call's answer.
 */
async function whileWaiting(hold: (trx: Trx) => Promise<unknown>, call: () => Promise<Answer>, then: typeof hold) {
  const { called } = await transact(market.plane.db, async (trx) => {
    await hold(trx)
    const called = call()
    await untilWaiting(1)
    await then(trx)
    return { called }
  })
  return called
}

/** Returns once this many calls wait for a lock. */
const untilWaiting = (count: number) =>
  until('the calls wait', WAIT_MS, async () => {
    const { rows } = await sql`select from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`.execute(market.plane.db)
    return rows.length === count
  })

/** The ids of a user and of its session. */
async function idsOf(browser: Browser) {
  const { user, id } = z
    .object({ user: z.string(), id: z.string() })
    .parse((await browser.send('GET', '/v1/auth/session')).body)
  if (!isId('usr', user) || !isId('ses', id)) throw new Error('there is no session')
  return { user, id }
}

describe('an account with a passkey', () => {
  it('is opened, signed in to, and buys, all without a wallet', async () => {
    const { browser, authenticator, user } = await newAccount()
    expect((await browser.send('GET', '/v1/auth/session')).body).toMatchObject({ user, wallet: null })
    const me = await browser.send('GET', '/v1/buyer/me')
    expect(me.body).toMatchObject({ wallet: null, credit_balance_usdc: '0' })
    const headers = { ...browser.headers(), 'idempotency-key': 'first' }
    const made = await market.rest('POST', '/v1/buyer/keys', { headers, body: { label: 'first' } })
    const { key } = z.object({ key: z.string() }).parse(made.body)
    const query = '{ viewer { kind user wallet } waysIn { wallet passkeys { label } recoveryCodeAt } }'
    expect((await browser.send('POST', '/graphql', { query })).body).toEqual({
      data: {
        viewer: { kind: 'session', user, wallet: null },
        waysIn: { wallet: null, passkeys: [{ label: 'First passkey' }], recoveryCodeAt: null },
      },
    })
    const { account } = await market.plane.db
      .selectFrom('app_user')
      .select('buyer_account as account')
      .where(sql<boolean>`id = ${user}`)
      .executeTakeFirstOrThrow()
    const grant = { account, amountUsd: 5, ticket: `passkey-${user}`, note: 'test' }
    await invoke(market.plane, operator, grantCredit, grant)
    expect((await market.rest('GET', '/v1/buyer/me', { key })).body).toMatchObject({ credit_balance_usdc: '5000000' })
    const other = newBrowser()
    const { answer } = await signIn(other, authenticator, user)
    expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ wallet: null })])
    expect(answer.text).not.toContain(other.cookies.get('mkt_session'))
    expect((await other.send('GET', '/v1/auth/session')).body).toMatchObject({ user })
  })

  it('asks for a wallet where one is needed, and gets it by a signed message', async () => {
    const { browser, user } = await newAccount()
    const wallet = newWallet()
    const hook = { url: `${market.provider.url}/hook`, events: ['payout.address_changed'] }
    expect((await browser.send('POST', '/v1/buyer/webhooks', hook)).status).toBe(201)
    const linked = await browser.send('POST', '/v1/auth/wallet', await signedLink(browser, wallet))
    expect([linked.status, linked.body]).toEqual([200, { user, wallet: wallet.address.toLowerCase() }])
    const told = await market.plane.db.selectFrom('webhook_delivery').select('body').execute()
    expect(told.map(({ body }) => JSON.parse(body))).toEqual([
      expect.objectContaining({
        data: expect.objectContaining({ offer_id: null, from: null, to: wallet.address.toLowerCase() }),
      }),
    ])
    const byWallet = await signInForSession(market, wallet)
    expect((await market.rest('GET', '/v1/auth/session', { headers: byWallet })).body).toMatchObject({ user })
    const again = await browser.send('POST', '/v1/auth/wallet', await signedLink(browser, newWallet()))
    expect(refusal(again)).toEqual([409, 'conflict'])
    const taken = newWallet()
    await signInForSession(market, taken)
    const second = await newAccount()
    const refused = await second.browser.send('POST', '/v1/auth/wallet', await signedLink(second.browser, taken))
    expect(refusal(refused)).toEqual([409, 'conflict'])
  })

  it('links a wallet by a message that names the account and does not sign in', async () => {
    const [{ browser, user }, stranger] = [await newAccount(), await newAccount()]
    const wallet = newWallet()
    const signed = await signedLink(browser, wallet)
    expect(signed.message).toContain(`for good to account ${user}`)
    const attempts = [
      () => browser.send('POST', '/v1/auth/wallet', signed),
      // Each attempt uses up its nonce.
      async () => stranger.browser.send('POST', '/v1/auth/wallet', await signedLink(browser, wallet)),
      async () => browser.send('POST', '/v1/auth/session', await signedLink(browser, wallet)),
      async () => browser.send('POST', '/v1/auth/wallet', await signedChallenge(market, wallet)),
      async () => {
        const { message } = await signedLink(browser, wallet)
        const text = message.replace(/Link this wallet[^\n]*/, 'Sign in to the inference marketplace.')
        return browser.send('POST', '/v1/auth/wallet', {
          message: text,
          signature: await wallet.signMessage({ message: text }),
        })
      },
    ] as const
    const [link, ...forged] = attempts
    for (const attempt of forged) expect(refusal(await attempt())).toEqual([401, 'invalid_signature'])
    expect((await newBrowser().send('GET', `/v1/auth/wallet/challenge?address=${wallet.address}`)).status).toBe(401)
    expect((await link()).status).toBe(200)
  })

  it('cannot link a wallet that gets an account of its own at the same moment', async () => {
    const { browser } = await newAccount()
    const wallet = newWallet()
    const signed = await signedLink(browser, wallet)
    const rival = newUser(market.plane, wallet.address.toLowerCase())
    const answer = await whileWaiting(
      (trx) => openUser(trx, rival, market.plane.clock.now()),
      () => browser.send('POST', '/v1/auth/wallet', signed),
      async () => undefined,
    )
    expect(refusal(answer)).toEqual([409, 'conflict'])
  })
})

describe('a proof of a passkey', () => {
  it('is refused for another origin, relying party or type, and without the user', async () => {
    const { authenticator, user } = await newAccount()
    const twists: Twist[] = [
      { origin: 'https://evil.example' },
      { origin: 'http://localhost:9999' },
      { origin: 'http://127.0.0.1:8402' },
      { rpId: 'evil.example' },
      { flags: 1 },
      { flags: 4 },
      { type: 'webauthn.create' },
    ]
    for (const twist of twists) {
      const { answer } = await signIn(newBrowser(), authenticator, user, twist)
      expect(refusal(answer), JSON.stringify(twist)).toEqual(REFUSED)
      expect(answer.headers.getSetCookie().join()).not.toContain('mkt_session')
    }
    for (const twist of [
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { flags: 65 },
      { type: 'webauthn.get' },
      { format: 'android-key' },
      { format: 'tpm' },
      { keyBytes: 2_100 },
    ]) {
      const { answer } = await signUpWith(newBrowser(), newAuthenticator(PAGE), twist)
      expect(refusal(answer), JSON.stringify(twist)).toEqual(REFUSED)
    }
  })

  it('works once, within five minutes, and in the browser with the challenge', async () => {
    const authenticator = newAuthenticator(PAGE)
    // A passkey that is synced between devices has no counter, so only the challenge keeps a proof from working twice.
    const { user } = await signUpWith(newBrowser(), authenticator, { counter: 0 })
    const browser = newBrowser()
    const { body, answer } = await signIn(browser, authenticator, user, { counter: 0 })
    expect(answer.status).toBe(201)
    expect(refusal(await browser.send('POST', '/v1/auth/passkey-session', body))).toEqual(REFUSED)
    // A worker whose clock is a minute ahead deletes expired rows.
    await deleteExpiredSignIns(market.plane.db, market.plane.clock.now() + 6 * MINUTE)
    expect(refusal(await browser.send('POST', '/v1/auth/passkey-session', body))).toEqual(REFUSED)

    const asked = await browser.challenge('sign_in')
    const thief = newBrowser()
    await thief.challenge('sign_in')
    const stolen = authenticator.assert({ ...asked, user })
    expect(refusal(await thief.send('POST', '/v1/auth/passkey-session', stolen))).toEqual(REFUSED)
    expect(refusal(await newBrowser().send('POST', '/v1/auth/passkey-session', stolen))).toEqual(REFUSED)
    const headers = { ...browser.headers(), origin: 'https://evil.example' }
    const cross = await market.rest('POST', '/v1/auth/passkey-session', { headers, body: stolen })
    expect(refusal(cross)).toEqual([403, 'forbidden'])
    expect((await browser.send('POST', '/v1/auth/passkey-session', stolen)).status).toBe(201)

    const late = authenticator.assert({ ...(await browser.challenge('sign_in')), user })
    market.advance(5 * MINUTE + SECOND)
    expect(refusal(await browser.send('POST', '/v1/auth/passkey-session', late))).toEqual(REFUSED)
  })

  it('answers only a challenge for its own use and user', async () => {
    const { browser, authenticator, user } = await newAccount()
    const forSignUp = await browser.challenge('sign_up')
    const asSignIn = authenticator.assert({ ...forSignUp, user })
    expect(refusal(await browser.send('POST', '/v1/auth/passkey-session', asSignIn))).toEqual(REFUSED)
    const other = newAuthenticator(PAGE)
    const added = other.register(await browser.challenge('sign_up'))
    expect(refusal(await browser.send('POST', '/v1/auth/passkeys', added))).toEqual(REFUSED)
    const forged = { ...other.register(await browser.challenge('sign_up')), user }
    expect(refusal(await browser.send('POST', '/v1/auth/passkey-account', forged))).toEqual(REFUSED)
    const { browser: victim } = await newAccount()
    const ofVictim = other.register(await victim.challenge('add'))
    expect(refusal(await browser.send('POST', '/v1/auth/passkeys', ofVictim))).toEqual(REFUSED)
    const asked = await newBrowser().send('POST', '/v1/auth/passkeys/challenge', { purpose: 'add' })
    expect(refusal(asked)).toEqual([401, 'authentication_required'])
  })

  it('is refused when its counter goes back or stays, and does not reveal its owner', async () => {
    const { authenticator, user } = await newAccount()
    expect((await signIn(newBrowser(), authenticator, user, { counter: 50 })).answer.status).toBe(201)
    for (const counter of [50, 49, 0]) {
      expect(refusal((await signIn(newBrowser(), authenticator, user, { counter })).answer)).toEqual(REFUSED)
    }
    expect((await signIn(newBrowser(), authenticator, user, { counter: 51 })).answer.status).toBe(201)
    const unknown = await signIn(newBrowser(), newAuthenticator(PAGE), user)
    const otherUser = await signIn(newBrowser(), authenticator, 'usr_another', { counter: 60 })
    const wrong = newBrowser()
    const proof = authenticator.assert({ ...(await wrong.challenge('sign_in')), user }, { counter: 70 })
    const signature = newAuthenticator(PAGE).assert({ ...(await wrong.challenge('sign_in')), user }).signature
    const badlySigned = await wrong.send('POST', '/v1/auth/passkey-session', { ...proof, signature })
    const said = [unknown.answer, otherUser.answer, badlySigned].map((answer) => answer.body)
    const message = 'The passkey was not accepted.'
    for (const body of said) expect(body).toMatchObject({ error: { code: 'invalid_signature', message } })
  })

  it('with the same counter opens one session, however many requests compete', async () => {
    const { authenticator, user } = await newAccount()
    const rivals = await Promise.all(
      [newBrowser(), newBrowser(), newBrowser()].map(async (browser) => ({
        browser,
        proof: authenticator.assert({ ...(await browser.challenge('sign_in')), user }, { counter: 9 }),
      })),
    )
    const answers = await Promise.all(
      rivals.map(({ browser, proof }) => browser.send('POST', '/v1/auth/passkey-session', proof)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401])
  })
})

describe('the ways into an account', () => {
  const Ways = z.object({ passkeys: z.array(z.object({ id: z.string(), label: z.string() })) }).loose()
  const waysOf = async (browser: Browser) => Ways.parse((await browser.send('GET', '/v1/auth/ways-in')).body)

  it('are passkeys that can be added and removed, except the last one', async () => {
    const { browser, authenticator, user } = await newAccount()
    const [first] = (await waysOf(browser)).passkeys
    const remove = (id = '') => browser.send('DELETE', `/v1/auth/passkeys/${id}`)
    expect(refusal(await remove(first?.id))).toEqual([409, 'conflict'])
    const second = newAuthenticator(PAGE)
    const asked = await browser.challenge('add')
    expect(asked).toMatchObject({ user, exclude: [authenticator.credentialId] })
    const added = await browser.send('POST', '/v1/auth/passkeys', { ...second.register(asked), label: 'Phone' })
    expect([added.status, added.body]).toEqual([201, expect.objectContaining({ label: 'Phone' })])
    const known = second.register(await browser.challenge('add'))
    expect(refusal(await browser.send('POST', '/v1/auth/passkeys', known))).toEqual([409, 'conflict'])
    const elsewhere = newBrowser()
    expect((await signIn(elsewhere, second, user)).answer.status).toBe(201)
    const stranger = await newAccount()
    const theirs = await stranger.browser.send('DELETE', `/v1/auth/passkeys/${first?.id}`)
    expect(refusal(theirs)).toEqual([404, 'not_found'])
    expect((await remove(first?.id)).status).toBe(200)
    expect((await elsewhere.send('GET', '/v1/auth/session')).status).toBe(401)
    expect(refusal((await signIn(newBrowser(), authenticator, user)).answer)).toEqual(REFUSED)
    const [last] = (await waysOf(browser)).passkeys
    expect(refusal(await remove(last?.id))).toEqual([409, 'conflict'])
    await browser.send('POST', '/v1/auth/recovery-code')
    expect(refusal(await remove(last?.id))).toEqual([409, 'conflict'])
    expect((await browser.send('POST', '/v1/auth/wallet', await signedLink(browser, newWallet()))).status).toBe(200)
    expect((await remove(last?.id)).status).toBe(200)
  })

  it('keep one passkey when two are removed at once', async () => {
    const { browser } = await newAccount()
    const asked = await browser.challenge('add')
    await browser.send('POST', '/v1/auth/passkeys', newAuthenticator(PAGE).register(asked))
    const { passkeys } = await waysOf(browser)
    const answers = await Promise.all(passkeys.map(({ id }) => browser.send('DELETE', `/v1/auth/passkeys/${id}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  it('are not changed by a session that ends meanwhile', async () => {
    const { browser, authenticator, user } = await newAccount()
    const thief = newBrowser()
    await signIn(thief, authenticator, user)
    const proof = newAuthenticator(PAGE).register(await thief.challenge('add'))
    const signed = await signedLink(thief, newWallet())
    const held = await idsOf(thief)
    const changes = [
      () => thief.send('POST', '/v1/auth/passkeys', proof),
      () => thief.send('POST', '/v1/auth/recovery-code'),
      () => thief.send('POST', '/v1/auth/wallet', signed),
    ]
    const answers = await transact(market.plane.db, async (trx) => {
      await lockUser(trx, held.user)
      const called = changes.map((change) => change())
      await untilWaiting(changes.length)
      await deleteSession(trx, held.user, held.id)
      return { called }
    })
    expect((await Promise.all(answers.called)).map(refusal)).toEqual(changes.map(() => [401, 'invalid_session']))
    const ways = { wallet: null, recovery_code_at: null }
    expect((await browser.send('GET', '/v1/auth/ways-in')).body).toMatchObject(ways)
    expect((await waysOf(browser)).passkeys).toHaveLength(1)
  })

  it('are removed during a sign-in with one of them, and its session ends, too', async () => {
    const { browser } = await newAccount()
    const { user } = await idsOf(browser)
    await browser.send('POST', '/v1/auth/passkeys', newAuthenticator(PAGE).register(await browser.challenge('add')))
    const [first] = (await waysOf(browser)).passkeys
    const passkey = first?.id ?? ''
    if (!isId('psk', passkey)) throw new Error('there is no passkey')
    const createdAt = market.plane.clock.now()
    const id = market.plane.ids.make('ses')
    const session = { id, user, hash: 'a'.repeat(64), createdAt, expiresAt: createdAt + HOUR }
    const answer = await whileWaiting(
      (trx) => updatePasskeyUsed(trx, passkey, 99n, createdAt),
      () => browser.send('DELETE', `/v1/auth/passkeys/${passkey}`),
      (trx) => insertSession(trx, session),
    )
    expect(answer.status).toBe(200)
    const open = await market.plane.db.selectFrom('web_session').select('id').where('user_id', '=', user).execute()
    expect(open).not.toContainEqual({ id })
  })

  it('are added to an account of a wallet', async () => {
    const wallet = newWallet()
    const { cookie = '' } = await signInForSession(market, wallet)
    const browser = newBrowser()
    const [name = '', token = ''] = cookie.split('=')
    browser.cookies.set(name, token)
    const passkey = newAuthenticator(PAGE)
    const asked = await browser.challenge('add')
    expect((await browser.send('POST', '/v1/auth/passkeys', passkey.register(asked))).status).toBe(201)
    const { answer } = await signIn(newBrowser(), passkey, asked.user ?? '')
    expect(answer.body).toMatchObject({ wallet: wallet.address.toLowerCase() })
  })

  it('can be changed only within an hour of a sign-in', async () => {
    const { browser } = await newAccount()
    const { passkeys } = await waysOf(browser)
    market.advance(HOUR + SECOND)
    const passkey = newAuthenticator(PAGE).register(await browser.challenge('add'))
    const answers = [
      await browser.send('POST', '/v1/auth/passkeys', passkey),
      await browser.send('DELETE', `/v1/auth/passkeys/${passkeys[0]?.id}`),
      await browser.send('POST', '/v1/auth/recovery-code'),
      await browser.send('POST', '/v1/auth/wallet', await signedLink(browser, newWallet())),
    ]
    expect(answers.map(refusal)).toEqual(answers.map(() => [403, 'forbidden']))
    expect((await browser.send('GET', '/v1/buyer/me')).status).toBe(200)
  })

  it('are at most ten passkeys', async () => {
    const { browser } = await newAccount()
    const add = async () =>
      browser.send('POST', '/v1/auth/passkeys', newAuthenticator(PAGE).register(await browser.challenge('add')))
    for (let count = 1; count < 10; count++) expect((await add()).status).toBe(201)
    expect(refusal(await add())).toEqual([409, 'conflict'])
  })
})

describe('the relying party', () => {
  it('is the host name of the page, and never an IP address', async () => {
    const names: readonly (readonly [string, string | null])[] = [
      ['https://market.example', 'market.example'],
      ['http://127.0.0.1:8402', 'localhost'],
      ['http://192.0.2.7:8402', null],
    ]
    for (const [BASE_URL, rpId] of names) {
      const one = await startMarket({ environment: { BASE_URL } })
      const answer = await one.rest('POST', '/v1/auth/passkeys/challenge', { body: { purpose: 'sign_in' } })
      const told = rpId === null ? [409, 'conflict'] : [200, undefined]
      expect([answer.status, rpId === null ? codeOf(answer) : undefined]).toEqual(told)
      if (rpId !== null) expect(PasskeyAsked.parse(answer.body).rp_id).toBe(rpId)
      await one.stop()
    }
  })
})
