import type { Hex, TransactionSerializableEIP1559 } from 'viem'
import type { typedDataOf } from './authorization.ts'

/** Signs for the treasury's address. The key itself stays where it is. */
export type TreasurySigner = {
  readonly address: Hex
  /** Signs a transfer of money. Throws when the signer refuses or is out of reach. */
  signAuthorization(typedData: ReturnType<typeof typedDataOf>): Promise<Hex>
  /** Signs a transaction that carries authorizations, and returns the whole transaction. */
  signTransaction(transaction: TransactionSerializableEIP1559): Promise<Hex>
}
