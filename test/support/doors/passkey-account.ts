import { expect } from 'vitest'
import type { Twist } from './authenticator.ts'
import { newAuthenticator } from './authenticator.ts'
import type { PasskeyBrowser } from './passkey-browser.ts'
import { newPasskeyBrowser } from './passkey-browser.ts'

/** Opens an account with a passkey. */
export async function signUpWith(
  browser: PasskeyBrowser,
  authenticator: ReturnType<typeof newAuthenticator>,
  twist: Twist = {},
) {
  const asked = await browser.challenge('sign_up')
  const user = asked.user ?? ''
  const body = { ...authenticator.register(asked, twist), user }
  return { user, answer: await browser.send('POST', '/v1/auth/passkey-account', body) }
}

/** A browser on a page of a market, signed in to a new account with one passkey. */
export async function newPasskeyAccount(market: Parameters<typeof newPasskeyBrowser>[0], page: string) {
  const browser = newPasskeyBrowser(market, page)
  const authenticator = newAuthenticator(page)
  const { user, answer } = await signUpWith(browser, authenticator)
  expect(answer.status).toBe(201)
  return { browser, authenticator, user }
}
