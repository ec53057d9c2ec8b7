import type { DoorRow } from './door-row.ts'
import { by, reads, without } from './door-row.ts'

/** The reads of operators. */
export const OPERATING_ROWS: readonly DoorRow[] = by('operator', [
  reads('alias.list', 'aliases', 'alias.list'),
  reads('catalog.history', 'catalogHistory', 'catalog.history', () => ({ limit: 5 })),
  reads('price.list', 'referencePrices', 'price.list', () => ({ model: 'gpt-test' })),
  reads('provider.list', 'providers', 'provider.list'),
  reads('market-offer.search', 'anyOffers', 'marketOffer.search', () => ({ limit: 5 })),
  reads('drift.providers', 'providerDrift', 'drift.providers', () => ({ abovePct: 0 })),
  reads('hold.list', 'openHolds', 'hold.list'),
  reads('queue.list', 'queues', 'queue.list'),
  reads('node.list', 'dataPlaneProcesses', 'node.list'),
  without(['behind'], reads('snapshot.read', 'snapshotState', 'snapshot.read')),
  reads('rate-limit.list', 'rateLimits', 'rateLimit.list'),
  reads('feature.list', 'features', 'feature.list'),
  reads('audit.search', 'audit', 'auditLog.search', () => ({ limit: 5 })),
  reads('poison.list', 'poisonedEvents', 'poison.list'),
  reads('conflict.list', 'conflictingEvents', 'conflict.list'),
  reads('shortfall.read', 'shortfall', 'shortfall.read'),
  reads('invariants.read', 'moneyState', 'invariants.read'),
  reads('payments.state', 'walletPaymentsState', 'payments.state'),
  reads('payments.list', 'walletPayments', 'payments.list', () => ({ limit: 5 })),
  reads('payments.debtors', 'walletDebtors', 'payments.debtors'),
  reads('payouts.state', 'treasury', 'payouts.state'),
  reads('payouts.list', 'treasuryTransfers', 'payouts.list', () => ({ limit: 5 })),
  reads('treasury.moves', 'treasuryMoves', 'treasury.moves', () => ({ limit: 5 })),
  reads('treasury.strays', 'strayTokens', 'treasury.strays', () => ({ limit: 5 })),
  reads('treasury.reconciliations', 'treasuryReconciliations', 'treasury.reconciliations'),
])
