import { finishOpenPayments } from '#control-plane/services/payments/finish-payments.ts'
import { withPayments } from '#control-plane/services/payments/payment-ctx.ts'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = SECOND
/** A turn may wait for the chain. */
const LEASE_MS = 30 * SECOND

/** Finishes payments by wallets. */
export function startFinishPayments(plane: WorkerPlane): RunningWorker {
  const ctx = withPayments(plane)
  return repeat(plane, {
    name: 'finish-payments',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => {
      if (ctx !== undefined) await finishOpenPayments(ctx)
    },
  })
}
