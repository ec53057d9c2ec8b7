import { hasAllowanceLines } from '#control-plane/db/open-work.ts'
import type { AllowanceCtx } from './allowance-ctx.ts'
import { withAllowances } from './allowance-ctx.ts'
import { sendDraws } from './send-draws.ts'
import { sendPermits } from './send-permits.ts'
import { tendLines } from './tend-lines.ts'

export type Tended = { readonly permits: number; readonly drawn: number; readonly lines: number }

/**
 * Tends accounts that pay from their wallets: submits permits, draws debts, and keeps advances within the allowances of
 * the wallets. A failed step does not stop the other steps.
 */
export async function tendAllowances(ctx: AllowanceCtx): Promise<Tended> {
  const lines = withAllowances(ctx)
  if (lines === undefined || !(await hasAllowanceLines(ctx.db))) return { permits: 0, drawn: 0, lines: 0 }
  const attempt = async (what: string, work: () => Promise<number>): Promise<number> => {
    try {
      return await work()
    } catch (error) {
      ctx.log.warn({ err: error, step: what }, 'allowances: a step will be tried again')
      return 0
    }
  }
  const permits = await attempt('permits', () => sendPermits(lines))
  const drawn = await attempt('draws', () => sendDraws(lines))
  return { permits, drawn, lines: await attempt('lines', () => tendLines(lines)) }
}
