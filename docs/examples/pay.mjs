import { existsSync, readFileSync } from 'node:fs'
import { x402Client } from '@x402/core/client'
import { toClientEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const sandbox = existsSync('.market/sandbox.json') ? JSON.parse(readFileSync('.market/sandbox.json', 'utf8')) : {}
const market = process.env.MARKET_URL ?? sandbox.api_base_url
const chain = createPublicClient({ transport: http(process.env.RPC_URL ?? sandbox.rpc_url) })
const wallet = privateKeyToAccount(process.env.WALLET_KEY ?? sandbox.buyer_private_key)

// A signer that can read the chain adds a permit, so no ETH and no prior approval are needed.
const signer = toClientEvmSigner(wallet, chain)
const client = new x402Client()
  .register('eip155:8453', new UptoEvmScheme(signer))
  .register('eip155:8453', new ExactEvmScheme(signer))
const pay = wrapFetchWithPayment(fetch, client)

function ask(stream) {
  return pay(`${market}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-5-mini',
      max_tokens: 100,
      stream,
      messages: [{ role: 'user', content: 'Say hello.' }],
    }),
  })
}

// Whole: the settlement is in PAYMENT-RESPONSE and in `usage.payment`.
const whole = await ask(false)
const { usage } = await whole.json()
const settled = JSON.parse(Buffer.from(whole.headers.get('payment-response'), 'base64').toString())
console.log('cost', usage.buyer_cost_micro, 'micro-USD, transferred', settled.amount, 'in', settled.transaction)

// Streamed: the last chunk with `usage` says how the payment went.
const stream = await ask(true)
const chunks = (await stream.text()).split('\n').filter((line) => line.startsWith('data: {'))
console.log('streamed, payment', JSON.parse(chunks.at(-1).slice('data: '.length)).usage.payment.status)
