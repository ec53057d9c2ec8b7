import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage, parseSiweMessage } from 'viem/siwe'
import { z } from 'zod'
import type { Answer, TestMarket } from './control-plane.ts'

/** A wallet that signs messages like the market's clients. */
export type TestWallet = ReturnType<typeof newWallet>
export type MessageFields = Parameters<typeof createSiweMessage>[0]

export function newWallet() {
  return privateKeyToAccount(generatePrivateKey())
}

const Challenge = z.object({ message: z.string(), nonce: z.string(), expires_at: z.number() })
type Market = Pick<TestMarket, 'rest'>

export async function challengeOf(market: Market, wallet: TestWallet, side = 'seller/auth') {
  return Challenge.parse((await market.rest('GET', `/v1/${side}/challenge?address=${wallet.address}`)).body)
}

/** A new challenge with some fields or its text changed, and the wallet's signature of the changed text. */
export async function signedChallenge(
  market: Market,
  wallet: TestWallet,
  change: Partial<MessageFields> | ((message: string) => string) = {},
): Promise<{ message: string; signature: string }> {
  const { message } = await challengeOf(market, wallet)
  const changed =
    typeof change === 'function'
      ? change(message)
      : createSiweMessage({ ...(parseSiweMessage(message) as MessageFields), ...change })
  return { message: changed, signature: await wallet.signMessage({ message: changed }) }
}

/** A browser that is signed in. */
type SignedInBrowser = {
  readonly send: (method: 'GET' | 'POST', path: string) => Promise<{ readonly body: unknown }>
}

/** The message that links a wallet to the account of a browser, with the wallet's signature. */
export async function signedLink(
  browser: SignedInBrowser,
  wallet: TestWallet,
): Promise<{ message: string; signature: string }> {
  const answer = await browser.send('GET', `/v1/auth/wallet/challenge?address=${wallet.address}`)
  const { message } = Challenge.parse(answer.body)
  return { message, signature: await wallet.signMessage({ message }) }
}

export const NewKey = z.object({ id: z.string(), key: z.string(), wallet: z.string() }).loose()

/** Creates a key of a side for a wallet. */
export async function signInForKey(market: Market, wallet: TestWallet, side: 'buyer' | 'seller') {
  const signed = await signedChallenge(market, wallet)
  return NewKey.parse((await market.rest('POST', `/v1/${side}/auth/keys`, { body: signed })).body)
}

/** The headers that a browser sends with each request after signing in. */
export async function signInForSession(market: Market, wallet: TestWallet): Promise<Record<string, string>> {
  const body = await signedChallenge(market, wallet)
  return sessionHeaders(await market.rest('POST', '/v1/auth/session', { body }))
}

export const OUR_ORIGIN = 'http://127.0.0.1:8402'

/** The headers with which a browser sends the cookie of an answer back, from a page of the market. */
export function sessionHeaders(answer: Answer): Record<string, string> {
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  return { cookie, origin: OUR_ORIGIN, 'graphql-require-preflight': '1' }
}
