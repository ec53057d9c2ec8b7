import { claimLease, releaseLease } from '#control-plane/db/leases.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'

/** Runs `run` if this owner gets the lease. Returns false when another owner has it. The lease stays after the run. */
export async function withLease(
  ctx: Pick<Ctx, 'db'>,
  lease: { readonly name: string; readonly owner: string; readonly ttlMs: number },
  run: () => Promise<void>,
): Promise<boolean> {
  if (!(await claimLease(ctx.db, lease.name, lease.owner, lease.ttlMs))) return false
  await run()
  return true
}

/** Releases a lease at the end of a process. */
export function endLease(
  ctx: Pick<Ctx, 'db'>,
  lease: { readonly name: string; readonly owner: string },
): Promise<void> {
  return releaseLease(ctx.db, lease.name, lease.owner)
}
