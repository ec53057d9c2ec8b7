import { setTimeout as wait } from 'node:timers/promises'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { z } from 'zod'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { inHeader, signPayment, stockClient } from '#test/support/chain/wallet-client.ts'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { middle, quantile } from './middle.ts'
import { openLine } from './wallet-line.ts'

/** Calls of each kind, in turns, and payments at once. */
const TURNS = 60
const AT_ONCE = 100
/**
 * Turns of the comparison of keys, and uncounted turns before them. A key has 600 calls per minute, and the prepaid key
 * makes two calls a turn.
 */
const KEY_TURNS = 250
const KEY_WARM_UP = 40
/** Payments on a slow chain: seconds between its blocks, and the delay of each of its answers in milliseconds. */
const SLOW_TURNS = 10
const BLOCK_SECONDS = 2
const RPC_DELAY_MS = 40
const ONE_ETH = 10n ** 18n

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }
type Stage = { readonly chain: OwnChain; readonly network: Network; readonly wallet: ChainWallet }

/**
 * Measures the time that paying by wallet adds to a call. The wallet has let Permit2 take its USDC, like most wallets.
 */
export async function measurePayments(): Promise<Row[]> {
  return [...(await withStage(undefined, measureQuick)), ...(await withStage(BLOCK_SECONDS, measureSlow))]
}

/** Measures the time that a wallet's line adds to a key's call. */
export function measureLines(): Promise<Row[]> {
  return withStage(undefined, measureKeys)
}

async function withStage(seconds: number | undefined, run: (stage: Stage) => Promise<Row[]>): Promise<Row[]> {
  const chain = await startChain(seconds)
  const relay = await rpcRelay(chain.rpcUrl)
  if (seconds !== undefined) relay.slow(RPC_DELAY_MS)
  // The relay only adds the delay. Without it, the local chain is called directly.
  const rpcUrl = seconds === undefined ? chain.rpcUrl : relay.url
  const network = await startNetwork({ LOG_LEVEL: 'warn', ...(await environmentOf(chain, rpcUrl)) }, 'own')
  try {
    const wallet = await chain.newWallet({ usdc: 100_000_000n, eth: ONE_ETH })
    await chain.approvePermit2(wallet)
    // Blocks come by the clock alone from here on.
    if (seconds !== undefined) await chain.mining({ everySeconds: seconds })
    return await run({ chain, network, wallet })
  } finally {
    await network.remove()
    await relay.close()
    await chain.stop()
  }
}

/** A market with a treasury that draws from wallets beside the calls. */
async function environmentOf(chain: OwnChain, rpcUrl: string) {
  const { address, privateKey } = await chain.newWallet({ eth: ONE_ETH })
  return {
    ...(await chain.environment(rpcUrl)),
    TREASURY_ADDRESS: address,
    TREASURY_PRIVATE_KEY: privateKey,
    ALLOWANCE_BATCH_SECONDS: '1',
  }
}

const bodyOf = (stream: boolean) =>
  JSON.stringify({ model: 'gpt-5-mini', max_tokens: 50, stream, messages: [{ role: 'user', content: 'Say hello.' }] })

function ask({ network }: Stage, body: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const url = `${network.sandbox.api_base_url}/v1/chat/completions`
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
}

async function sign(stage: Stage, body: string): Promise<PaymentPayload> {
  const demand: PaymentRequired = await (await ask(stage, body, {})).json()
  return signPayment(stockClient(stage.chain, stage.wallet, 'upto'), demand)
}

/** Milliseconds until the first byte of an answer, and until it is whole. Throws for a refusal. */
async function timed(stage: Stage, body: string, headers: Readonly<Record<string, string>>) {
  const began = performance.now()
  const answer = await ask(stage, body, headers)
  if (answer.status !== 200) throw new Error(`a call was answered ${answer.status}: ${await answer.text()}`)
  let first: number | undefined
  for await (const _chunk of answer.body ?? []) first ??= performance.now() - began
  return { first: first ?? 0, whole: performance.now() - began }
}

