import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { TreasurySigner } from './treasury-signer.ts'

/** Signs with a key of this process. */
export function createLocalSigner(key: Hex): TreasurySigner {
  const account = privateKeyToAccount(key)
  return {
    address: account.address,
    signAuthorization: (typedData) => account.signTypedData(typedData),
    signTransaction: (transaction) => account.signTransaction(transaction),
  }
}
