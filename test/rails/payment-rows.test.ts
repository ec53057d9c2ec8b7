import { request } from 'node:http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { authorizationTypes } from '@x402/evm'
import { createWalletClient, http, parseAbi } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { BASE_USDC } from '#shared/chain-terms.ts'
import type { ChainWallet, TestChain } from '#test/support/chain/chain.ts'
import { CHAIN, chainOf } from '#test/support/chain/chain.ts'
import { inHeader, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

let chain: TestChain
let network: Network
beforeAll(async () => {
  chain = await chainOf()
  network = await sharedNetwork()
})

const CHAT = '/v1/chat/completions'
const RICH = { usdc: 1_000_000n, eth: 10n ** 16n }
const bodyOf = (more: object = {}) =>
  JSON.stringify({ model: 'gpt-5-mini', max_tokens: 60, messages: [{ role: 'user', content: 'Say hello.' }], ...more })

function ask(body: string, headers: Record<string, string> = {}): Promise<Response> {
  const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
  return fetch(network.sandbox.base_url + CHAT, asked)
}

const demandFor = async (body: string): Promise<PaymentRequired> => (await ask(body)).json()
const signed = async (wallet: ChainWallet, scheme: 'exact' | 'upto', body = bodyOf()): Promise<PaymentPayload> =>
  signPayment(stockClient(chain, wallet, scheme), await demandFor(body))

const Refusal = z.object({ error: z.string() })
async function refusalOf(answer: Response) {
  return [answer.status, Refusal.parse(await answer.json()).error]
}

const TOKEN = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])
const Exact = z.object({
  signature: z.templateLiteral(['0x', z.string()]),
  authorization: z.object({
    from: z.templateLiteral(['0x', z.string()]),
    to: z.templateLiteral(['0x', z.string()]),
    value: z.coerce.bigint(),
    validAfter: z.coerce.bigint(),
    validBefore: z.coerce.bigint(),
    nonce: z.templateLiteral(['0x', z.string()]),
  }),
})

describe('a payment', () => {
  it('whose nonce is used on the chain is refused, and no call is served', async () => {
    const wallet = await chain.newWallet(RICH)
    const payment = await signed(wallet, 'exact')
    const { signature, authorization } = Exact.parse(payment.payload)
    const { from, to, value, validAfter, validBefore, nonce } = authorization
    const client = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account: wallet.account })
    const hash = await client.writeContract({
      address: CONTRACTS.LocalUsdc,
      abi: TOKEN,
      functionName: 'transferWithAuthorization',
      args: [from, to, value, validAfter, validBefore, nonce, signature],
    })
    await chain.publicClient.waitForTransactionReceipt({ hash })
    const answer = await ask(bodyOf(), inHeader(payment))
    expect([answer.status, (await refusalOf(answer))[1]]).toEqual([402, expect.stringMatching(/nonce|authorization/)])
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n - value)
  })

  it('is at least 1,000 micro-USD, and a call that may cost more than a dollar is refused', async () => {
    const { accepts } = await demandFor(bodyOf({ max_tokens: 1 }))
    expect(accepts.map(({ amount }) => amount)).toEqual(['1000', '1000'])
    const dear = await ask(bodyOf({ model: 'claude-opus-4.1', max_tokens: 32_000 }))
    const Limit = z.object({ error: z.looseObject({ code: z.string(), limit_usdc: z.string() }) })
    expect([dear.status, Limit.parse(await dear.json()).error]).toEqual([
      402,
      expect.objectContaining({ code: 'cost_ceiling_reached', limit_usdc: '1000000' }),
    ])
  })

  it('is requested in less than 8 KB of headers, which contain no name from the request', async () => {
    const answer = await ask(
      bodyOf({ model: 'gpt-5-mini', user: 'x'.repeat(200), metadata: { a: '\r\nset-cookie: b' } }),
    )
    expect(answer.status).toBe(402)
    const bytes = [...answer.headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
    expect(bytes).toBeLessThan(8_192)
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  it.each([
    ['20 KB', 20_000],
    ['100 KB', 100_000],
  ])('in a header of %s is refused with 431 and a message', async (_name, length) => {
    const url = new URL(network.sandbox.base_url + CHAT)
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'payment-signature': 'A'.repeat(length) }
      const sent = request(url, { method: 'POST', headers }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      sent.on('error', reject)
      sent.end(bodyOf())
    })
    const Told = z.object({ error: z.looseObject({ message: z.string() }) })
    expect([answer.status, Told.parse(JSON.parse(answer.text)).error.message]).toEqual([
      431,
      'The headers are larger than accepted here.',
    ])
  })

  it('by upto takes nothing for a call without usage', async () => {
    const wallet = await chain.newWallet(RICH)
    const body = bodyOf({ model: 'sandbox/empty' })
    const answer = await ask(body, inHeader(await signed(wallet, 'upto', body)))
    await answer.text()
    expect(await chain.usdcBalance(wallet.address)).toBe(1_000_000n)
    // A payment that a failed call has claimed pays for no other call.
    expect(answer.headers.get('x-mkt-buyer-cost-micro') ?? '0').toBe('0')
  })
})

