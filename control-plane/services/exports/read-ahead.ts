/** A page of rows: those after a request id, or the first ones for ''. */
export type RowPage = { readonly after: string; readonly limit: number }

/**
 * Yields batches of rows by request id, at most `limit` rows in all. The next batch is read while the current one is
 * used, so the database and the writer work at the same time. At most two batches are in memory.
 */
export async function* readAhead<Row extends { readonly rid: string }>(
  read: (page: RowPage) => Promise<readonly Row[]>,
  { batch, limit }: { readonly batch: number; readonly limit: number },
): AsyncGenerator<readonly Row[]> {
  let left = limit
  let next: Promise<readonly Row[]> | undefined = read({ after: '', limit: Math.min(batch, left) })
  while (next !== undefined) {
    const rows: readonly Row[] = await next
    const last = rows.at(-1)
    left -= rows.length
    next = last === undefined || rows.length < batch || left === 0 ? undefined : readMore(last.rid)
    if (last !== undefined) yield rows
  }

  function readMore(after: string): Promise<readonly Row[]> {
    const rows = read({ after, limit: Math.min(batch, left) })
    // The promise is awaited in the next turn only, and never when the reader stops.
    rows.catch(() => undefined)
    return rows
  }
}
