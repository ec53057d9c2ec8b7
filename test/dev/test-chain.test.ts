import type { Hash, Hex } from 'viem'
import { createWalletClient, http, parseAbi, parseEther } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import type { ChainWallet, OwnChain } from '#test/support/chain/chain.ts'
import { CHAIN, chainOf, startChain } from '#test/support/chain/chain.ts'
import type { RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { until } from '#test/support/run/until.ts'

const USDC = parseAbi([
  'function allowance(address, address) view returns (uint256)',
  'function isBlacklisted(address) view returns (bool)',
])
const MINED_MS = 20_000
let own: OwnChain
let relay: RpcRelay
let rich: ChainWallet

beforeAll(async () => {
  own = await startChain()
  relay = await rpcRelay(own.rpcUrl)
  rich = await own.newWallet({ usdc: 1_000_000n, eth: parseEther('10') })
  await own.mine()
})
afterEach(async () => {
  relay.pass()
  await own.mining('automatic')
})
afterAll(async () => {
  await relay.close()
  await own.stop()
})

const wallet = () => createWalletClient({ chain: CHAIN, account: rich.account, transport: http(own.rpcUrl) })
const receiptOf = async (hash: Hash) =>
  (await callChain(own.rpcUrl, [['eth_getTransactionReceipt', [hash]]]))[0] ?? null

async function sign(to: Hex, value = 1n): Promise<Hex> {
  const request = await wallet().prepareTransactionRequest({ to, value })
  return wallet().signTransaction(request)
}

/** Sends a request to the relay. Undefined without an answer; the text when the answer was not JSON-RPC. */
/** Time for an answer on a busy machine, and time after which no answer is expected. */
const [ANSWER_MS, SILENT_MS] = [20_000, 700]

const ask = (method: string, ...params: readonly unknown[]) => askWithin(ANSWER_MS, method, ...params)

/** The answer to a call; undefined when none comes in time or the connection breaks. */
async function askWithin(waitMs: number, method: string, ...params: readonly unknown[]): Promise<unknown> {
  const reply = await fetch(relay.url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    signal: AbortSignal.timeout(waitMs),
  }).catch(() => undefined)
  const text = await reply?.text().catch(() => undefined)
  if (text === undefined) return undefined
  if (reply?.status !== 200) return reply?.status
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A chain answers a transaction before it makes the block. */
const untilMined = (hash: Hash) =>
  until(`${hash} is in a block`, MINED_MS, async () => (await receiptOf(hash)) !== null)

describe("the tests' chain", () => {
  it('gives every test wallets of its own on one chain', async () => {
    const chain = await chainOf()
    const [buyer, poor] = await Promise.all([chain.newWallet({ usdc: 5_000_000n, eth: 1n }), chain.newWallet()])
    expect(await chain.usdcBalance(buyer.address)).toBe(5_000_000n)
    expect(await chain.publicClient.getBalance({ address: buyer.address })).toBe(1n)
    expect(await chain.usdcBalance(poor.address)).toBe(0n)
    expect((await chain.environment()).TREASURY_ADDRESS).not.toBe((await chain.environment()).TREASURY_ADDRESS)
  })

  it('makes blocks when the test says so, and can be reset', async () => {
    const to = (await own.newWallet()).address
    await own.mining('off')
    const waiting = await wallet().sendTransaction({ to, value: 5n })
    expect(await receiptOf(waiting)).toBeNull()
    await own.mine()
    expect(await receiptOf(waiting)).toMatchObject({ status: '0x1' })
    const forgotten = await wallet().sendTransaction({ to, value: 5n })
    await own.drop(forgotten)
    await own.mine()
    expect(await receiptOf(forgotten)).toBeNull()
    const late = await wallet().sendTransaction({ to, value: 5n })
    await own.mining('automatic')
    await untilMined(late)
    expect(await receiptOf(late)).toMatchObject({ status: '0x1' })
    await own.mining({ everySeconds: 1 })
    const hash = await wallet().sendTransaction({ to, value: 5n })
    expect(await receiptOf(hash)).toBeNull()
    expect(await own.publicClient.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
    expect(await own.publicClient.getBalance({ address: to })).toBe(15n)
  })

  it('removes blocks, and returns to its snapshot', async () => {
    const { address: to } = await own.newWallet()
    const kept = await wallet().sendTransaction({ to, value: 1n })
    await untilMined(kept)
    const lost = await wallet().sendTransaction({ to, value: 2n })
    await untilMined(lost)
    const block = await own.publicClient.getBlockNumber({ cacheTime: 0 })
    await own.reorganise(1)
    expect(await own.publicClient.getBlockNumber({ cacheTime: 0 })).toBe(block)
    expect([await receiptOf(kept), await receiptOf(lost)]).toEqual([expect.objectContaining({ status: '0x1' }), null])
    await own.mine()
    expect(await own.publicClient.getBalance({ address: to })).toBe(1n)

    const goBack = await own.remember()
    const undone = await wallet().sendTransaction({ to, value: 2n })
    await untilMined(undone)
    await goBack()
    expect(await receiptOf(undone)).toBeNull()
    expect(await own.publicClient.getBalance({ address: to })).toBe(1n)
    expect(await own.usdcBalance(rich.address)).toBe(1_000_000n)
  })

  it('knows blocked and approved wallets', async () => {
    const usdc = { address: CONTRACTS.LocalUsdc, abi: USDC } as const
    await own.approvePermit2(rich)
    const args = [rich.address, CONTRACTS.LocalPermit2] as const
    expect(await own.publicClient.readContract({ ...usdc, functionName: 'allowance', args })).toBe(2n ** 256n - 1n)
    const isBlocked = () =>
      own.publicClient.readContract({ ...usdc, functionName: 'isBlacklisted', args: [rich.address] })
    await own.blacklist(rich.address)
    expect(await isBlocked()).toBe(true)
    await own.blacklist(rich.address, false)
    expect(await isBlocked()).toBe(false)
  })

  it('serves a control plane that takes payments', async () => {
    const market = await startMarket({ chain: true })
    try {
      const terms = await market.plane.payments?.facilitator.supported()
      expect(terms?.kinds).toEqual(expect.arrayContaining([expect.objectContaining({ network: 'eip155:8453' })]))
    } finally {
      await market.stop()
    }
  })
})

describe('the relay in front of a chain', () => {
  it.each([
    [{ kind: 'down' }, undefined],
    [{ kind: 'hang' }, undefined],
    [{ kind: 'status', status: 500 }, 500],
    [{ kind: 'nonsense' }, '<html>busy</html>'],
    [
      { kind: 'refuse', message: 'no' },
      { jsonrpc: '2.0', id: 7, error: { code: -32_000, message: 'no' } },
    ],
    [
      { kind: 'answer', result: '0x1' },
      { jsonrpc: '2.0', id: 7, result: '0x1' },
    ],
  ] as const)("answers %j to one method, and the chain's answer to all others", async (fault, seen) => {
    const right = { jsonrpc: '2.0', id: 7, result: '0x2105' }
    relay.fault('eth_chainId', fault, { after: 1, times: 1 })
    expect(await ask('eth_chainId')).toEqual(right)
    const waitMs = seen === undefined ? SILENT_MS : ANSWER_MS
    expect(await askWithin(waitMs, 'eth_chainId')).toEqual(seen)
    expect(await ask('eth_chainId')).toEqual(right)
    relay.fault('*', fault)
    expect(await askWithin(waitMs, 'net_version')).toEqual(seen)
    relay.pass()
    expect(await ask('net_version')).toMatchObject({ result: '8453' })
  })

  it.each([
    ['done-refused', { error: { message: 'the chain refuses' } }],
    ['done-unheard', undefined],
    ['done-cut', undefined],
    ['twice', { error: expect.anything() }],
  ] as const)('lets the chain execute a transaction, and answers %s', async (kind, seen) => {
    const { address: to } = await own.newWallet()
    relay.fault('eth_sendRawTransaction', { kind })
    const waitMs = seen === undefined ? SILENT_MS : ANSWER_MS
    const answer = await askWithin(waitMs, 'eth_sendRawTransaction', await sign(to))
    if (seen === undefined) expect(answer).toBeUndefined()
    else expect(answer).toMatchObject(seen)
    await until(
      'the transaction is in a block',
      MINED_MS,
      async () => (await own.publicClient.getBalance({ address: to })) === 1n,
    )
  })

  it('drops a transaction with its right hash, and a receipt for ever', async () => {
    const { address: to } = await own.newWallet()
    const raw = await sign(to)
    relay.fault('eth_sendRawTransaction', { kind: 'dropped' }, { times: 1 })
    const dropped = await ask('eth_sendRawTransaction', raw)
    expect(await own.publicClient.getBalance({ address: to })).toBe(0n)
    expect(await ask('eth_sendRawTransaction', raw)).toEqual(dropped)
    expect(await own.publicClient.getBalance({ address: to })).toBe(1n)
    relay.fault('eth_getTransactionReceipt', { kind: 'answer', result: null })
    expect(await ask('eth_getTransactionReceipt', `0x${'1'.repeat(64)}`)).toMatchObject({ result: null })
  })

  it('delays and counts calls, answers batches, and leads elsewhere', async () => {
    const before = relay.calls('eth_blockNumber')
    relay.slow(120)
    const began = performance.now()
    await ask('eth_blockNumber')
    expect(performance.now() - began).toBeGreaterThan(110)
    relay.pass()
    relay.fault('eth_blockNumber', { kind: 'late', ms: 100 })
    await ask('eth_blockNumber')
    expect(performance.now() - began).toBeGreaterThan(210)
    expect(relay.calls('eth_blockNumber') - before).toBe(2)
    expect(relay.calls()).toBeGreaterThan(2)
    expect(
      await callChain(relay.url, [
        ['eth_chainId', []],
        ['net_version', []],
      ]),
    ).toEqual(['0x2105', '8453'])
    const shared = await chainOf()
    relay.retarget(shared.rpcUrl)
    expect(await callChain(relay.url, [['eth_getBalance', [rich.address, 'latest']]])).toEqual(['0x0'])
    relay.retarget(own.rpcUrl)
  })
})
