import type { Hex, TransactionSerializableEIP1559 } from 'viem'
import { keccak256 } from 'viem'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { asHex } from '#shared/hex.ts'
import type { Logger } from '#shared/logger.ts'
import type { PaymentTimes } from './payment-parts.ts'
import type { Fees, SettlementRpc } from './settlement-rpc.ts'
import type { SignedTransaction, TransactionStore } from './transaction-store.ts'

/** The upper bound of a settlement's gas: one with a permit takes about 190,000. */
export const GAS_LIMIT = 400_000n
/** Fees are read once in this many milliseconds, and doubled, so that a few full blocks do not outbid us. */
const FEES_MS = 5 * SECOND
const FEE_FACTOR = 2n

/** Signs the transactions of one address. */
export type TransactionSigner = {
  readonly address: Hex
  signTransaction(transaction: TransactionSerializableEIP1559): Promise<Hex>
}

export type SenderParts = {
  readonly rpc: SettlementRpc
  readonly chainId: number
  readonly account: TransactionSigner
  readonly store: TransactionStore
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
  readonly times: PaymentTimes
  /** Throws while the chain differs from that of the stored transactions. */
  readonly know?: () => Promise<void>
}
type TransactionPlan = Fees & { readonly to: Hex; readonly data?: Hex; readonly nonce: bigint; readonly gas: bigint }

export type SettlementKey = ReturnType<typeof openSettlementKey>

/** The actions of a key for transactions: it signs and sends them, and reads the chain's nonce and fees. */
export function openSettlementKey({ rpc, chainId, account, store, clock, log }: Omit<SenderParts, 'times'>) {
  const { address } = account
  return {
    rpc,
    address,
    /** The address as the store has it. */
    sender: address.toLowerCase(),
    readFees: createFeeReader(rpc.estimateFees, clock.monotonic),
    async sign({ nonce, ...fields }: TransactionPlan) {
      crashPoint('before_sign')
      const raw = await account.signTransaction({ type: 'eip1559', chainId, nonce: Number(nonce), ...fields })
      return { hash: keccak256(raw), raw }
    },
    async broadcast({ hash, raw }: Pick<SignedTransaction, 'hash' | 'raw'>): Promise<void> {
      try {
        await rpc.send(asHex(raw))
      } catch (error) {
        // A transaction that the chain already has needs no second send. Any other is sent again, with the same bytes.
        log.debug({ err: error, hash }, 'a transaction was not taken at once')
      }
      crashPoint('after_broadcast')
      await store.markSent(hash)
    },
  }
}

/** Reads the current fees, at most once in {@link FEES_MS}. */
function createFeeReader(ask: () => Promise<Fees>, monotonic: () => number): () => Promise<Fees> {
  let knownFees: (Fees & { readonly at: number }) | undefined
  return async () => {
    const now = monotonic()
    if (knownFees !== undefined && now - knownFees.at < FEES_MS) return knownFees
    const { maxFeePerGas, maxPriorityFeePerGas } = await ask()
    knownFees = { at: now, maxFeePerGas: maxFeePerGas * FEE_FACTOR, maxPriorityFeePerGas }
    return knownFees
  }
}
