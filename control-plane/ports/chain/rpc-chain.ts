import type { Hex, Log, PublicClient } from 'viem'
import {
  createPublicClient,
  decodeFunctionData,
  http,
  parseAbi,
  parseEventLogs,
  TransactionReceiptNotFoundError,
} from 'viem'
import { getAbiItem, getAddress, isAddressEqual } from 'viem/utils'
import { PERMIT2, UPTO_PROXY } from '#shared/chain-terms.ts'
import { SECOND } from '#shared/clock.ts'
import type { Chain, PaymentOnChain, Purse, PurseWish } from './chain.ts'
import { MULTICALL } from './multicall.ts'

const RPC_TIMEOUT_MS = 4_000
/** Blocks in which a payment is looked for: more than an authorization lives on a chain with blocks of a second. */
const MAX_BLOCKS = 2_000n
/** Most transfers of one payer in them that are looked into. */
const MAX_TRANSFERS = 200
const TOKEN = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
  'function nonces(address) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'function authorizationState(address, bytes32) view returns (bool)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])

const TRANSFER = getAbiItem({ abi: TOKEN, name: 'Transfer' })
const NONCES = parseAbi(['function nonceBitmap(address, uint256) view returns (uint256)'])

/** Calls of the upto proxy. Of a whole transaction's data only these arguments count: a payer chooses what it signs. */
const UPTO = parseAbi([
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct TokenPermit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(TokenPermit tokenPermit, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
])

/** Reads a chain through its JSON-RPC endpoint. */
export function createRpcChain(rpcUrl: string): Chain {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS }) })

  async function readReceipt(hash: Hex) {
    try {
      return await client.getTransactionReceipt({ hash })
    } catch (error) {
      if (error instanceof TransactionReceiptNotFoundError) return undefined
      throw error
    }
  }

  /** True when a transaction used the payment's authorization. Of Permit2 only the call itself tells the nonce. */
  async function isFor(hash: Hex, logs: readonly Log[], { asset, payer, nonce, settledBy }: PaymentOnChain) {
    if (nonce.startsWith('0x')) {
      return parseEventLogs({ abi: TOKEN, eventName: 'AuthorizationUsed', logs: logsOf(asset, logs) }).some(
        ({ args }) => args.nonce.toLowerCase() === nonce && isAddressEqual(args.authorizer, getAddress(payer)),
      )
    }
    const { from, to, input } = await client.getTransaction({ hash })
    const isOurs = settledBy !== null && isAddressEqual(from, getAddress(settledBy))
    if (!isOurs || to === null || !isAddressEqual(to, UPTO_PROXY)) return false
    const permit = permitOf(input)
    return permit?.nonce === BigInt(nonce) && isAddressEqual(permit.owner, getAddress(payer))
  }

  return {
    async receiptOf(hash, payment) {
      const receipt = await readReceipt(asHex(hash))
      if (receipt === undefined) return undefined
      const { blockNumber: block, status, logs } = receipt
      const transfers = transfersOf(logs, payment)
      const isIts = transfers.length > 0 && (await isFor(asHex(hash), logs, payment))
      return { block, isReverted: status === 'reverted', moved: isIts ? itsTransfer(transfers, payment.amount) : 0n }
    },
    async findTransfer(payment) {
      const { asset, payer, payTo, amount } = payment
      const head = await client.getBlockNumber({ cacheTime: 0 })
      const transfers = await client.getLogs({
        address: getAddress(asset),
        event: TRANSFER,
        args: { from: getAddress(payer), to: getAddress(payTo) },
        fromBlock: head > MAX_BLOCKS ? head - MAX_BLOCKS : 0n,
        toBlock: head,
      })
      const hashes = new Set(transfers.slice(-MAX_TRANSFERS).map(({ transactionHash }) => transactionHash))
      for (const hash of hashes) {
        const receipt = await readReceipt(hash)
        const isIt = receipt !== undefined && itsTransfer(transfersOf(receipt.logs, payment), amount) > 0n
        if (isIt && (await isFor(hash, receipt.logs, payment))) return hash.toLowerCase()
      }
      return undefined
    },
    async head() {
      const { number, timestamp } = await client.getBlock({ blockTag: 'latest' })
      return { block: number, at: Number(timestamp) * SECOND }
    },
    readPurse: (asset, payer, wish) => readPurse(client, { asset, payer }, wish),
    async hasCode(address) {
      return (await client.getCode({ address: getAddress(address) })) !== undefined
    },
    async checkChain(chainId) {
      const answered = await client.getChainId()
      if (answered !== chainId) throw new Error(`the chain's id is ${answered}, not ${chainId}`)
    },
  }
}

