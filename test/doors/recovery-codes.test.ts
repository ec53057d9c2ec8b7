import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newAuthenticator } from '#test/support/doors/authenticator.ts'
import type { Answer, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { newPasskeyAccount } from '#test/support/doors/passkey-account.ts'
import { newPasskeyBrowser } from '#test/support/doors/passkey-browser.ts'

const PAGE = 'http://localhost:8402'
let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

const refusal = (answer: Answer) => [answer.status, codeOf(answer)]
const REFUSED = [401, 'invalid_signature']

describe('a recovery code', () => {
  const Code = z.object({ code: z.string() })

  it('signs in once, and is replaced by a new one', async () => {
    const { browser, user } = await newPasskeyAccount(market, PAGE)
    const { code: former } = Code.parse((await browser.send('POST', '/v1/auth/recovery-code')).body)
    const made = await browser.send('POST', '/v1/auth/recovery-code')
    const { code } = Code.parse(made.body)
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$/)
    const stored = await market.plane.db.selectFrom('recovery_code').selectAll().execute()
    expect(JSON.stringify(stored)).not.toContain(code.replaceAll('-', ''))
    const finder = newPasskeyBrowser(market, PAGE)
    const redeem = (text: string) => finder.send('POST', '/v1/auth/recovery-session', { code: text })
    expect(refusal(await redeem(former))).toEqual(REFUSED)
    const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`
    const answer = await redeem(typed)
    expect(answer.status).toBe(201)
    const { recovery_code: next } = z.object({ recovery_code: z.string() }).parse(answer.body)
    expect((await finder.send('GET', '/v1/auth/session')).body).toMatchObject({ user })
    expect(refusal(await redeem(code))).toEqual(REFUSED)
    expect(
      (await newPasskeyBrowser(market, PAGE).send('POST', '/v1/auth/recovery-session', { code: next })).status,
    ).toBe(201)
    const added = newAuthenticator(PAGE).register(await finder.challenge('add'))
    expect((await finder.send('POST', '/v1/auth/passkeys', added)).status).toBe(201)
  })

  it('signs in one of several competing requests', async () => {
    const { browser } = await newPasskeyAccount(market, PAGE)
    const { code } = Code.parse((await browser.send('POST', '/v1/auth/recovery-code')).body)
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        newPasskeyBrowser(market, PAGE).send('POST', '/v1/auth/recovery-session', { code }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401])
  })

  it('can be guessed only at a limited rate, in whatever form the guesses come', async () => {
    const wide = { perKey: 1_000, perWallet: null }
    const rateLimits = { read: wide, probe: wide, challenge: wide, write: { perKey: 3, perWallet: null } }
    const strict = await startMarket({ overrides: { settings: { rateLimits } } })
    const guess = (code: string) => strict.rest('POST', '/v1/auth/recovery-session', { body: { code } })
    const codes = ['x', '0'.repeat(25), '00000-00000-00000-00000-00001', '1'.repeat(25), '2'.repeat(25)]
    const said: (string | undefined)[] = []
    for (const code of codes) said.push(codeOf(await guess(code)))
    expect(said.slice(0, 3)).toEqual(Array(3).fill('invalid_signature'))
    expect(said).toContain('rate_limited')
    await strict.stop()
  })
})
