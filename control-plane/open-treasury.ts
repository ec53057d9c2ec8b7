import { systemClock } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { ControlConfig, TreasuryConfig } from './config.ts'
import type { Database } from './db/database.ts'
import { storeIn } from './open-payments.ts'
import { createChainSender } from './ports/facilitator/chain-sender.ts'
import { PAYMENT_TIMES } from './ports/facilitator/payment-parts.ts'
import { createSettlementRpc } from './ports/facilitator/settlement-rpc.ts'
import { createAddressFile, EMPTY_LIST } from './ports/treasury/address-list.ts'
import { createLocalSigner } from './ports/treasury/local-signer.ts'
import type { MoveParts } from './ports/treasury/move-parts.ts'
import { newMoveMemory } from './ports/treasury/move-parts.ts'
import { createRemoteSigner } from './ports/treasury/remote-signer.ts'
import { createRpcTreasuryChain } from './ports/treasury/rpc-treasury-chain.ts'
import type { TreasuryParts } from './ports/treasury/treasury-parts.ts'
import type { TreasurySigner } from './ports/treasury/treasury-signer.ts'
import { requireKnownChain } from './services/treasury/known-chain.ts'

/** Makes all parts of transfers out of the treasury; null without a signer. */
export function openTreasury(
  { treasury }: Pick<ControlConfig, 'treasury'>,
  db: Database,
  log: Logger,
  times = PAYMENT_TIMES,
): TreasuryParts | null {
  if (treasury === undefined) return null
  const signer = signerOf(treasury)
  const rpcUrl = treasury.rpcUrl.reveal()
  const rpc = createSettlementRpc(rpcUrl, signer.address)
  const { chainId, blockedFile } = treasury
  const store = storeIn(db)
  const chain = createRpcTreasuryChain(rpcUrl)
  const [asset, address] = [treasury.asset.toLowerCase(), signer.address.toLowerCase()]
  const know = () => requireKnownChain(db, chain, { chainId, asset, treasury: address })
  const sending = { rpc, chainId, account: signer, store, clock: systemClock, log, times, know }
  return {
    chainId,
    asset,
    assetName: treasury.assetName,
    assetVersion: treasury.assetVersion,
    address,
    confirmations: treasury.confirmations,
    validMs: treasury.validMs,
    coldAddress: treasury.coldAddress?.toLowerCase() ?? null,
    ceilingMicro: treasury.ceilingMicro,
    floorMicro: treasury.floorMicro,
    chain,
    signer,
    sender: createChainSender(sending),
    store,
    blocked: blockedFile === undefined ? EMPTY_LIST : createAddressFile(blockedFile),
  }
}

/** Makes the reader of the treasury's transfers; null without a treasury or a chain. */
export function openMoves({ moves }: Pick<ControlConfig, 'moves'>): MoveParts | null {
  if (moves === undefined) return null
  const { rpcUrl, asset, address, coldAddress, ...rest } = moves
  return {
    ...rest,
    asset: asset.toLowerCase(),
    treasury: address.toLowerCase(),
    coldAddress: coldAddress?.toLowerCase() ?? null,
    chain: createRpcTreasuryChain(rpcUrl.reveal()),
    isFormer: false,
    memory: newMoveMemory(),
  }
}

/** Throws for a key that is not the treasury's, because its signatures would move nothing. */
function signerOf({ address, signing }: TreasuryConfig): TreasurySigner {
  if ('url' in signing) return createRemoteSigner(signing.url, address)
  const signer = createLocalSigner(`0x${signing.key.reveal().slice(2)}`)
  if (signer.address !== address) throw new Error('the treasury key is not that of TREASURY_ADDRESS')
  return signer
}
