import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Updates } from '#control-plane/ports/updates/updates.ts'
import type { BuyerJob } from '#control-plane/services/jobs/job-view.ts'
import type { CreditBalance } from '#control-plane/services/ledger/credit.ts'
import type { BookState, OfferHealth } from '#control-plane/services/live-reads.ts'
import type { TradeView } from '#control-plane/services/market/market-series.ts'
import type { OperationView } from '#control-plane/services/offers/seller-operations.ts'
import type { Topics } from './topics.ts'
import { createTopics } from './topics.ts'

/** The changes that can be watched in one process. */
export type LiveTopics = {
  readonly book: Topics<BookState>
  readonly feed: Topics<readonly TradeView[]>
  readonly health: Topics<readonly OfferHealth[]>
  readonly credit: Topics<CreditBalance>
  readonly jobs: Topics<readonly BuyerJob[]>
  readonly operation: Topics<OperationView>
}

export function createLive(ctx: Ctx & { readonly updates: Updates }): LiveTopics {
  return {
    book: createTopics(ctx),
    feed: createTopics(ctx),
    health: createTopics(ctx),
    credit: createTopics(ctx),
    jobs: createTopics(ctx),
    operation: createTopics(ctx),
  }
}
