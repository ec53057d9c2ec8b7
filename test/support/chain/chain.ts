import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address, Hash, Hex, PublicClient } from 'viem'
import { createPublicClient, createWalletClient, defineChain, http, keccak256, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { callChain } from '#dev/chain/call-chain.ts'
import { CONTRACTS } from '#dev/chain/contract-addresses.ts'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import { placeContracts } from '#dev/chain/place-contracts.ts'
import { startAnvil } from '#dev/services/anvil.ts'
import { BASE_CHAIN_ID } from '#shared/chain-terms.ts'

const POLLING_MS = 20
const ONE_ETH = 10n ** 18n
const USDC = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function approve(address, uint256) returns (bool)',
  'function setBlacklisted(address, bool)',
])
/** Base as the tests' clients configure it. */
export const CHAIN = defineChain({
  id: BASE_CHAIN_ID,
  name: 'development',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [] } },
})

/** A wallet of one test. */
export type ChainWallet = {
  readonly privateKey: Hex
  readonly address: Address
  readonly account: PrivateKeyAccount
}

/** A chain with USDC, Permit2 and the upto proxy. Each test makes wallets of its own, so tests can share a chain. */
export type TestChain = {
  readonly rpcUrl: string
  readonly publicClient: PublicClient
  /** Makes a wallet with micro-USD and wei. A new wallet without either is still known to the chain. */
  newWallet(money?: { readonly usdc?: bigint; readonly eth?: bigint }): Promise<ChainWallet>
  /** Micro-USD. */
  usdcBalance(address: Address): Promise<bigint>
  /** Lets Permit2 move a wallet's USDC without a limit, as buyers do once. The wallet pays the gas. */
  approvePermit2(wallet: ChainWallet, amount?: bigint): Promise<Hash>
  /** Puts a wallet on the issuer's block list. A wallet on the list can neither pay nor be paid. */
  blacklist(address: Address, isBlocked?: boolean): Promise<void>
  /** Prepares an entry on the block list: the returned function needs only one transaction, which takes a moment. */
  blacklister(): Promise<TestChain['blacklist']>
  /**
   * The variables of a control plane that takes payments on this chain. It has a facilitator of its own with money for
   * gas, and an empty treasury. `rpcUrl` may be another address of the chain.
   */
  environment(rpcUrl?: string): Promise<ChainEnvironment>
}

export type ChainEnvironment = {
  readonly CHAIN_RPC_URL: string
  readonly FACILITATOR_PRIVATE_KEY: Hex
  readonly TREASURY_ADDRESS: Address
  readonly CHAIN_CONFIRMATIONS: string
}

/** The time of a block: at each transaction, never, or at an interval in seconds. */
export type Mining = 'automatic' | 'off' | { readonly everySeconds: number }

/** A chain of one test, which the test may disturb. */
export type OwnChain = TestChain & {
  readonly pid: number
  mining(how: Mining): Promise<void>
  /** Makes blocks now. */
  mine(blocks?: number): Promise<void>
  /**
   * Replaces the last blocks by empty ones. Their transactions never happened, and are not in the pool either. Money
   * from `newWallet` in these blocks is gone too.
   */
  reorganise(blocks: number): Promise<void>
  /** Takes a snapshot of the chain. The returned function restores it, once. */
  remember(): Promise<() => Promise<void>>
  /** Sends a signed transaction, and waits for its block: a chain answers before it makes the block. */
  send(raw: Hex): Promise<void>
  /** Forgets a transaction that waits for its block. */
  drop(hash: Hash): Promise<void>
  stop(): Promise<void>
}

/** The run's only chain. Each transaction gets its block at once. Tests must not change its mining or its past. */
export async function chainOf(): Promise<TestChain> {
  // The import is here, because a bench runs outside a test run and cannot load the module.
  return testChain((await import('vitest')).inject('chainRpcUrl'))
}

