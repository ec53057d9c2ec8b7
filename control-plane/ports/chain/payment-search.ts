import type { Hex, Log, PublicClient } from 'viem'
import { parseAbi, parseEventLogs } from 'viem'
import { getAbiItem, getAddress, isAddressEqual } from 'viem/utils'
import { UPTO_PROXY } from '#shared/chain-terms.ts'
import { SECOND } from '#shared/clock.ts'
import { asHex } from '#shared/hex.ts'
import type { PaymentOnChain } from './chain.ts'
import { readPurse } from './read-purse.ts'
import { readReceipt } from './read-receipt.ts'
import { uptoPermitOf } from './upto-call.ts'

/** Limits of a search in one turn. The next turn continues. */
export type LookLimits = {
  /** Blocks of one log query. */
  readonly blocksARead: bigint
  readonly reads: number
}
/** Endpoints refuse queries of more blocks. */
const LIMITS: LookLimits = { blocksARead: 2_000n, reads: 50 }
/** Most blocks that are searched for a payment: a month of Base. */
const MAX_BLOCKS = 1_300_000n
/** Most searches that are remembered. A forgotten search begins anew. */
const MAX_LOOKS = 1_000
/** Most transfers of one payer in the blocks of one query that are examined. */
const MAX_TRANSFERS = 200

const TOKEN = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])
const TRANSFER = getAbiItem({ abi: TOKEN, name: 'Transfer' })
const USED = getAbiItem({ abi: TOKEN, name: 'AuthorizationUsed' })

/** Finds the transactions of payments on a chain. */
export function createPaymentSearch(client: PublicClient, { blocksARead, reads }: LookLimits = LIMITS) {
  /**
   * True when a transaction is our facilitator's call for the payment. For Permit2 the nonce is only in the
   * data of the call.
   */
  async function isCallFor(hash: Hex, { payer, nonce, settledBy }: PaymentOnChain): Promise<boolean> {
    const { from, to, input } = await client.getTransaction({ hash })
    const isOurs = settledBy !== null && isAddressEqual(from, getAddress(settledBy))
    if (!isOurs || to === null || !isAddressEqual(to, UPTO_PROXY)) return false
    const permit = uptoPermitOf(input)
    return permit?.nonce === BigInt(nonce) && isAddressEqual(permit.owner, getAddress(payer))
  }

  /** The amount that a transaction moved by the payment's authorization. */
  async function movedBy(hash: Hex, logs: readonly Log[], payment: PaymentOnChain): Promise<bigint> {
    const transfers = transfersOf(logs, payment)
    if (payment.nonce.startsWith('0x')) return usedTransfer(logs, transfers, payment)
    const amounts = transfers.map(({ amount }) => amount)
    return amounts.length > 0 && (await isCallFor(hash, payment)) ? itsTransfer(amounts, payment.amount) : 0n
  }

  type Blocks = { readonly fromBlock: bigint; readonly toBlock: bigint }

  /** The transactions in some blocks that may have taken a payment, newest first. */
  async function listCandidates({ asset, payer, payTo, nonce }: PaymentOnChain, blocks: Blocks): Promise<Hex[]> {
    const [address, from] = [getAddress(asset), getAddress(payer)]
    const logs = nonce.startsWith('0x')
      ? await client.getLogs({ address, event: USED, args: { authorizer: from, nonce: asHex(nonce) }, ...blocks })
      : await client.getLogs({ address, event: TRANSFER, args: { from, to: getAddress(payTo) }, ...blocks })
    return [...new Set(logs.slice(-MAX_TRANSFERS).map(({ transactionHash }) => transactionHash))].reverse()
  }

  async function findIn(payment: PaymentOnChain, blocks: Blocks): Promise<string | undefined> {
    for (const hash of await listCandidates(payment, blocks)) {
      const receipt = await readReceipt(client, hash)
      if (receipt !== undefined && (await movedBy(hash, receipt.logs, payment)) > 0n) return hash.toLowerCase()
    }
    return undefined
  }

  /** The search for each payment, the last used one at the end. */
  const looks = new Map<string, Look>()

  function remember(name: string, look: Look): void {
    looks.delete(name)
    const [oldest] = looks.keys()
    if (looks.size >= MAX_LOOKS && oldest !== undefined) looks.delete(oldest)
    looks.set(name, look)
  }

  /** The search that continues, or a new one over the blocks since the last finished one. */
  async function lookFor(name: string): Promise<Look> {
    const top = await client.getBlockNumber({ cacheTime: 0 })
    const last = looks.get(name)
    // A chain that went back has other blocks.
    const known = last !== undefined && last.top <= top ? last : undefined
    if (known !== undefined && !isWhole(known)) return known
    // The newest blocks are read again: a reorganised chain has other blocks in their place.
    const floor = known === undefined ? top - MAX_BLOCKS : known.top - blocksARead
    return { top, next: top, floor: floor > 0n ? floor : 0n }
  }

  return {
    movedBy,
    async find(payment: PaymentOnChain): Promise<string | undefined> {
      const { asset, payer, nonce } = payment
      const name = `${asset} ${payer} ${nonce}`
      // An unused nonce needs no search.
      const { used } = await readPurse(client, payment, { nonces: [nonce], hasAllowance: false, hasPermit: false })
      if (!used.has(nonce)) {
        looks.delete(name)
        return undefined
      }
      let look = await lookFor(name)
      for (let read = 0; read < reads && !isWhole(look); read++) {
        const { top, next: toBlock, floor } = look
        const lowest = toBlock - blocksARead + 1n
        const fromBlock = lowest > floor ? lowest : floor
        const isOlder = await isBefore(client, toBlock, payment.since)
        const found = isOlder ? undefined : await findIn(payment, { fromBlock, toBlock })
        if (found !== undefined) {
          looks.delete(name)
          return found
        }
        look = { top, floor, next: isOlder ? floor - 1n : fromBlock - 1n }
        remember(name, look)
      }
      // A payer may use a nonce up without a transfer, so a search has an end.
      if (!isWhole(look)) throw new Error(`the search for a payment continues below block ${look.next}`)
      return undefined
    },
  }
}

