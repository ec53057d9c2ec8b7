import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
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

/** All that an account has used, and the same by model from the model most was spent on. Failed calls count as requests. */
export async function sumBuyerUsage(
  db: Database,
  account: AccountId,
  models: number,
): Promise<{ total: UsageTotals; byModel: (UsageTotals & { readonly model: string })[] }> {
  // Both in one pass: the rows are read once.
  const { rows } = await sql<UsageTotals & { model: string | null }>`select model, ${TOTALS} from settlement
    where account = ${account} group by rollup (model)
    order by grouping(model) desc, spent desc, model limit ${models + 1}`.execute(db)
  const byModel = rows.flatMap(({ model, ...totals }) => (model === null ? [] : [{ ...totals, model }]))
  return { total: rows.find(({ model }) => model === null) ?? NOTHING, byModel }
}
