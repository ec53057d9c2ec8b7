import type { Hex } from 'viem'
import { encodeFunctionData } from 'viem'
import { crashPoint } from '#shared/crash-point.ts'
import { asHex } from '#shared/hex.ts'
import type { AskForLeave, Leave } from './leave.ts'
import { createSendAgain } from './send-again.ts'
import type { SenderParts } from './settlement-key.ts'
import { GAS_LIMIT, openSettlementKey } from './settlement-key.ts'
import type { SignedTransaction } from './transaction-store.ts'

/** A call of a contract. */
export type ContractCall = {
  readonly address: Hex
  readonly abi: readonly unknown[]
  readonly functionName: string
  readonly args: readonly unknown[]
  /** The gas limit; that of a settlement by default. */
  readonly gas?: bigint
}

/** Sends the transactions of one key. Each is stored before it is sent. */
export type ChainSender = {
  readonly address: Hex
  /**
   * Signs, stores and sends the transaction of a reference. Returns its hash, or the hash of the stored one. Throws,
   * without a signature, when the permission is no longer valid.
   */
  send(ref: string, call: ContractCall, leave: Leave): Promise<Hex>
  /** Sends a stored transaction again. */
  resend(signedTransaction: SignedTransaction): Promise<void>
  /**
   * Moves on stored transactions that are in no block: sends them again, with a higher fee after a while, including
   * those that the chain forgot. Closes gaps in the nonces. Asks for permission before it signs anything. Returns the
   * number of waiting transactions.
   */
  sendAgain(ask: AskForLeave): Promise<number>
  /** The key's gas money in wei. */
  gasMoney(): Promise<bigint>
}

/** Most nonces that another program may have used since the last read. An endpoint that reports more is wrong. */
const MAX_JUMP = 1_000n

/** Makes the sender of a key. Several processes may share the key, because its nonces come from the store. */
export function createChainSender(parts: SenderParts): ChainSender {
  const key = openSettlementKey(parts)
  const { rpc, address, sender, sign, broadcast } = key
  return {
    address,
    async send(ref, { address: to, abi, functionName, args, gas = GAS_LIMIT }, leave) {
      const [fees, first] = await Promise.all([key.readFees(), rpc.countOf('pending')])
      const data = encodeFunctionData({ abi: [...abi], functionName, args: [...args] })
      // The fees were read before, because a database transaction waits for the signature.
      const signedTransaction = await parts.store.add({ ref, sender, first, maxJump: MAX_JUMP, leave }, (nonce) =>
        sign({ to, data, nonce, gas, ...fees }),
      )
      crashPoint('after_sign')
      await broadcast(signedTransaction)
      return asHex(signedTransaction.hash)
    },
    resend: broadcast,
    sendAgain: createSendAgain(key, parts),
    gasMoney: rpc.gasMoney,
  }
}
