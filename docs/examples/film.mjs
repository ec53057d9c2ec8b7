import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const sandbox = existsSync('.market/sandbox.json') ? JSON.parse(readFileSync('.market/sandbox.json', 'utf8')) : {}
const jobs = `${process.env.MARKET_URL ?? sandbox.api_base_url}/v1/video/generations`
const wallet = privateKeyToAccount(process.env.WALLET_KEY ?? sandbox.buyer_private_key)
const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:8453', new ExactEvmScheme(wallet)))

const submitted = await pay(jobs, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'sora-2', prompt: 'A boat on a lake.', seconds: 4 }),
})
const { id, job_token: token } = await submitted.json()
const paid = JSON.parse(Buffer.from(submitted.headers.get('payment-response'), 'base64').toString())
console.log('paid in', paid.transaction)

// A caller with the token can ask for the job, load its files and stop it.
let job
do {
  await pause(1_000)
  job = await (await fetch(`${jobs}/${id}`, { headers: { 'x-job-token': token } })).json()
} while (job.status === 'queued' || job.status === 'running')
const film = await fetch(job.artifacts[0].url)
writeFileSync('film.mp4', Buffer.from(await film.arrayBuffer()))
console.log(job.status, 'cost', job.usage.buyer_cost_micro, 'micro-USD', film.status, film.headers.get('content-type'))
