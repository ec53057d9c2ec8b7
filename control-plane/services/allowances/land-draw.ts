import type { AllowanceDraw } from '#control-plane/db/allowance-draws.ts'
import { findDraw, lockDraw, settleDraw } from '#control-plane/db/allowance-draws.ts'
import { changeLine, lockLine } from '#control-plane/db/allowances.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { crashPoint } from '#shared/crash-point.ts'

const PREFIX = 'draw '

/** The reference of a draw's transaction. */
export const drawRef = (id: string) => `${PREFIX}${id}`

/**
 * Finds and locks the draw that one of our transactions carries. Locks go in the usual order: the line first, both
 * accounts last.
 */
export async function lockDrawOf(trx: Trx, ref: string): Promise<AllowanceDraw | undefined> {
  if (!ref.startsWith(PREFIX)) return undefined
  const draw = await findDraw(trx, ref.slice(PREFIX.length))
  if (draw === undefined) return undefined
  await lockLine(trx, draw.account)
  return lockDraw(trx, draw.id)
}

/**
 * Ends a draw in the transaction that credits its tokens, whatever the state of the draw. The next turn reads the chain
 * for the line again.
 */
export async function landDraw(
  trx: Trx,
  { id, account }: Pick<AllowanceDraw, 'id' | 'account'>,
  landing: Parameters<typeof settleDraw>[2],
): Promise<void> {
  await settleDraw(trx, id, landing)
  await changeLine(trx, account, { failures: 0, retryAt: null, readAt: null })
  crashPoint('draw_in_tx')
}