async function measureQuick(stage: Stage): Promise<Row[]> {
  const body = bodyOf(false)
  const key = byKey(stage.network.sandbox.buyer_key)
  const [byCredit, byWallet]: [number[], number[]] = [[], []]
  for (let turn = -5; turn < TURNS; turn++) {
    const payment = inHeader(await sign(stage, body))
    const [credit, paid] = [await timed(stage, body, key), await timed(stage, body, payment)]
    if (turn < 0) continue
    byCredit.push(credit.whole)
    byWallet.push(paid.whole)
  }
  const added = middle(byWallet) - middle(byCredit)
  const payments = await Promise.all(Array.from({ length: AT_ONCE }, () => sign(stage, body)))
  const began = performance.now()
  const statuses = await Promise.all(
    payments.map(async (payment) => (await ask(stage, body, inHeader(payment))).status),
  )
  const took = performance.now() - began
  const served = statuses.filter((status) => status === 200).length
  return [
    {
      what: 'x402 upto, added to a call by key, p50',
      figure: `${added.toFixed(1)} ms`,
      beside: `${middle(byWallet).toFixed(1)} ms by wallet, ${middle(byCredit).toFixed(1)} ms by key, ${TURNS} of each by turns`,
    },
    { what: `${AT_ONCE} paid calls at once`, figure: `${(took / 1_000).toFixed(2)} s`, beside: `${served} served` },
    await measureProbe(stage),
  ]
}

const byKey = (key: string) => ({ authorization: `Bearer ${key}` })

/**
 * The same call by a prepaid key and by a key whose account pays from its wallet, in turns. Draws from the wallet go on
 * beside the calls. The prepaid key is in each turn twice, so its difference from itself is the noise.
 */
async function measureKeys(stage: Stage): Promise<Row[]> {
  const body = bodyOf(false)
  const prepaid = stage.network.sandbox.buyer_key
  const line = await openLine(stage, async (key) => (await ask(stage, body, byKey(key))).status === 200)
  const ways = [prepaid, line, prepaid].map((key) => ({ key, times: [] as number[] }))
  for (let turn = -KEY_WARM_UP; turn < KEY_TURNS; turn++) {
    // Each key is first, second and last equally often.
    for (let at = 0; at < ways.length; at++) {
      const way = ways[(turn + KEY_WARM_UP + at) % ways.length]
      if (way === undefined) continue
      const { whole } = await timed(stage, body, byKey(way.key))
      if (turn >= 0) way.times.push(whole)
    }
  }
  const at = (part: number) => ways.map(({ times }) => quantile(times, part))
  return [0.5, 0.95].map((part) => {
    const [own = 0, lent = 0, again = 0] = at(part)
    return {
      what: `a key on a wallet's line, added to a prepaid key's call, p${part * 100}`,
      figure: `${(lent - own).toFixed(2)} ms`,
      beside: `${lent.toFixed(2)} ms and ${own.toFixed(2)} ms, prepaid once more ${again.toFixed(2)} ms, ${KEY_TURNS} of each by turns`,
    }
  })
}

const Probed = z.object({ accepts: z.array(z.unknown()).min(1) })

/** The demand for a payment, by one connection after the other's answer. */
async function measureProbe(stage: Stage): Promise<Row> {
  const times: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const began = performance.now()
    const answer = await ask(stage, bodyOf(false), {})
    Probed.parse(await answer.json())
    times.push(performance.now() - began)
  }
  return { what: 'a demand for a payment (402), p50', figure: `${middle(times).toFixed(2)} ms` }
}

async function measureSlow(stage: Stage): Promise<Row[]> {
  const rows: Row[] = []
  for (const isStreamed of [false, true]) {
    const body = bodyOf(isStreamed)
    const times: { first: number; whole: number }[] = []
    for (let turn = 0; turn < SLOW_TURNS; turn++) {
      const payment = inHeader(await sign(stage, body))
      // A random phase between two blocks, like for a buyer.
      await wait((turn * BLOCK_SECONDS * 1_000) / SLOW_TURNS)
      times.push(await timed(stage, body, payment))
    }
    const whole = middle(times.map((time) => time.whole)).toFixed(0)
    const first = middle(times.map((time) => time.first)).toFixed(0)
    const slow = `blocks every ${BLOCK_SECONDS} s, ${RPC_DELAY_MS} ms for each answer of the chain`
    rows.push(
      isStreamed
        ? {
            what: 'upto on a slow chain, first byte of a stream',
            figure: `${first} ms`,
            beside: `whole ${whole} ms; ${slow}`,
          }
        : { what: 'upto on a slow chain, whole answer', figure: `${whole} ms`, beside: slow },
    )
  }
  return rows
}
