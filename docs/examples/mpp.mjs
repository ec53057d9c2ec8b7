import { existsSync, readFileSync } from 'node:fs'
import { evm, Mppx } from 'mppx/client'
import { privateKeyToAccount } from 'viem/accounts'

const sandbox = existsSync('.market/sandbox.json') ? JSON.parse(readFileSync('.market/sandbox.json', 'utf8')) : {}
const market = process.env.MARKET_URL ?? sandbox.api_base_url
const account = privateKeyToAccount(process.env.WALLET_KEY ?? sandbox.buyer_private_key)
const mppx = Mppx.create({ methods: [evm.charge({ account, currencies: [evm.assets.base.USDC] })], polyfill: false })

function ask(stream) {
  return mppx.fetch(`${market}/v1/chat/completions`, {
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

// Whole: the settlement is in Payment-Receipt and in `usage.payment`.
const whole = await ask(false)
const receipt = JSON.parse(Buffer.from(whole.headers.get('payment-receipt'), 'base64url').toString())
console.log('paid', receipt.status, receipt.reference)

// Streamed: the money is taken at the first content, and the last chunk with `usage` says how that went.
const stream = await ask(true)
const chunks = (await stream.text()).split('\n').filter((line) => line.startsWith('data: {'))
console.log('streamed, payment', JSON.parse(chunks.at(-1).slice('data: '.length)).usage.payment.status)
