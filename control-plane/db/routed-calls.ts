import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint } from './tables/column.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** A call that the market routed: its usage at the reference price, and the paid amount; micro-USD. */
const ROUTED_CALL_ROW = {
  model: SETTLEMENT_TABLES.settlement.model,
  endpoint: SETTLEMENT_TABLES.settlement.endpoint,
  listMicro: bigint(),
  paidMicro: bigint(),
  /** Milliseconds to the first token. Null for a call that was not streamed. */
  ttftMs: SETTLEMENT_TABLES.settlement.ttft_ms,
}
export type RoutedCall = RowOf<typeof ROUTED_CALL_ROW>

/** Calls of an account that were admitted from `from` to before `to` (Unix milliseconds), at most `limit`. */
export type RoutedWindow = { readonly from: number; readonly to: number; readonly limit: number }

/** The newest calls of models that a seller's offer served and whose usage has a price, newest first. */
export async function listRoutedCalls(db: Database, account: AccountId, window: RoutedWindow): Promise<RoutedCall[]> {
  return readRows(
    db,
    ROUTED_CALL_ROW,
    sql`select model, endpoint, list_cost as "listMicro", charge as "paidMicro", ttft_ms as "ttftMs"
    from settlement
    where account = ${account} and rid >= ${ulidFloor(window.from)} and rid < ${ulidFloor(window.to)}
      and served_by = 'marketplace' and sold is null and list_cost > 0
    order by rid desc limit ${window.limit}`,
  )
}
