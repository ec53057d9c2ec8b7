import type { ChainSender } from '#control-plane/ports/facilitator/chain-sender.ts'
import type { TransactionStore } from '#control-plane/ports/facilitator/transaction-store.ts'
import type { AddressList } from './address-list.ts'
import type { TreasuryChain } from './treasury-chain.ts'
import type { TreasurySigner } from './treasury-signer.ts'

/** All parts of transfers out of the treasury; see plane.ts. Amounts are micro-USD. */
export type TreasuryParts = {
  readonly chainId: number
  /** In lower case, as is the treasury's address. */
  readonly asset: string
  readonly assetName: string
  readonly assetVersion: string
  readonly address: string
  /** Blocks, its own included, after which a transfer counts as final. */
  readonly confirmations: number
  /** The time for which a signed transfer can be used, in milliseconds. */
  readonly validMs: number
  /** The address that gets the treasury's surplus above the ceiling; null disables sweeps. */
  readonly coldAddress: string | null
  readonly ceilingMicro: bigint
  /** Below this balance an alarm asks for a refill. */
  readonly floorMicro: bigint
  readonly chain: TreasuryChain
  readonly signer: Pick<TreasurySigner, 'signAuthorization'>
  readonly sender: Pick<ChainSender, 'send' | 'sendAgain' | 'gasMoney'>
  /** The transactions that carried a batch. */
  readonly store: Pick<TransactionStore, 'list'>
  readonly blocked: AddressList
}
