import type { Difference } from '#control-plane/db/money-findings.ts'
import { replaceFindings } from '#control-plane/db/money-findings.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { CounterGap, GateAudit } from '#control-plane/ports/gate/gate-audit.ts'
import { SECOND } from '#shared/clock.ts'
import { compareBalances } from './sweep.ts'

/** Number of reads before a difference of counters counts, and the time between two reads. */
const LOOKS = 3
const LOOK_EVERY_MS = SECOND

type CompareCtx = Pick<Ctx, 'db' | 'ledger' | 'gate' | 'clock' | 'log' | 'metrics'>

/**
 * Compares the posted balances and versions in the gate with the ledger. Stores the differences and shows them as a
 * metric.
 */
export async function watchBalances(ctx: CompareCtx): Promise<readonly Difference[]> {
  return keep(ctx, 'balance', await compareBalances(ctx))
}

/**
 * Compares the held and unposted amounts of each account in the gate with its calls. A call that begins or ends between
 * two reads looks like a difference, so only a difference that every read shows counts.
 */
export async function watchCounters(
  ctx: CompareCtx & { readonly gateAudit: GateAudit },
): Promise<readonly Difference[]> {
  let lasting = gapsByText(await ctx.gateAudit.counterGaps())
  for (let look = 1; look < LOOKS && lasting.size > 0; look++) {
    await ctx.clock.sleep(LOOK_EVERY_MS)
    const now = gapsByText(await ctx.gateAudit.counterGaps())
    lasting = new Map([...lasting].filter(([text]) => now.has(text)))
  }
  return keep(ctx, 'counter', [...lasting.values()])
}

async function keep(ctx: CompareCtx, kind: string, differences: readonly Difference[]): Promise<readonly Difference[]> {
  await replaceFindings(ctx.db, kind, differences)
  ctx.metrics.findings(kind, differences.length)
  if (differences.length > 0)
    ctx.log.error({ kind, found: differences.slice(0, 20), count: differences.length }, 'the gate differs')
  return differences
}

/** Keys each gap by its size, which other calls of the account do not change. */
function gapsByText(gaps: readonly CounterGap[]): Map<string, Difference> {
  return new Map(
    gaps.map((gap) => {
      const held = gap.heldMicro - gap.heldByCallsMicro
      const unposted = gap.unpostedMicro - gap.unpostedByCallsMicro
      const detail = `held off by ${held}, unposted off by ${unposted}`
      return [`${gap.account} ${detail}`, { subject: gap.account, detail }]
    }),
  )
}
