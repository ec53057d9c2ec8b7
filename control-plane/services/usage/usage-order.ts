import { z } from 'zod'
import type { PlacedCall, UsageFilter, UsageSort, ValueSort } from '#control-plane/db/buyer-usage.ts'
import { placeUsage, USAGE_SORTS } from '#control-plane/db/buyer-usage.ts'
import type { Database } from '#control-plane/db/database.ts'
import { AppError } from '#shared/errors.ts'

/** The order of a list of calls: the newest or the largest first, or reversed: the oldest or the smallest first. */
export const SortFields = { sort: z.enum(USAGE_SORTS).default('time'), isReversed: z.boolean().default(false) }
export type UsageOrder = { readonly sort: UsageSort; readonly isReversed: boolean }

/**
 * Most calls that are sorted by a value. No index has the values, so each page reads all of them: 100,000 take a
 * fraction of a second.
 */
export const MAX_SORTED = 100_000

/** A position in an order by value: the value and the request id of the last call. */
const POSITION = /^(-?\d{1,19}):(\w{1,64})$/

export function positionOfPlace({ rid, worth }: Pick<PlacedCall, 'rid' | 'worth'>): string {
  return `${worth}:${rid}`
}

/** The value and request id in a position. */
function placeOf(position: string): { readonly worth: bigint; readonly rid: string } {
  const [, worth = '', rid = ''] = POSITION.exec(position) ?? []
  if (rid === '')
    throw new AppError('invalid_request', { message: 'This next_token belongs to a list in another order.' })
  return { worth: BigInt(worth), rid }
}

/** The request ids of calls in an order by value, from a position on. Throws `invalid_request` for too many calls. */
export async function placeCalls(
  db: Database,
  filter: UsageFilter,
  by: {
    readonly sort: ValueSort
    readonly isReversed: boolean
    readonly after: string | undefined
    readonly limit: number
  },
): Promise<readonly PlacedCall[]> {
  const after = by.after === undefined ? undefined : placeOf(by.after)
  const places = await placeUsage(db, filter, { ...by, after, most: MAX_SORTED + 1 })
  if ((places[0]?.matched ?? 0n) <= BigInt(MAX_SORTED)) return places
  throw new AppError('invalid_request', {
    message: `These filters match more than ${MAX_SORTED.toLocaleString('en-US')} calls. To sort them by ${by.sort}, choose a shorter period or add a filter.`,
    param: 'sort',
  })
}
