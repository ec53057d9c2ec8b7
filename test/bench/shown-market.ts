import { sql } from 'kysely'
import { freshDashboard } from '#bundle/dashboard.mjs'
import type { Database } from '#control-plane/db/database.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { createServer } from '#control-plane/server.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { keepMarketWarm } from '#control-plane/services/market/market-warmth.ts'
import { createManagementKey, createUser } from '#control-plane/services/users/users.ts'
import { onFilledPlane } from './filled-plane.ts'
import type { MarketSize } from './market-history.ts'
import { fillHealthLog, fillMarket } from './market-history.ts'

const CALLS = Number(process.env['BENCH_CALLS'] ?? 1_000_000)
/** Calls are spread over thirty days, the longest period that a screen of the buyer shows. */
const SIZE: MarketSize = { models: 100, providers: 4, sellers: 200, offers: CALLS / 10, calls: CALLS, hours: 720 }
const HEALTH_LINES = CALLS / 10
const WALLET = `0x${'b'.repeat(40)}`

/** The page of a filled market: its origin, and a key of each side. */
export type ShownMarket = {
  readonly url: string
  readonly keys: { readonly buyer: string; readonly seller: string; readonly operator: string }
}

/**
 * Fills a market of 100,000 offers and a million calls, and serves the page that is built from the present sources. One
 * buyer made all of the calls, which is the worst case of every screen of a buyer; the seller has 500 of the offers.
 */
export async function onShownMarket(measure: (market: ShownMarket) => Promise<void>): Promise<void> {
  const pageDir = await freshDashboard()
  if (pageDir === undefined) throw new Error('the page could not be built')
  await onFilledPlane({ environment: { PAGE_DIR: pageDir }, fill }, async ({ plane }) => {
    await rollUp(plane, 0)
    await plane.publication.reconcile()
    const server = await createServer(plane)
    const stopWarming = await keepMarketWarm(plane)
    try {
      const url = await server.listen({ host: '127.0.0.1', port: 0 })
      await measure({ url, keys: await makeKeys(plane) })
    } finally {
      stopWarming()
      await server.close()
    }
  })
}

async function fill(db: Database): Promise<void> {
  await sql`select make_month_partitions(now() - interval '60 days', 3)`.execute(db)
  await fillMarket(db, SIZE)
  await fillHealthLog(db, SIZE, HEALTH_LINES)
  await sql`insert into model_alias (alias, model, is_manual) select id, id, false from model`.execute(db)
  await sql`insert into account (id, kind, owner, balance, version)
    values ('acc_buyer', 'buyer_credit', 'usr_0', 1000000000, 1)`.execute(db)
  await sql`insert into app_user (id, wallet, buyer_account, seller_account, created_at)
    values ('usr_0', ${WALLET}, 'acc_buyer', 'acc_seller0', now())`.execute(db)
}

async function makeKeys(plane: ControlPlane): Promise<ShownMarket['keys']> {
  const operator = machineOperator('bench')
  const { buyerKey, sellerKey } = await invoke(plane, operator, createUser, { wallet: WALLET })
  const management = await invoke(plane, operator, createManagementKey, { label: 'bench', scope: 'operator' })
  return {
    buyer: buyerKey?.reveal() ?? '',
    seller: sellerKey?.reveal() ?? '',
    operator: management.key.reveal(),
  }
}
