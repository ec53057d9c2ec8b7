import type { Address, PublicClient } from 'viem'
import { parseAbi } from 'viem'
import { getAddress } from 'viem/utils'
import type { ChainMove, ChainMoves, MoveQuery } from './treasury-chain.ts'

/** Payers of one query for used authorizations. Endpoints refuse more. */
const PAYERS_A_READ = 100

const [TRANSFER, USED] = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])

type Transfer = {
  readonly token: string
  readonly transaction: string
  readonly block: bigint
  readonly logIndex: number
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

/**
 * Most transfers of other tokens of one range that are reported. Anybody can make tokens, and their logs by the
 * thousand.
 */
const MAX_STRAYS = 1_000

/**
 * Reads the transfers of a treasury in a range of blocks. It leaves out transfers of zero, which anybody can make, and
 * transfers of the treasury to itself: neither moves money. Other tokens have a query of their own; when the endpoint
 * refuses it, the transfers of our token are returned without them.
 */
export async function listChainMoves(client: PublicClient, query: MoveQuery): Promise<ChainMoves> {
  const { asset, treasury, fromBlock, toBlock } = query
  const span = { fromBlock, toBlock }
  const [to, assetQuery] = [
    getAddress(treasury),
    { address: getAddress(asset), event: TRANSFER, strict: true, ...span } as const,
  ]
  const [incomingLogs, outgoingLogs, anyTokenLogs] = await Promise.all([
    client.getLogs({ ...assetQuery, args: { to } }),
    client.getLogs({ ...assetQuery, args: { from: to } }),
    client.getLogs({ event: TRANSFER, args: { to }, strict: true, ...span }).catch(() => []),
  ])
  const transfers = (logs: typeof incomingLogs): Transfer[] =>
    logs
      .map(({ address, transactionHash, blockNumber, logIndex, args }) => ({
        token: address.toLowerCase(),
        transaction: transactionHash.toLowerCase(),
        block: blockNumber,
        logIndex,
        from: args.from.toLowerCase(),
        to: args.to.toLowerCase(),
        amount: args.value,
      }))
      .filter(({ amount, from, to }) => amount > 0n && from !== to)
      .sort((left, right) =>
        left.block === right.block ? left.logIndex - right.logIndex : left.block < right.block ? -1 : 1,
      )
  const others = transfers(anyTokenLogs.filter(({ address }) => address.toLowerCase() !== asset).slice(0, MAX_STRAYS))
  const incoming = transfers(incomingLogs)
  const outgoing = transfers(outgoingLogs)
  const payers = new Set([...incoming.map(({ from }) => from), ...(outgoing.length > 0 ? [treasury] : [])])
  const nonces = await readNonces(client, { asset, payers: [...payers], ...span })
  const moves = [...movesOf(incoming, 'in', nonces), ...movesOf(outgoing, 'out', nonces)]
  return { moves, strays: movesOf(others, 'in', new Map()) }
}

function movesOf(
  transfers: readonly Transfer[],
  direction: 'in' | 'out',
  nonces: ReadonlyMap<string, string>,
): ChainMove[] {
  const places = new Map<string, number>()
  return transfers.map(({ from, to, ...transfer }) => {
    const place = places.get(transfer.transaction) ?? 0
    places.set(transfer.transaction, place + 1)
    const nonce = nonces.get(nameOf({ ...transfer, payer: from })) ?? null
    return { ...transfer, direction, place, party: direction === 'in' ? from : to, nonce }
  })
}

type UseName = { readonly transaction: string; readonly logIndex: number; readonly payer: string }
const nameOf = ({ transaction, logIndex, payer }: UseName) => `${transaction} ${logIndex} ${payer}`

type NonceQuery = {
  readonly asset: string
  readonly payers: readonly string[]
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** The nonces of used authorizations, by their transfers, which directly follow the use. */
async function readNonces(
  client: PublicClient,
  { asset, payers, ...span }: NonceQuery,
): Promise<ReadonlyMap<string, string>> {
  const nonces = new Map<string, string>()
  for (let at = 0; at < payers.length; at += PAYERS_A_READ) {
    const authorizer: Address[] = payers.slice(at, at + PAYERS_A_READ).map((payer) => getAddress(payer))
    const uses = await client.getLogs({
      address: getAddress(asset),
      event: USED,
      args: { authorizer },
      strict: true,
      ...span,
    })
    for (const { transactionHash, logIndex, args } of uses) {
      const name = { transaction: transactionHash.toLowerCase(), logIndex: logIndex + 1 }
      nonces.set(nameOf({ ...name, payer: args.authorizer.toLowerCase() }), args.nonce.toLowerCase())
    }
  }
  return nonces
}