/** The code of a contract wallet that accepts every signature (ERC-1271). */
const ACCEPTS_ALL = '0x631626ba7e60e01b60005260206000f3'
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** The same signature with the other s, and the matching v. */
function withHighS(signature: string): string {
  const s = (ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  return `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
}

const STRANGER = '0x00000000000000000000000000000000000000AA'

describe('a signature', () => {
  it.each<[string, object]>([
    ['for another chain', { chainId: 1 }],
    ['for a token with another name', { name: 'USDC' }],
    ['for another version of the token', { version: '1' }],
    ['for another token', { verifyingContract: STRANGER }],
  ])('an exact payment signed %s is refused', async (_name, change) => {
    const wallet = await chain.newWallet({ usdc: 1_000_000n })
    const payment = await signed(wallet, 'exact')
    const signature = await wallet.account.signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: BASE_USDC, ...change },
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: Object(payment.payload['authorization']),
    })
    const answer = await ask(bodyOf(), inHeader({ ...payment, payload: { ...payment.payload, signature } }))
    expect(await refusalOf(answer)).toEqual([402, 'invalid_exact_evm_signature'])
  })

  it('an exact payment with a high s is refused', async () => {
    const payment = await signed(await chain.newWallet(RICH), 'exact')
    const signature = withHighS(String(payment.payload['signature']))
    const answer = await ask(bodyOf(), inHeader({ ...payment, payload: { ...payment.payload, signature } }))
    expect(await refusalOf(answer)).toEqual([402, 'invalid_exact_evm_signature'])
  })

  it('an upto payment that a stranger has signed, or with a high s, is refused', async () => {
    const [wallet, other] = [await chain.newWallet({ usdc: 1_000_000n }), await chain.newWallet({ usdc: 1_000_000n })]
    const [payment, theirs] = [await signed(wallet, 'upto'), await signed(other, 'upto')]
    const { signature } = payment.payload
    for (const forged of [theirs.payload['signature'], withHighS(String(signature)), '0x00']) {
      const answer = await ask(bodyOf(), inHeader({ ...payment, payload: { ...payment.payload, signature: forged } }))
      expect(await refusalOf(answer)).toEqual([402, 'invalid_permit2_signature'])
    }
    expect((await ask(bodyOf(), inHeader(payment))).status).toBe(200)
  })

  it.each(['exact', 'upto'] as const)(
    'a contract wallet pays by %s with a signature of its own kind',
    async (scheme) => {
      const wallet = await chain.newWallet({ usdc: 1_000_000n, eth: 10n ** 17n })
      await chain.approvePermit2(wallet)
      const payment = await signed(wallet, scheme)
      await callChain(chain.rpcUrl, [['anvil_setCode', [wallet.address, ACCEPTS_ALL]]])
      const { extensions: _, ...rest } = payment
      const answer = await ask(
        bodyOf(),
        inHeader({ ...rest, payload: { ...payment.payload, signature: `0x${'ab'.repeat(80)}` } }),
      )
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"status":"settled"')])
    },
  )
})
