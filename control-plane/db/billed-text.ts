import { sql } from 'kysely'

/**
 * Further figures that decide a call's bill, separated by commas for a file: tokens written to a cache, searches, and
 * the conditions of the applied price. The last is quoted, because a condition may contain commas.
 */
export const BILLED_TEXT = sql`concat_ws(',', cache_write_tokens, searches,
  case when price_conditions = '{}' then '' else '"' || array_to_string(price_conditions, '; ') || '"' end)`
