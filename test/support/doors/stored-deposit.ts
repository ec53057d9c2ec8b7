import { insertPermit } from '#control-plane/db/allowance-draws.ts'
import { openLine } from '#control-plane/db/allowances.ts'
import { transact } from '#control-plane/db/database.ts'
import { changeDeposit, insertDeposit } from '#control-plane/db/deposits.ts'
import { upsertMoves } from '#control-plane/db/treasury-moves.ts'
import { nonceOf } from '#control-plane/ports/treasury/authorization.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { newMoveMemory } from '#control-plane/ports/treasury/move-parts.ts'
import { createRpcTreasuryChain } from '#control-plane/ports/treasury/rpc-treasury-chain.ts'
import { HOUR } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import type { TestMarket } from './control-plane.ts'

const TREASURY = `0x${'7e'.repeat(20)}`
const PURSE = { chainId: 8_453, asset: `0x${'83'.repeat(20)}`, treasury: TREASURY }

/** A treasury on an unreachable chain, for operations that need no chain. */
export const FAR_MOVES: MoveParts = {
  ...PURSE,
  assetName: 'USD Coin',
  assetVersion: '2',
  confirmations: 12,
  firstBlock: null,
  coldAddress: null,
  chain: createRpcTreasuryChain('http://127.0.0.1:1'),
  isFormer: false,
  memory: newMoveMemory(),
}

/** Stores a signed deposit of an account, and a transfer of an unknown sender. Returns the deposit's id. */
export async function storeDeposit({ plane }: Pick<TestMarket, 'plane'>, account: AccountId): Promise<string> {
  const id = plane.ids.make('dep')
  const validUntil = new Date(plane.clock.now() + HOUR)
  const sender = `0x${'5e'.repeat(20)}`
  await transact(plane.db, async (trx) => {
    await insertDeposit(trx, PURSE, { id, account, sender, amount: 5_000_000n, nonce: nonceOf(id), validUntil })
    await changeDeposit(trx, id, { state: 'signed', signature: `0x${'1'.repeat(130)}` })
    const move = { direction: 'in', transaction: `0x${'ab'.repeat(32)}`, place: 0, block: 5n, logIndex: 1 } as const
    await upsertMoves(trx, PURSE, [{ ...move, party: sender, amount: 7n, nonce: null }])
  })
  return id
}

export const STORED_SIGNATURE = `0x${'2'.repeat(130)}` as const

/** Opens the line of an account, and stores a permit that its wallet signed. */
export async function storePermit({ plane }: Pick<TestMarket, 'plane'>, account: AccountId, wallet: string) {
  const deadline = new Date(plane.clock.now() + HOUR)
  const permit = { id: plane.ids.make('prm'), value: 5_000_000n, nonce: 0n, deadline, signature: STORED_SIGNATURE }
  await transact(plane.db, async (trx) => {
    const advance = plane.ids.make('acc')
    await openLine(trx, PURSE, { account, wallet: wallet.toLowerCase(), advance, owner: `usr_${advance.slice(4)}` })
    await insertPermit(trx, { ...permit, account })
  })
}
