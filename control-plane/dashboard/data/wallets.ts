import { useEffect, useState } from 'react'

/** A wallet of this browser, as EIP-6963 announces it. */
export type FoundWallet = {
  readonly info: { readonly uuid: string; readonly name: string }
  readonly provider: { request(asked: { method: string; params?: readonly unknown[] }): Promise<unknown> }
}

const MAX_WALLETS = 20
const REJECTED = 4_001

/** The wallets that have announced themselves, early or late. */
export function useWallets(): readonly FoundWallet[] {
  const [wallets, setWallets] = useState<readonly FoundWallet[]>([])
  useEffect(() => {
    const hear = (event: Event) => {
      const found = walletIn(event)
      if (found === undefined) return
      setWallets((known) =>
        known.some(({ info }) => info.uuid === found.info.uuid) ? known : [...known, found].slice(0, MAX_WALLETS),
      )
    }
    addEventListener('eip6963:announceProvider', hear)
    dispatchEvent(new Event('eip6963:requestProvider'))
    return () => removeEventListener('eip6963:announceProvider', hear)
  }, [])
  return wallets
}

function walletIn(event: Event): FoundWallet | undefined {
  const detail: unknown = 'detail' in event ? event.detail : undefined
  return isWallet(detail) ? detail : undefined
}

function isWallet(detail: unknown): detail is FoundWallet {
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

/** Has a wallet sign the market's message. Throws an Error that a reader understands. */
export async function signMessage(
  { provider, info }: FoundWallet,
  challenge: (address: string) => Promise<string>,
): Promise<{ readonly message: string; readonly signature: string }> {
  try {
    const accounts = await provider.request({ method: 'eth_requestAccounts' })
    const address: unknown = Array.isArray(accounts) ? accounts[0] : undefined
    if (typeof address !== 'string') throw new Error(`${info.name} named no account.`)
    const message = await challenge(address)
    const signature = await provider.request({ method: 'personal_sign', params: [hexOf(message), address] })
    if (typeof signature !== 'string') throw new Error(`${info.name} signed nothing.`)
    return { message, signature }
  } catch (thrown) {
    throw sayWhy(thrown, info.name)
  }
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
