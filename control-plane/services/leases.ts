import { claimLease, releaseLease } from '#control-plane/db/leases.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'

/** A held lease is renewed after this part of its time, so every turn has at least the remaining part. */
const RENEWED_AFTER = 1 / 3

/** Work that one process at a time does, turn by turn. */
export type Lease = {
  /** Runs `run` if this owner has the lease or gets it. Returns false when another owner has it. */
  run(run: () => Promise<void>): Promise<boolean>
  /** Gives the lease back, at the end of a process. */
  end(): Promise<void>
}

/**
 * Makes a lease of `ttlMs` milliseconds, which the owner keeps after a run. An owner with frequent turns asks the
 * database only when the lease may have passed to another.
 */
export function createLease(
  { db, clock }: Pick<Ctx, 'db' | 'clock'>,
  { name, owner, ttlMs }: { readonly name: string; readonly owner: string; readonly ttlMs: number },
): Lease {
  /** The time just before the last claim that succeeded, in monotonic milliseconds. */
  let claimedAt = Number.NEGATIVE_INFINITY
  return {
    async run(run) {
      const now = clock.monotonic()
      if (now - claimedAt >= ttlMs * RENEWED_AFTER) {
        claimedAt = Number.NEGATIVE_INFINITY
        if (!(await claimLease(db, name, owner, ttlMs))) return false
        claimedAt = now
      }
      await run()
      return true
    },
    end() {
      claimedAt = Number.NEGATIVE_INFINITY
      return releaseLease(db, name, owner)
    },
  }
}
