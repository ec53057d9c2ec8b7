import { existsSync, readFileSync } from 'node:fs'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const sandbox = existsSync('.market/sandbox.json') ? JSON.parse(readFileSync('.market/sandbox.json', 'utf8')) : {}
const market = process.env.MARKET_URL ?? sandbox.base_url
const wallet = privateKeyToAccount(process.env.WALLET_KEY ?? sandbox.buyer_private_key)
const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:8453', new ExactEvmScheme(wallet)))

// viem collects the reads of a moment into one batch, which is one payment.
const url = `${market}/x402/api/crypto-rpc/rpc/base-mainnet`
const chain = createPublicClient({ transport: http(url, { fetchFn: pay, batch: true, retryCount: 0 }) })
const [id, balance] = await Promise.all([chain.getChainId(), chain.getBalance({ address: wallet.address })])
console.log('chain', id, 'balance', balance, 'wei')

const posts = await pay(`${market}/x402/api/social/v2/posts/search/recent?query=boats&max_results=10`)
const { meta } = await posts.json()
console.log(meta.result_count, 'posts for', posts.headers.get('x-mkt-buyer-cost-micro'), 'micro-USD')
