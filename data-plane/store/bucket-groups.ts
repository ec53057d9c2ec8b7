import { moneyBucket } from '#shared/contract/redis-keys.ts'

/**
 * Groups entries by the bucket of their account and keeps their order, because one script can touch only one bucket.
 */
export function groupByBucket<Entry extends { readonly operation: { readonly account: string } }>(
  entries: readonly Entry[],
  buckets: number,
): Iterable<[string, readonly Entry[]]> {
  if (buckets === 1) return [[moneyBucket('', 1), entries]]
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const bucket = moneyBucket(entry.operation.account, buckets)
    const group = groups.get(bucket)
    if (group) group.push(entry)
    else groups.set(bucket, [entry])
  }
  return groups
}
