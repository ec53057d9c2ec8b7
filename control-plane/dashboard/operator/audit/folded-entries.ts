/** An entry that can be folded with others. */
type Foldable = { readonly id: string; readonly at: number; readonly operation: string; readonly actor: string }

/** A change, or many of a kind in a row. The first entry is the newest. */
export type FoldedEntries<Entry> = { readonly newest: Entry; readonly more: readonly Entry[] }

/** Entries of one actor with one operation are one row while no more than a minute is between two of them. */
const CLOSE_MS = 60_000

/** Folds entries, newest first, such as the offers of one listing. */
export function foldEntries<Entry extends Foldable>(entries: readonly Entry[]): readonly FoldedEntries<Entry>[] {
  const rows: { newest: Entry; more: Entry[] }[] = []
  for (const entry of entries) {
    const row = rows.at(-1)
    const last = row === undefined ? undefined : (row.more.at(-1) ?? row.newest)
    const isSame = last?.operation === entry.operation && last.actor === entry.actor && last.at - entry.at <= CLOSE_MS
    if (isSame) row?.more.push(entry)
    else rows.push({ newest: entry, more: [] })
  }
  return rows
}
