import { encodeFunctionData } from 'viem'
import { transact } from '#control-plane/db/database.ts'
import type { Deposit } from '#control-plane/db/deposits.ts'
import { changeDeposit, expireDeposits, listSignedDeposits, lockDeposit } from '#control-plane/db/deposits.ts'
import { findDepositWork } from '#control-plane/db/open-work.ts'
import { findCursor, listFormerPurses } from '#control-plane/db/treasury-moves.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import { useOf } from '#control-plane/ports/treasury/authorization.ts'
import { newMoveMemory } from '#control-plane/ports/treasury/move-parts.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import { askToTake } from '#control-plane/services/gate/may-leave.ts'
import { headOfKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { authorizationOf } from './deposit-views.ts'
import type { DepositCtx, MoveCtx } from './move-ctx.ts'
import { purseOf, withMoves } from './move-ctx.ts'
import { readMoves } from './read-moves.ts'
import { takeMoves } from './take-moves.ts'

/** Most deposits of one turn. */
const MAX_A_TURN = 50
/** Most transactions, by nonce, for one deposit when each of them reverts. */
const MAX_TRIES = 3

export type DepositCounts = { readonly sent: number; readonly read: number; readonly credited: number }

/**
 * Credits deposits: submits the authorizations that buyers signed, reads transfers to the treasury, and credits them. A
 * failed step does not stop the other steps.
 */
export async function takeDeposits(ctx: DepositCtx): Promise<DepositCounts> {
  const reading = withMoves(ctx)
  if (reading === undefined) return { sent: 0, read: 0, credited: 0 }
  const attempt = async (what: string, work: () => Promise<number>): Promise<number> => {
    try {
      return await work()
    } catch (error) {
      ctx.log.warn({ err: error, step: what }, 'deposits: a step will be tried again')
      return 0
    }
  }
  const { isSigned, isNew, isOverdue } = await findDepositWork(ctx.db, purseOf(reading.moves))
  const sentCount = isSigned ? await attempt('send', () => sendDeposits(reading)) : 0
  const read = await attempt('read', () => readMoves(reading))
  const credited = isNew || read > 0 ? await attempt('credit', () => takeMoves(reading)) : 0
  await attempt('former', () => readFormer(reading))
  if (isOverdue) await attempt('expire', () => endOverdue(reading))
  return { sent: sentCount, read, credited }
}

/**
 * Reads departures of former treasuries, which a restored ledger may lack. Money that arrives there is not
 * credited, because the holder of an old key could send the same money again and again.
 */
async function readFormer(ctx: MoveCtx): Promise<number> {
  const { heldAt, joinedAt } = await ctx.ledger.readEpoch()
  if (heldAt === undefined || joinedAt === undefined) return 0
  let read = 0
  for (const purse of await listFormerPurses(ctx.db, purseOf(ctx.moves))) {
    if (purse.chainId !== ctx.moves.chainId) continue
    const moves = { ...ctx.moves, ...purse, isFormer: true, memory: newMoveMemory() }
    try {
      read += await readMoves({ ...ctx, moves })
      await takeMoves({ ...ctx, moves })
    } catch (error) {
      ctx.log.warn({ err: error, treasury: purse.treasury }, 'a former treasury will be read again')
    }
  }
  return read
}

/** Sends signed deposits that are in no transaction yet. The treasury pays for the gas. */
export async function sendDeposits(ctx: MoveCtx): Promise<number> {
  const { treasury, moves } = ctx
  if (treasury === null) return 0
  const signedDeposits = await listSignedDeposits(ctx.db, purseOf(moves), MAX_A_TURN)
  if (signedDeposits.length === 0) return 0
  await headOfKnownChain(ctx, treasury.chain, purseOf(moves))
  const leave = await askToTake(ctx)
  if (leave === undefined) return 0
  let sentCount = 0
  for (const deposit of signedDeposits) {
    try {
      if (await sendDeposit(ctx, { treasury, leave }, deposit)) sentCount += 1
    } catch (error) {
      ctx.log.warn({ err: error, id: deposit.id }, 'a deposit will be sent again')
    }
  }
  return sentCount
}

const refOf = (id: string) => `deposit ${id}`

type Sending = { readonly treasury: TreasuryParts; readonly leave: Leave }

async function sendDeposit(ctx: MoveCtx, { treasury, leave }: Sending, deposit: Deposit): Promise<boolean> {
  const ref = refOf(deposit.id)
  const signedTransactions = await treasury.store.list(ref)
  if (signedTransactions.some(({ isReverted }) => isReverted !== true)) return false
  const use = callOf(ctx, deposit)
  const tries = new Set(signedTransactions.map(({ nonce }) => nonce)).size
  const [goes] =
    tries >= MAX_TRIES
      ? [false]
      : await treasury.chain.tryCalls(treasury.asset, treasury.address, [encodeFunctionData(use)])
  if (goes !== true) {
    await refuse(ctx, deposit)
    return false
  }
  await treasury.sender.send(ref, { address: `0x${treasury.asset.slice(2)}`, ...use }, leave)
  return true
}

/** The contract call that executes a signed deposit. */
function callOf({ moves }: Pick<MoveCtx, 'moves'>, deposit: Deposit) {
  const { signature, nonce, validUntil } = deposit
  if (signature === null || nonce === null || validUntil === null) throw new Error(`${deposit.id} is not signed`)
  return useOf(authorizationOf(moves, { ...deposit, nonce, validUntil }), `0x${signature.slice(2)}`)
}

/** Notes that the token refused a deposit. Money that its authorization brings later is still credited. */
async function refuse(ctx: MoveCtx, { id }: Deposit): Promise<void> {
  await transact(ctx.db, async (trx) => {
    const now = await lockDeposit(trx, id)
    if (now?.state === 'signed') await changeDeposit(trx, id, { state: 'refused', reason: 'token_refused' })
  })
}

/** Ends deposits that were not used in time, once all blocks of that time were read. */
async function endOverdue(ctx: MoveCtx): Promise<number> {
  const purse = purseOf(ctx.moves)
  const cursor = await findCursor(ctx.db, purse)
  if (cursor === undefined || cursor.nextBlock === 0n) return 0
  const { at } = await ctx.moves.chain.blockAt(cursor.nextBlock - 1n)
  return Number(await expireDeposits(ctx.db, purse, new Date(at)))
}
