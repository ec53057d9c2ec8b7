import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { x402Client } from '@x402/core/client'
import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentRequirements } from '@x402/core/types'
import { toClientEvmSigner, toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as ExactClient } from '@x402/evm/exact/client'
import { ExactEvmScheme as ExactFacilitator } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme as UptoClient } from '@x402/evm/upto/client'
import { UptoEvmScheme as UptoFacilitator } from '@x402/evm/upto/facilitator'
import type { Address } from 'viem'
import { createPublicClient, createWalletClient, http, parseAbi, publicActions, verifyTypedData } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readArtifacts, readSources, sourceDigest } from '#dev/chain/artifacts.ts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { placeContracts } from '#dev/chain/place-contracts.ts'
import { startAnvil } from '#dev/services/anvil.ts'
import { BASE_CHAIN_ID } from '#shared/chain-terms.ts'

const NETWORK = 'eip155:8453'
const RESTARTS = 5
const ERC20 = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function approve(address, uint256) returns (bool)',
])
const folder = mkdtempSync(join(tmpdir(), 'market-chain-'))
const facilitator = privateKeyToAccount(generatePrivateKey())
const treasury = privateKeyToAccount(generatePrivateKey()).address
const rich = { usdcMicro: 1_000_000n, wei: 10n ** 18n }

