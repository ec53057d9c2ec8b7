import type { AllowanceDraw } from '#control-plane/db/allowance-draws.ts'
import { findDraw, lockDraw, settleDraw } from '#control-plane/db/allowance-draws.ts'
import { changeLine, lockLine } from '#control-plane/db/allowances.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { crashPoint } from '#shared/crash-point.ts'

const PREFIX = 'draw '

/** The reference of a draw's transaction. */
export const drawRef = (id: string) => `${PREFIX}${id}`

/**
 * Finds and locks the draw that a transaction of ours was signed for. Its line is locked first, as everywhere, and accounts
 * after both.
 */
export async function lockDrawOf(trx: Trx, ref: string): Promise<AllowanceDraw | undefined> {
  if (!ref.startsWith(PREFIX)) return undefined
  const draw = await findDraw(trx, ref.slice(PREFIX.length))
  if (draw === undefined) return undefined
  await lockLine(trx, draw.account)
  return lockDraw(trx, draw.id)
}

/**
 * Ends a draw whose tokens came, in the transaction that credits them, whatever state the draw was in. The chain is
 * read for the draw's line at once.
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
