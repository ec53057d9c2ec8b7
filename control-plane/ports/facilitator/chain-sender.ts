import type { Hex, PrivateKeyAccount } from 'viem'
import { createPublicClient, encodeFunctionData, http, keccak256 } from 'viem'
import type { Logger } from '#shared/logger.ts'

/** A transaction as it was signed. */
export type SignedTransaction = {
  readonly hash: string
  readonly raw: string
  readonly nonce: bigint
  readonly minedAt: Date | null
  readonly isReverted: boolean | null
}

/** The place where signed transactions are kept. It hands out the nonces of a sender to every process that uses its key. */
export type TransactionStore = {
  /** The newest transaction for a reference. */
  find(ref: string): Promise<SignedTransaction | undefined>
  /**
   * Takes the sender's next nonce, signs with it and stores the result, in one transaction. Answers the stored one when
   * the reference has one. `first` is the nonce to begin with when the sender is new here.
   */
  add(
    entry: { readonly ref: string; readonly sender: string; readonly first: bigint },
    sign: (nonce: bigint) => Promise<{ readonly hash: string; readonly raw: string }>,
  ): Promise<SignedTransaction>
  markSent(hash: string): Promise<void>
  markMined(hash: string, isReverted: boolean): Promise<void>
  /** Transactions that are in no block, oldest first. */
  listUnmined(sender: string, olderThanMs: number, limit: number): Promise<SignedTransaction[]>
}

/** A call of a contract. */
export type ContractCall = {
  readonly address: Hex
  readonly abi: readonly unknown[]
  readonly functionName: string
  readonly args: readonly unknown[]
}

/** Sends the transactions of one key. Each is stored before it is sent. */
export type ChainSender = {
  readonly address: Hex
  /** Signs, stores and sends the transaction of a reference. Answers its hash, or that of the one that is stored. */
  send(ref: string, call: ContractCall): Promise<Hex>
  /** Sends a stored transaction again. */
  resend(signed: SignedTransaction): Promise<void>
  /** Sends stored transactions again that are in no block. Answers their number. */
  sendAgain(): Promise<number>
  /** The key's gas money in wei. */
  gasMoney(): Promise<bigint>
}

const RPC_TIMEOUT_MS = 4_000
/** Gas that any settlement stays below: one with a permit takes about 190,000. */
const GAS_LIMIT = 400_000n
/** Fees are asked for once in so many milliseconds, and doubled, so that a few full blocks do not leave us behind. */
const FEES_MS = 5_000
const FEE_FACTOR = 2n
const AGAIN_AFTER_MS = 5_000
const MAX_AGAIN = 100

type Parts = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly account: PrivateKeyAccount
  readonly store: TransactionStore
  readonly log: Logger
}

/** Makes the sender of a key. Several processes may share the key, because its nonces come from the store. */
export function createChainSender({ rpcUrl, chainId, account, store, log }: Parts): ChainSender {
  const client = createPublicClient({ transport: http(rpcUrl, { retryCount: 0, timeout: RPC_TIMEOUT_MS }) })
  let fees: { readonly at: number; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint } | undefined

  async function readFees() {
    const now = performance.now()
    if (fees !== undefined && now - fees.at < FEES_MS) return fees
    const { maxFeePerGas, maxPriorityFeePerGas } = await client.estimateFeesPerGas({ chain: null, type: 'eip1559' })
    fees = { at: now, maxFeePerGas: maxFeePerGas * FEE_FACTOR, maxPriorityFeePerGas }
    return fees
  }

  /** Signs with the fees that were read before, because a database transaction waits for it. */
  async function sign(
    call: ContractCall,
    nonce: bigint,
    { maxFeePerGas, maxPriorityFeePerGas }: NonNullable<typeof fees>,
  ) {
    const data = encodeFunctionData({ abi: [...call.abi], functionName: call.functionName, args: [...call.args] })
    const raw = await account.signTransaction({
      ...{ type: 'eip1559', chainId, to: call.address, data, nonce: Number(nonce), gas: GAS_LIMIT },
      ...{ maxFeePerGas, maxPriorityFeePerGas },
    })
    return { hash: keccak256(raw), raw }
  }

  async function broadcast({ hash, raw }: Pick<SignedTransaction, 'hash' | 'raw'>): Promise<void> {
    try {
      await client.sendRawTransaction({ serializedTransaction: asHex(raw) })
    } catch (error) {
      // What the chain has already is what we want. Anything else is tried again, with the same bytes.
      log.debug({ err: error, hash }, 'a transaction was not taken at once')
    }
    await store.markSent(hash)
  }

  return {
    address: account.address,
    async send(ref, call) {
      const [prices, first] = await Promise.all([
        readFees(),
        client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
      ])
      const entry = { ref, sender: account.address.toLowerCase(), first: BigInt(first) }
      const signed = await store.add(entry, (nonce) => sign(call, nonce, prices))
      await broadcast(signed)
      return asHex(signed.hash)
    },
    resend: broadcast,
    async sendAgain() {
      const waiting = await store.listUnmined(account.address.toLowerCase(), AGAIN_AFTER_MS, MAX_AGAIN)
      for (const signed of waiting) {
        const receipt = await client.getTransactionReceipt({ hash: asHex(signed.hash) }).catch(() => undefined)
        if (receipt === undefined) await broadcast(signed)
        else await store.markMined(signed.hash, receipt.status === 'reverted')
      }
      return waiting.length
    },
    gasMoney: () => client.getBalance({ address: account.address }),
  }
}

function asHex(text: string): Hex {
  if (!text.startsWith('0x')) throw new RangeError('not hexadecimal')
  return `0x${text.slice(2)}`
}