/** Blocks that are searched for a payment, from `top` down to `floor`. `next` is the next block to read. */
type Look = { readonly top: bigint; readonly next: bigint; readonly floor: bigint }

function isWhole({ next, floor }: Look): boolean {
  return next < floor
}

async function isBefore(client: PublicClient, blockNumber: bigint, since: number): Promise<boolean> {
  const { timestamp } = await client.getBlock({ blockNumber })
  return Number(timestamp) * SECOND < since
}

type Moved = { readonly amount: bigint; readonly index: number }

/** Transfers of a transaction from the payer to us. */
function transfersOf(
  logs: readonly Log[],
  { asset, payer, payTo }: Pick<PaymentOnChain, 'asset' | 'payer' | 'payTo'>,
): readonly Moved[] {
  const [from, to] = [getAddress(payer), getAddress(payTo)]
  return parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: logsOf(asset, logs) })
    .filter(({ args }) => isAddressEqual(args.from, from) && isAddressEqual(args.to, to))
    .map(({ args, logIndex }) => ({ amount: args.value, index: logIndex }))
}

/**
 * The transfer of an authorization (EIP-3009), which directly follows its use. Other transfers of the transaction do
 * not belong to it.
 */
function usedTransfer(
  logs: readonly Log[],
  transfers: readonly Moved[],
  { asset, payer, nonce }: Pick<PaymentOnChain, 'asset' | 'payer' | 'nonce'>,
): bigint {
  const use = parseEventLogs({ abi: TOKEN, eventName: 'AuthorizationUsed', logs: logsOf(asset, logs) }).find(
    ({ args }) => args.nonce.toLowerCase() === nonce && isAddressEqual(args.authorizer, getAddress(payer)),
  )
  if (use === undefined) return 0n
  return transfers.find(({ index }) => index === use.logIndex + 1)?.amount ?? 0n
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
