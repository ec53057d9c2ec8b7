/** Which rows are read: after a request id, the first ones for ''. */
export type RowPage = { readonly after: string; readonly limit: number }

/**
 * Batches of rows in the order of their request ids, at most `limit` rows in all. The next batch is read while one is
 * used, so the database and the writer of a file work at the same time; two batches are in memory at the most.
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
    // It is awaited only in the next turn, and never when nobody reads on.
    rows.catch(() => undefined)
    return rows
  }
}
