import { startFinishPayments } from './finish-payments.ts'
import { startMonthPartitions } from './month-partitions.ts'
import { startMoveTransfers, startWatchTreasury } from './move-transfers.ts'
import { startNoteKeyUses } from './note-key-uses.ts'
import { startFindLostEnds, startFinishJobs, startKeepJobs, startPollJobs } from './poll-jobs.ts'
import { startPostUsage } from './post-usage.ts'
import { startProbeOffers } from './probe-offers.ts'
import { startReconcileSnapshot, startWatchStore } from './publish-snapshot.ts'
import { startPurgeOperations } from './purge-operations.ts'
import { startRenewTokens } from './renew-tokens.ts'
import { startRollUpMarkets } from './roll-up-markets.ts'
import { startSellerOperations, startWakeSellerOperations } from './seller-operations.ts'
import { startSendMail } from './send-mail.ts'
import { startStoreHealth } from './store-health.ts'
import { startSumUsageDays } from './sum-usage-days.ts'
import { startCheckMoney, startCompareBalances, startCompareCounters, startSweepHolds } from './sweep-holds.ts'
import { startSweepSecrets } from './sweep-secrets.ts'
import { startReconcile, startTakeDeposits, startWatchMoves } from './take-deposits.ts'
import { startTendAllowances } from './tend-allowances.ts'
import { startWatchCatalog } from './watch-catalog.ts'
import { startWatchDrift } from './watch-drift.ts'
import { startPurgeWebhooks, startSendWebhooks, startWatchAlerts } from './webhooks.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/** Every worker of the control plane. */
const STARTERS: readonly ((plane: WorkerPlane) => RunningWorker)[] = [
  startPostUsage,
  startSweepHolds,
  startPollJobs,
  startFinishJobs,
  startKeepJobs,
  startFindLostEnds,
  startFinishPayments,
  startTakeDeposits,
  startWatchMoves,
  startReconcile,
  startTendAllowances,
  startMoveTransfers,
  startWatchTreasury,
  startCompareBalances,
  startCompareCounters,
  startCheckMoney,
  startMonthPartitions,
  startWatchStore,
  startReconcileSnapshot,
  startStoreHealth,
  startWakeSellerOperations,
  startSellerOperations,
  startProbeOffers,
  startRenewTokens,
  startPurgeOperations,
  startNoteKeyUses,
  startSweepSecrets,
  startRollUpMarkets,
  startSumUsageDays,
  startWatchCatalog,
  startWatchDrift,
  startWatchAlerts,
  startSendWebhooks,
  startSendMail,
  startPurgeWebhooks,
]

/** Starts all workers of this process. `stop` stops them together and waits for running work. */
export function startWorkers(plane: WorkerPlane): { isReady(): boolean; stop(): Promise<void> } {
  const running = STARTERS.map((start) => start(plane))
  return {
    isReady: () => running.every((worker) => worker.isReady?.() ?? true),
    stop: async () => {
      await Promise.all(running.map((worker) => worker.stop()))
    },
  }
}