/** Reads a payer's money by one call, which one block answers. */
async function readPurse(
  client: PublicClient,
  { asset, payer }: Pick<PaymentOnChain, 'asset' | 'payer'>,
  { nonces, hasAllowance, hasPermit }: PurseWish,
): Promise<Purse> {
  const [owner, token] = [getAddress(payer), { address: getAddress(asset), abi: TOKEN }]
  const figures = [
    { ...token, functionName: 'balanceOf', args: [owner] } as const,
    ...(hasAllowance ? [{ ...token, functionName: 'allowance', args: [owner, PERMIT2] } as const] : []),
    ...(hasPermit ? [{ ...token, functionName: 'nonces', args: [owner] } as const] : []),
  ]
  const asked = nonces.map((nonce) => useOf(nonce, { owner, token: token.address }))
  const contracts = [...figures, ...asked]
  // Zero puts all of them into one call.
  const answers = await client.multicall({
    ...{ contracts, multicallAddress: MULTICALL, allowFailure: false, batchSize: 0 },
  })
  const figure = (name: (typeof figures)[number]['functionName']) =>
    BigInt(answers[figures.findIndex(({ functionName }) => functionName === name)] ?? 0n)
  const words = answers.slice(figures.length)
  return {
    balance: figure('balanceOf'),
    allowance: figure('allowance'),
    nextPermit: figure('nonces'),
    used: new Set(nonces.filter((nonce, index) => isUsed(nonce, words[index]))),
  }
}

/** The read that tells whether a nonce is used: a flag of EIP-3009, or one of the 256 bits in a word of Permit2. */
function useOf(nonce: string, { owner, token }: { readonly owner: Hex; readonly token: Hex }) {
  return nonce.startsWith('0x')
    ? ({ address: token, abi: TOKEN, functionName: 'authorizationState', args: [owner, asHex(nonce)] } as const)
    : ({ address: PERMIT2, abi: NONCES, functionName: 'nonceBitmap', args: [owner, BigInt(nonce) >> 8n] } as const)
}

function isUsed(nonce: string, word: boolean | bigint | undefined): boolean {
  return typeof word === 'bigint' ? ((word >> (BigInt(nonce) & 0xffn)) & 1n) === 1n : word === true
}

/** The permit that a call of the upto proxy uses. */
function permitOf(input: Hex): { readonly owner: Hex; readonly nonce: bigint } | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: UPTO, data: input })
    const [{ nonce }, , owner] = functionName === 'settle' ? args : [args[1], args[2], args[3]]
    return { owner, nonce }
  } catch {
    return undefined
  }
}

/** What a transaction moved from the payer to us, by transfer. */
function transfersOf(
  logs: readonly Log[],
  { asset, payer, payTo }: Pick<PaymentOnChain, 'asset' | 'payer' | 'payTo'>,
): readonly bigint[] {
  const [from, to] = [getAddress(payer), getAddress(payTo)]
  return parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: logsOf(asset, logs) })
    .filter(({ args }) => isAddressEqual(args.from, from) && isAddressEqual(args.to, to))
    .map(({ args }) => args.value)
}

/** The only transfer, or the largest of several that is not above an amount. */
function itsTransfer(transfers: readonly bigint[], amount: bigint): bigint {
  const [only = 0n] = transfers
  if (transfers.length <= 1) return only
  return transfers.reduce((most, value) => (value <= amount && value > most ? value : most), 0n)
}

function logsOf(contract: string, logs: readonly Log[]): Log[] {
  return logs.filter(({ address }) => isAddressEqual(address, getAddress(contract)))
}

function asHex(text: string): Hex {
  return `0x${text.slice(2)}`
}
