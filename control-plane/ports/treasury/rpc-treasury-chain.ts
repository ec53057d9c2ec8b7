import type { Hex, Log, PublicClient } from 'viem'
import { createPublicClient, decodeFunctionResult, encodeFunctionData, http, parseAbi, parseEventLogs } from 'viem'
import { getAddress, isAddressEqual } from 'viem/utils'
import { readReceipt } from '#control-plane/ports/chain/read-receipt.ts'
import { uptoPermitOf } from '#control-plane/ports/chain/upto-call.ts'
import { UPTO_PROXY } from '#shared/chain-terms.ts'
import { SECOND } from '#shared/clock.ts'
import { asHex } from '#shared/hex.ts'
import { askMany } from './ask-many.ts'
import { readAllowances, readPermitNonce } from './rpc-allowances.ts'
import { listChainMoves } from './rpc-chain-moves.ts'
import type { AuthorizationQuery, TokenMove, TreasuryChain, UsedAuthorization } from './treasury-chain.ts'

const RPC_TIMEOUT_MS = 4 * SECOND
/** Blocks and nonces of one log query. Endpoints refuse more. */
const BLOCKS_A_READ = 2_000n
const NONCES_A_READ = 100
/** Most blocks that are searched: a month of Base. */
const MAX_BLOCKS = 1_300_000n

const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function authorizationState(address, bytes32) view returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])
const [, , , USED] = TOKEN

/** Reads a chain for the treasury through its JSON-RPC endpoint. */
export function createRpcTreasuryChain(rpcUrl: string): TreasuryChain {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS }) })
  type ChainBlock = { readonly number: bigint; readonly hash: Hex; readonly timestamp: bigint }
  const block = ({ number, hash, timestamp }: ChainBlock) => ({ block: number, hash, at: Number(timestamp) * SECOND })
  return {
    async checkChain(chainId) {
      const answered = await client.getChainId()
      if (answered !== chainId) throw new Error(`the chain's id is ${answered}, not ${chainId}`)
    },
    head: async () => block(await client.getBlock({ blockTag: 'latest' })),
    blockAt: async (blockNumber) => block(await client.getBlock({ blockNumber })),
    balanceOf: (asset, owner, blockNumber) =>
      client.readContract({
        address: getAddress(asset),
        abi: TOKEN,
        functionName: 'balanceOf',
        args: [getAddress(owner)],
        ...(blockNumber === undefined ? {} : { blockNumber }),
      }),
    listMoves: (query) => listChainMoves(client, query),
    async proxyUseOf(hash) {
      const { from, to, input } = await client.getTransaction({ hash: asHex(hash) })
      const permit = to !== null && isAddressEqual(to, UPTO_PROXY) ? uptoPermitOf(input) : undefined
      if (permit === undefined) return null
      return { sender: from.toLowerCase(), payer: permit.owner.toLowerCase(), nonce: permit.nonce.toString() }
    },
    readAllowances: (query) => readAllowances(client, query),
    permitNonceOf: (asset, owner) => readPermitNonce(client, asset, owner),
    findUsed: (query) => findUsed(client, query),
    listSpent: (query, at) => listSpent(client, query, at),
    async tryCalls(asset, from, calls) {
      const results = await askMany(client, { target: asset, calls, from })
      return results.map(({ success }) => success)
    },
    async movesOf(asset, hash) {
      const receipt = await readReceipt(client, asHex(hash))
      if (receipt === undefined || receipt.status !== 'success') return undefined
      return { block: receipt.blockNumber, moves: movesIn(receipt.logs, asset) }
    },
  }
}

async function findUsed(
  client: PublicClient,
  { asset, treasury, nonces, fromBlock }: AuthorizationQuery,
): Promise<Map<string, UsedAuthorization>> {
  const usedByNonce = new Map<string, UsedAuthorization>()
  const nonceSet = new Set(nonces.map((nonce) => nonce.toLowerCase()))
  for (const hash of await listUses(client, { asset, treasury, nonces, fromBlock })) {
    const receipt = await readReceipt(client, hash)
    if (receipt === undefined || receipt.status !== 'success') continue
    for (const [nonce, move] of usesIn(receipt.logs, asset, treasury)) {
      if (!nonceSet.has(nonce)) continue
      const { to: recipient, amount } = move
      usedByNonce.set(nonce, { transaction: hash.toLowerCase(), block: receipt.blockNumber, recipient, amount })
    }
  }
  return usedByNonce
}

/** The transactions in which a treasury's nonces were used. */
async function listUses(
  client: PublicClient,
  { asset, treasury, nonces, fromBlock }: AuthorizationQuery,
): Promise<ReadonlySet<Hex>> {
  const hashes = new Set<Hex>()
  const head = await client.getBlockNumber({ cacheTime: 0 })
  const first = head - fromBlock > MAX_BLOCKS ? head - MAX_BLOCKS : fromBlock
  for (const some of slices(nonces, NONCES_A_READ)) {
    for (let from = first; from <= head; from += BLOCKS_A_READ) {
      const last = from + BLOCKS_A_READ - 1n
      const uses = await client.getLogs({
        address: getAddress(asset),
        event: USED,
        args: { authorizer: getAddress(treasury), nonce: [...some] },
        fromBlock: from,
        toBlock: last < head ? last : head,
      })
      for (const { transactionHash } of uses) hashes.add(transactionHash)
    }
  }
  return hashes
}

async function listSpent(
  client: PublicClient,
  { asset, treasury, nonces }: Omit<AuthorizationQuery, 'fromBlock'>,
  block: bigint,
): Promise<ReadonlySet<string>> {
  const spent = new Set<string>()
  for (const some of slices(nonces, NONCES_A_READ)) {
    const calls = some.map((nonce) =>
      encodeFunctionData({ abi: TOKEN, functionName: 'authorizationState', args: [getAddress(treasury), nonce] }),
    )
    const answers = await askMany(client, { target: asset, calls, block })
    for (const [at, { success, returnData }] of answers.entries()) {
      if (!success) throw new Error('the token does not know authorizations')
      const isSpent = decodeFunctionResult({ abi: TOKEN, functionName: 'authorizationState', data: returnData })
      const nonce = some[at]
      if (isSpent && nonce !== undefined) spent.add(nonce.toLowerCase())
    }
  }
  return spent
}

function movesIn(logs: readonly Log[], asset: string): TokenMove[] {
  const ours = logs.filter(({ address }) => isAddressEqual(address, getAddress(asset)))
  return parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: ours }).map(({ args, logIndex }) => ({
    from: args.from.toLowerCase(),
    to: args.to.toLowerCase(),
    amount: args.value,
    index: logIndex,
  }))
}

/** The uses of a treasury's authorizations in a transaction, by nonce. The transfer of each directly follows it. */
function usesIn(logs: readonly Log[], asset: string, treasury: string): Map<string, TokenMove> {
  const moves = new Map(movesIn(logs, asset).map((move) => [move.index, move]))
  const ours = logs.filter(({ address }) => isAddressEqual(address, getAddress(asset)))
  const uses = new Map<string, TokenMove>()
  for (const { args, logIndex } of parseEventLogs({ abi: TOKEN, eventName: 'AuthorizationUsed', logs: ours })) {
    const move = moves.get(logIndex + 1)
    const isOurs = isAddressEqual(args.authorizer, getAddress(treasury)) && move?.from === treasury
    if (isOurs && move !== undefined) uses.set(args.nonce.toLowerCase(), move)
  }
  return uses
}

function* slices<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
