import type { Hex } from 'viem'
import { transact } from '#control-plane/db/database.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { changeTransfer, listBatch, listOpenBatches, lockTransfer } from '#control-plane/db/treasury-transfers.ts'
import { MULTICALL, MULTICALL_ABI, manyCalls } from '#control-plane/ports/chain/multicall.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import { calldataOf } from '#control-plane/ports/treasury/authorization.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import { authorizationOf } from './sign-transfers.ts'
import { REASONS } from './transfer-states.ts'
import type { TreasuryCtx } from './treasury-ctx.ts'

/** Most batches that one turn sends. */
const MAX_BATCHES = 20
/** Most transactions that are sent for one batch while each of them reverts. Each has a nonce of its own. */
const MAX_TRIES = 3
/** The most gas of a batch: its own, and that of each transfer. */
const BATCH_GAS = 200_000n
const TRANSFER_GAS = 120_000n

/** Sends the signed batches that are in no transaction yet. Returns their number. */
export async function sendBatches(ctx: TreasuryCtx, leave: Leave): Promise<number> {
  const batches = await listOpenBatches(ctx.db, MAX_BATCHES)
  let sentCount = 0
  for (const batch of batches) {
    try {
      if (await sendBatch(ctx, batch, leave)) sentCount += 1
    } catch (error) {
      ctx.log.warn({ err: error, batch }, 'a batch of transfers will be sent again')
    }
  }
  return sentCount
}

const refOf = (batch: string) => `transfers ${batch}`

/** Sends one batch. The chain takes each authorization once, so a second transaction with it moves nothing. */
async function sendBatch(ctx: TreasuryCtx, batch: string, leave: Leave): Promise<boolean> {
  const { treasury } = ctx
  const ref = refOf(batch)
  const signedTransactions = await treasury.store.list(ref)
  if (signedTransactions.some(({ isReverted }) => isReverted !== true)) return false
  if (new Set(signedTransactions.map(({ nonce }) => nonce)).size >= MAX_TRIES) return false
  await treasury.chain.checkChain(treasury.chainId)
  const { at } = await treasury.chain.head()
  // A transfer whose signature expired before it could be sent is signed again, because its recipient is not at fault.
  const transfers = (await listBatch(ctx.db, batch)).filter(({ validUntil }) => (validUntil?.getTime() ?? 0) > at)
  if (transfers.length === 0) return false
  const calls = transfers.map((transfer) => callOf(treasury, transfer))
  const goes = await treasury.chain.tryCalls(treasury.asset, treasury.address, calls)
  const good = calls.filter((_, at) => goes[at] === true)
  const refusedTransfers = transfers.filter((_, at) => goes[at] !== true)
  for (const transfer of refusedTransfers) await setApart(ctx, transfer)
  if (good.length === 0) return false
  const call = {
    address: MULTICALL,
    abi: MULTICALL_ABI,
    functionName: 'aggregate3',
    args: manyCalls(addressOf(treasury.asset), good),
    gas: BATCH_GAS + TRANSFER_GAS * BigInt(good.length),
  }
  await treasury.sender.send(ref, call, leave)
  return true
}

/** The contract call that executes a signed transfer. */
export function callOf(treasury: TreasuryParts, transfer: TreasuryTransfer): Hex {
  const { signature, validUntil } = transfer
  if (signature === null || validUntil === null) throw new Error(`${transfer.id} is not signed`)
  return calldataOf(authorizationOf(treasury, { ...transfer, validUntil }), addressOf(signature))
}

/** Takes a transfer that the token would refuse out of its batch. Its money waits until the signature has expired. */
async function setApart(ctx: TreasuryCtx, { id, recipient }: TreasuryTransfer): Promise<void> {
  ctx.log.warn({ id, recipient }, 'the token would refuse a transfer')
  await transact(ctx.db, async (trx) => {
    const now = await lockTransfer(trx, id)
    if (now?.state === 'signed') await changeTransfer(trx, id, { batch: null, reason: REASONS.refused })
  })
}

function addressOf(text: string): Hex {
  return `0x${text.slice(2)}`
}
