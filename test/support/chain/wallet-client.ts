import { x402Client } from '@x402/core/client'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { toClientEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { evm, Mppx } from 'mppx/client'
import { createWalletClient, http, parseAbi } from 'viem'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { ChainWallet, TestChain } from './chain.ts'
import { CHAIN } from './chain.ts'

const NETWORK = 'eip155:8453'
type Scheme = 'exact' | 'upto'

/** The stock client of a wallet, which can read the chain and so sign permits. It knows the given schemes. */
export function stockClient({ publicClient }: TestChain, { account }: ChainWallet, ...schemes: Scheme[]): x402Client {
  const signer = toClientEvmSigner(account, publicClient)
  const client = new x402Client()
  if (schemes.includes('upto')) client.register(NETWORK, new UptoEvmScheme(signer))
  if (schemes.includes('exact')) client.register(NETWORK, new ExactEvmScheme(signer))
  return client
}

/** A `fetch` that pays with the stock client. */
export function payingFetch(chain: TestChain, wallet: ChainWallet, ...schemes: Scheme[]) {
  return wrapFetchWithPayment(fetch, stockClient(chain, wallet, ...schemes))
}

/** A payment for a demand, signed by the stock client, for tests that change it or send it twice. */
export function signPayment(client: x402Client, demand: PaymentRequired): Promise<PaymentPayload> {
  return client.createPaymentPayload(demand)
}

/** A payment in the form of its header. */
export function inHeader(payment: unknown): { readonly 'payment-signature': string } {
  return { 'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64') }
}

/** Ways to pay by wallet. */
export const WALLET_WAYS = ['x402-upto', 'x402-exact', 'mpp'] as const
export type WalletWay = (typeof WALLET_WAYS)[number]

/** The headers that pay the demand of a 402, made by the stock client of the way. */
export async function payDemand(
  chain: TestChain,
  wallet: ChainWallet,
  way: WalletWay,
  demand: Response,
): Promise<Readonly<Record<string, string>>> {
  if (way === 'mpp') {
    const methods = [evm.charge({ account: wallet.account, currencies: [evm.assets.base.USDC] })]
    return { authorization: await Mppx.create({ methods, polyfill: false }).createCredential(demand) }
  }
  const scheme = way === 'x402-upto' ? 'upto' : 'exact'
  return inHeader(await signPayment(stockClient(chain, wallet, scheme), await demand.json()))
}

const TOKEN = parseAbi([
  'function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)',
])

/**
 * Sends an exact payment to the chain, as a stranger who has seen it can. Returns the transaction once it is in a
 * block: a chain answers before it makes the block.
 */
export async function sendAsStranger(
  chain: Pick<TestChain, 'newWallet' | 'rpcUrl' | 'publicClient'>,
  { payload }: PaymentPayload,
) {
  const { account } = await chain.newWallet({ eth: 10n ** 18n })
  const { from, to, value, validAfter, validBefore, nonce } = Object(payload['authorization'])
  const { signature } = Object(payload)
  const args = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature] as const
  const wallet = createWalletClient({ chain: CHAIN, transport: http(chain.rpcUrl), account })
  const call = { address: CONTRACTS.LocalUsdc, abi: TOKEN, functionName: 'transferWithAuthorization', args } as const
  const hash = await wallet.writeContract(call)
  await chain.publicClient.waitForTransactionReceipt({ hash })
  return hash
}
