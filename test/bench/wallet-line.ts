import { z } from 'zod'
import { typedOf } from '#test/support/books/deposits.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { signInForKey } from '#test/support/doors/wallet.ts'
import type { Network } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const ALLOWED_USD = '100'
const OWN_MICRO = 100_000_000n
const OPENED_MS = 30_000

type Stage = { readonly chain: OwnChain; readonly network: Network }
type Rest = Parameters<typeof signInForKey>[0]['rest']

const Opened = z.object({ typed_data: z.unknown() })
const Permit = z.object({ value: z.string(), deadline: z.string() })

/** Sends a request to the market's REST API, with a key where one is given. */
function restOf({ network }: Stage, key?: string): Rest {
  return async (method, path, { body } = {}) => {
    const answer = await fetch(network.sandbox.api_base_url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) as unknown }
  }
}

/**
 * Creates a key whose account pays from its wallet by a permit. The wallet has no ETH. `isServed` says whether a call
 * by the key is served, which it is once credit was advanced.
 */
export async function openLine(stage: Stage, isServed: (key: string) => Promise<boolean>): Promise<string> {
  const { account } = await stage.chain.newWallet({ usdc: OWN_MICRO })
  const { key } = await signInForKey({ rest: restOf(stage) }, account, 'buyer')
  const rest = restOf(stage, key)
  const opened = await rest('POST', '/v1/buyer/allowance', { body: { amount_usd: ALLOWED_USD } })
  const typed = typedOf(JSON.stringify(Opened.parse(opened.body).typed_data))
  const { value, deadline } = Permit.parse(typed.message)
  const signature = await account.signTypedData(typed)
  const body = { value, deadline: Number(deadline), signature }
  const signed = await rest('POST', '/v1/buyer/allowance/signature', { body })
  if (signed.status >= 300) throw new Error(`the permit was answered ${signed.status}: ${JSON.stringify(signed.body)}`)
  await until('credit is advanced', OPENED_MS, () => isServed(key))
  return key
}