describe('the development chain', () => {
  const buyer = privateKeyToAccount(generatePrivateKey())
  const logs: string[] = []
  const launch = () =>
    startAnvil({
      chainId: BASE_CHAIN_ID,
      dataDir: join(folder, 'chain'),
      logFile: join(folder, 'chain.log'),
      log: (line) => logs.push(line),
    })
  let chain: Awaited<ReturnType<typeof launch>>

  beforeAll(async () => {
    chain = await launch()
    const funds = [
      { address: facilitator.address, usdcMicro: 0n, wei: 10n ** 18n },
      { address: buyer.address, ...rich, wei: 0n },
    ]
    expect(await placeContracts(chain.url, funds)).toBe(true)
    expect(await placeContracts(chain.url, funds)).toBe(false)
  })
  afterAll(async () => {
    await chain.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const reader = () => createPublicClient({ chain: base, transport: http(chain.url), pollingInterval: 20 })
  const balance = (address: Address) =>
    reader().readContract({ address: CONTRACTS.LocalUsdc, abi: ERC20, functionName: 'balanceOf', args: [address] })

  function requirementOf(scheme: 'exact' | 'upto', amount: bigint): PaymentRequirements {
    return {
      scheme,
      network: NETWORK,
      asset: CONTRACTS.LocalUsdc,
      amount: String(amount),
      payTo: treasury,
      maxTimeoutSeconds: 300,
      extra: {
        name: 'USD Coin',
        version: '2',
        ...(scheme === 'upto' ? { facilitatorAddress: facilitator.address } : {}),
      },
    }
  }

  /** The stock facilitator on this chain. */
  function stockFacilitator(): x402Facilitator {
    const wallet = createWalletClient({
      account: facilitator,
      chain: base,
      transport: http(chain.url),
      pollingInterval: 20,
    }).extend(publicActions)
    const signer = toFacilitatorEvmSigner({
      address: facilitator.address,
      readContract: (read) => wallet.readContract({ ...read, account: facilitator, args: read.args ?? [] }),
      verifyTypedData: (what) => verifyTypedData(what),
      writeContract: (write) => wallet.writeContract(write),
      sendTransaction: (transaction) => wallet.sendTransaction(transaction),
      waitForTransactionReceipt: (wait) => wallet.waitForTransactionReceipt(wait),
      getCode: (where) => wallet.getCode(where),
    })
    return new x402Facilitator()
      .register(NETWORK, new ExactFacilitator(signer))
      .register(NETWORK, new UptoFacilitator(signer))
      .registerExtension({ key: 'eip2612GasSponsoring' })
  }

  /** A payment of the stock client, made only from a requirement and the buyer's key. */
  function pay(accepts: PaymentRequirements, account = buyer) {
    const signer = toClientEvmSigner(account, reader())
    return new x402Client()
      .register(NETWORK, new ExactClient(signer))
      .register(NETWORK, new UptoClient(signer))
      .createPaymentPayload({
        x402Version: 2,
        accepts: [accepts],
        resource: { url: 'http://127.0.0.1/x', description: '', mimeType: 'application/json' },
        extensions: { eip2612GasSponsoring: { info: { description: '', version: '1' }, schema: {} } },
      })
  }

  it('accepts an exact payment of a stock client once', async () => {
    const required = requirementOf('exact', 20_000n)
    const payment = await pay(required)
    const before = await balance(treasury)
    expect(await stockFacilitator().verify(payment, required)).toMatchObject({ isValid: true, payer: buyer.address })
    expect(await stockFacilitator().settle(payment, required)).toMatchObject({ success: true })
    expect((await balance(treasury)) - before).toBe(20_000n)
    expect(await stockFacilitator().settle(payment, required)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
    expect((await balance(treasury)) - before).toBe(20_000n)
  })

  it('takes the used part of an upto payment from a buyer without ETH and without an approval', async () => {
    const required = requirementOf('upto', 20_000n)
    const payment = await pay(required)
    const before = await balance(treasury)
    expect(await stockFacilitator().verify(payment, required)).toMatchObject({ isValid: true })
    const taken = await stockFacilitator().settle(payment, { ...required, amount: '7321' })
    expect(taken).toMatchObject({ success: true, amount: '7321' })
    expect((await balance(treasury)) - before).toBe(7_321n)
    expect(await stockFacilitator().settle(payment, { ...required, amount: '7321' })).toMatchObject({ success: false })
  })

  it.each([
    ['exact', 'invalid_exact_evm_insufficient_balance'],
    ['upto', 'permit2_insufficient_balance'],
  ] as const)('refuses an %s payment of a wallet without money, and gives the reason', async (scheme, reason) => {
    const required = requirementOf(scheme, 20_000n)
    const payment = await pay(required, privateKeyToAccount(generatePrivateKey()))
    expect(await stockFacilitator().verify(payment, required)).toMatchObject({ isValid: false, invalidReason: reason })
  })

  it('keeps its balances over a restart, and begins anew with a message when its state is cut short', async () => {
    const before = await balance(treasury)
    expect(before).toBeGreaterThan(0n)
    const { hash } = await reader().getBlock({ blockNumber: 0n })
    // Each start leaves a first block of its own in the state, and the chain reads them in any order.
    for (let restarts = 0; restarts < RESTARTS; restarts++) {
      await chain.stop()
      chain = await launch()
      expect((await reader().getBlock({ blockNumber: 0n })).hash).toBe(hash)
    }
    expect(await placeContracts(chain.url, [])).toBe(false)
    expect(await balance(treasury)).toBe(before)
    const { timestamp } = await reader().getBlock()
    expect(Math.abs(Number(timestamp) - Date.now() / 1_000)).toBeLessThan(30)
    expect(logs).toEqual([])

    await chain.stop()
    truncateSync(join(folder, 'chain/state.json'), 1_000)
    chain = await launch()
    expect(logs).toEqual([expect.stringContaining('begins anew')])
    expect(await placeContracts(chain.url, [])).toBe(true)
    expect(await balance(treasury)).toBe(0n)
    expect(readFileSync(join(folder, 'chain/state.json.broken')).length).toBe(1_000)
  })

  it('leaves no file in the folder of its user, however long it runs', async () => {
    const user = join(folder, 'user')
    const before = process.env['HOME']
    process.env['HOME'] = user
    const long = await startAnvil({ chainId: BASE_CHAIN_ID, logFile: join(folder, 'long.log') }).finally(() => {
      process.env['HOME'] = before
    })
    try {
      await callChain(long.url, [['anvil_mine', ['0x600']]])
      expect(await callChain(long.url, [['eth_blockNumber', []]])).toEqual(['0x600'])
      const left = existsSync(user) ? readdirSync(user, { recursive: true, withFileTypes: true }) : []
      expect(left.filter((entry) => entry.isFile())).toEqual([])
    } finally {
      await long.stop()
    }
  })

  it('has contracts that were compiled from the sources beside them', () => {
    expect(readArtifacts().sources).toBe(sourceDigest(readSources()))
  })
})
