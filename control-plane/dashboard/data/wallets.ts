import { useEffect, useState } from 'react'
import { at } from './answer-of.ts'
import { ask, call } from './client.ts'
import { PageChallengeDocument } from './documents/viewer.ts'

/** A wallet of this browser, as EIP-6963 announces it. */
export type BrowserWallet = {
  readonly info: { readonly uuid: string; readonly name: string }
  readonly provider: { request(call: { method: string; params?: readonly unknown[] }): Promise<unknown> }
}

const MAX_WALLETS = 20
const REJECTED = 4_001

/** The wallet extensions of this browser. Some announce themselves after the page is drawn. */
export function useWallets(): readonly BrowserWallet[] {
  const [wallets, setWallets] = useState<readonly BrowserWallet[]>([])
  useEffect(() => {
    const hear = (event: Event) => {
      const wallet = walletIn(event)
      if (wallet === undefined) return
      setWallets((browserWallets) =>
        browserWallets.some(({ info }) => info.uuid === wallet.info.uuid)
          ? browserWallets
          : [...browserWallets, wallet].slice(0, MAX_WALLETS),
      )
    }
    addEventListener('eip6963:announceProvider', hear)
    dispatchEvent(new Event('eip6963:requestProvider'))
    return () => removeEventListener('eip6963:announceProvider', hear)
  }, [])
  return wallets
}

function walletIn(event: Event): BrowserWallet | undefined {
  const detail: unknown = 'detail' in event ? event.detail : undefined
  return isWallet(detail) ? detail : undefined
}

function isWallet(detail: unknown): detail is BrowserWallet {
  if (typeof detail !== 'object' || detail === null || !('info' in detail) || !('provider' in detail)) return false
  const { info, provider } = detail
  return (
    typeof info === 'object' &&
    info !== null &&
    'uuid' in info &&
    typeof info.uuid === 'string' &&
    'name' in info &&
    typeof info.name === 'string' &&
    typeof provider === 'object' &&
    provider !== null &&
    'request' in provider
  )
}

type Signed = { readonly message: string; readonly signature: string }

/** Has a wallet sign the market's sign-in message, as proof of the wallet. Throws an Error with words for a reader. */
export async function signSignInMessage(wallet: BrowserWallet): Promise<Signed> {
  return signMessage(wallet, async (address) => {
    const { signInChallenge } = await ask(PageChallengeDocument, { address })
    return signInChallenge?.message ?? ''
  })
}

/**
 * Has a wallet sign the message that links it to the account of this browser. Throws as {@link signSignInMessage} does.
 */
export async function signLinkMessage(wallet: BrowserWallet): Promise<Signed> {
  return signMessage(wallet, async (address) => {
    const message = at(await call('GET', `/v1/auth/wallet/challenge?address=${address}`), 'message')
    return typeof message === 'string' ? message : ''
  })
}

async function signMessage(wallet: BrowserWallet, read: (address: string) => Promise<string>): Promise<Signed> {
  return withAccount(wallet, async (address) => {
    const message = await read(address)
    return { message, signature: await signBy(wallet, 'personal_sign', [hexOf(message), address]) }
  })
}

/**
 * Has a wallet sign what the market makes for its account, in the form of EIP-712. Throws as {@link signSignInMessage}
 * does.
 */
export async function signTypedData<Made extends { readonly typedData: string }>(
  wallet: BrowserWallet,
  make: (address: string) => Promise<Made>,
): Promise<Made & { readonly signature: string }> {
  return withAccount(wallet, async (address) => {
    const made = await make(address)
    const data = withDomainType(made.typedData)
    return { ...made, signature: await signBy(wallet, 'eth_signTypedData_v4', [address, data]) }
  })
}

async function withAccount<Result>({ provider, info }: BrowserWallet, run: (address: string) => Promise<Result>) {
  try {
    const accounts = await provider.request({ method: 'eth_requestAccounts' })
    const address: unknown = Array.isArray(accounts) ? accounts[0] : undefined
    if (typeof address !== 'string') throw new Error(`${info.name} returned no account.`)
    return await run(address)
  } catch (thrown) {
    throw sayWhy(thrown, info.name)
  }
}

async function signBy({ provider, info }: BrowserWallet, method: string, params: readonly unknown[]): Promise<string> {
  const signature = await provider.request({ method, params })
  if (typeof signature !== 'string') throw new Error(`${info.name} returned no signature.`)
  return signature
}

const DOMAIN_TYPES = {
  name: 'string',
  version: 'string',
  chainId: 'uint256',
  verifyingContract: 'address',
} as const

/**
 * Wallets read the type of the domain from the types. The market's text leaves this type out, because it follows from
 * the domain.
 */
function withDomainType(text: string): string {
  const typed: unknown = JSON.parse(text)
  if (!isTyped(typed)) return text
  const members = Object.entries(DOMAIN_TYPES).filter(([name]) => name in typed.domain)
  const domain = members.map(([name, type]) => ({ name, type }))
  return JSON.stringify({ ...typed, types: { EIP712Domain: domain, ...typed.types } })
}

function isTyped(value: unknown): value is { readonly domain: object; readonly types: object } {
  if (typeof value !== 'object' || value === null || !('domain' in value) || !('types' in value)) return false
  return typeof value.domain === 'object' && value.domain !== null && typeof value.types === 'object'
}

function sayWhy(thrown: unknown, name: string): Error {
  const code = typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined
  if (code === REJECTED) return new Error(`You did not sign in ${name}. Nothing has changed.`)
  return thrown instanceof Error ? thrown : new Error(`${name} did not sign.`)
}

function hexOf(text: string): string {
  const digits = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0'))
  return `0x${digits.join('')}`
}
