import type { BrowserContext } from 'playwright-core'
import type { TypedDataDefinition } from 'viem'
import { z } from 'zod'

type Signer = {
  readonly address: string
  signMessage(asked: { readonly message: { readonly raw: `0x${string}` } }): Promise<string>
  signTypedData?(typed: TypedDataDefinition): Promise<string>
}

const Typed = z.custom<TypedDataDefinition>((value) => z.object({ domain: z.object({}) }).safeParse(value).success)

/** Adds a wallet to a browser. It announces itself to the page (EIP-6963) and signs through the test. */
export async function openWallet(context: BrowserContext, wallet: Signer): Promise<void> {
  await context.exposeBinding('signWith', (_source, message: string) =>
    wallet.signMessage({ message: { raw: hexOf(message) } }),
  )
  await context.exposeBinding('signTyped', (_source, text: string) =>
    wallet.signTypedData?.(Typed.parse(JSON.parse(text))),
  )
  await context.addInitScript(walletScript(wallet.address))
}

const hexOf = (text: string): `0x${string}` => `0x${text.replace(/^0x/, '')}`

function walletScript(address: string): string {
  return `(() => {
    const provider = {
      request: async ({ method, params }) => {
        if (method === 'eth_requestAccounts') return ['${address}']
        if (method === 'personal_sign') return window.signWith(params[0])
        if (method === 'eth_signTypedData_v4') return window.signTyped(params[1])
        throw new Error('asked for ' + method)
      },
    }
    const detail = Object.freeze({ info: { uuid: 'test', name: 'Test wallet', icon: '', rdns: 'test.wallet' }, provider })
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  })()`
}
