/**
 * Runs work on items in order, at most `atOnce` at a time. After the first failure it waits for running items and
 * throws.
 */
export async function inParallel<Item>(
  items: readonly Item[],
  atOnce: number,
  run: (item: Item, at: number) => Promise<void>,
): Promise<void> {
  const rest = items.entries()
  const lane = async () => {
    for (const [at, item] of rest) await run(item, at)
  }
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, lane))
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason
}
