import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database } from './database.ts'

/** What a buyer has used: amounts in micro-USD; input counts cached tokens, output counts reasoning. */
export type UsageTotals = {
  readonly spent: bigint
  readonly listCost: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly requests: bigint
}

const TOTALS = sql.raw(`coalesce(sum(charge), 0)::bigint as spent,
  coalesce(sum(list_cost), 0)::bigint as "listCost",
  coalesce(sum(input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens), 0)::bigint as "inputTokens",
  coalesce(sum(output_tokens + reasoning_tokens + audio_output_tokens), 0)::bigint as "outputTokens",
  count(*) as requests`)

const NOTHING: UsageTotals = { spent: 0n, listCost: 0n, inputTokens: 0n, outputTokens: 0n, requests: 0n }

/** The totals of an account since an instant in Unix milliseconds, 0 for all of it. Failed calls count as requests. */
export async function sumBuyerUsage(db: Database, account: AccountId, sinceMs = 0): Promise<UsageTotals> {
  const { rows } = await sql<UsageTotals>`select ${TOTALS} from settlement
    where account = ${account} and rid >= ${ulidFloor(sinceMs)}`.execute(db)
  return rows[0] ?? NOTHING
}

/** The same by model, from the model most was spent on. */
export async function sumBuyerUsageByModel(
  db: Database,
  account: AccountId,
  query: { readonly sinceMs: number; readonly limit: number },
): Promise<(UsageTotals & { readonly model: string })[]> {
  const { rows } = await sql<UsageTotals & { model: string }>`select model, ${TOTALS} from settlement
    where account = ${account} and rid >= ${ulidFloor(query.sinceMs)}
    group by model order by spent desc, model limit ${query.limit}`.execute(db)
  return rows
}