/** Starts a chain for one test, with `blockSeconds` between its blocks, or with a block for each transaction. */
export async function startChain(blockSeconds?: number): Promise<OwnChain> {
  const folder = mkdtempSync(join(tmpdir(), 'market-chain-'))
  const blocks = blockSeconds === undefined ? {} : { blockSeconds }
  const logFile = join(folder, 'chain.log')
  const anvil = await startAnvil({ chainId: BASE_CHAIN_ID, logFile, ...blocks })
  const rpcUrl = anvil.url
  const call = async (method: string, ...params: readonly unknown[]) => (await callChain(rpcUrl, [[method, params]]))[0]
  await placeContracts(rpcUrl, [])
  const own = testChain(rpcUrl)
  return {
    ...own,
    pid: anvil.pid,
    async mining(how) {
      await call('evm_setAutomine', false)
      await call('evm_setIntervalMining', typeof how === 'string' ? 0 : how.everySeconds)
      // An interval of 0 turns both ways of mining off. This call turns one on again.
      if (how === 'automatic') await call('evm_setAutomine', true)
      if (how === 'automatic') await call('evm_mine')
    },
    mine: async (blocks = 1) => void (await call('anvil_mine', `0x${blocks.toString(16)}`)),
    reorganise: async (blocks) => void (await call('anvil_reorg', blocks, [])),
    async remember() {
      const id = await call('evm_snapshot')
      return async () => {
        if ((await call('evm_revert', id)) !== true) throw new Error('the chain did not go back')
      }
    },
    async send(raw) {
      await call('eth_sendRawTransaction', raw)
      await own.publicClient.waitForTransactionReceipt({ hash: keccak256(raw) })
    },
    drop: async (hash) => void (await call('anvil_dropTransaction', hash)),
    async stop() {
      await anvil.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The tests' tools for a chain that runs at a URL. */
export function testChain(rpcUrl: string): TestChain {
  const transport = http(rpcUrl)
  const publicClient = createPublicClient({ chain: CHAIN, transport, pollingInterval: POLLING_MS })
  const newWallet: TestChain['newWallet'] = async ({ usdc = 0n, eth = 0n } = {}) => {
    const privateKey = generatePrivateKey()
    const account = privateKeyToAccount(privateKey)
    await fundWallets(rpcUrl, [{ address: account.address, usdcMicro: usdc, wei: eth }])
    return { privateKey, account, address: account.address }
  }
  const blacklister: TestChain['blacklister'] = async () => {
    const { account } = await newWallet({ eth: ONE_ETH })
    const wallet = createWalletClient({ chain: CHAIN, transport, account })
    const change = { address: CONTRACTS.LocalUsdc, abi: USDC, functionName: 'setBlacklisted' } as const
    return async (address, isBlocked = true) => {
      const hash = await wallet.writeContract({ ...change, args: [address, isBlocked] })
      await publicClient.waitForTransactionReceipt({ hash })
    }
  }
  return {
    rpcUrl,
    publicClient,
    newWallet,
    usdcBalance: (address) =>
      publicClient.readContract({
        address: CONTRACTS.LocalUsdc,
        abi: USDC,
        functionName: 'balanceOf',
        args: [address],
      }),
    approvePermit2: async ({ account }, amount = 2n ** 256n - 1n) => {
      const wallet = createWalletClient({ chain: CHAIN, transport, account })
      const args = [CONTRACTS.LocalPermit2, amount] as const
      const hash = await wallet.writeContract({
        address: CONTRACTS.LocalUsdc,
        abi: USDC,
        functionName: 'approve',
        args,
      })
      await publicClient.waitForTransactionReceipt({ hash })
      return hash
    },
    blacklist: async (address, isBlocked) => (await blacklister())(address, isBlocked),
    blacklister,
    environment: async (url = rpcUrl) => ({
      CHAIN_RPC_URL: url,
      FACILITATOR_PRIVATE_KEY: (await newWallet({ eth: 100n * ONE_ETH })).privateKey,
      TREASURY_ADDRESS: (await newWallet()).address,
      // Each transaction brings one block, and no other block follows.
      CHAIN_CONFIRMATIONS: '1',
    }),
  }
}
