import { count, percent } from '#control-plane/dashboard/data/format.ts'

/** The largest change that is shown in percent. */
const MOST_PERCENT = 1_000

/** A change in percent: as a table shows it, and in words for a screen reader. */
type ChangeText = { readonly shown: string; readonly words: string }

/** The change from the figure of a period before. Undefined where one of the two is unknown. */
export function changeFrom(before: number | null, now: number | null): ChangeText | undefined {
  if (now === null || before === null) return undefined
  if (now === before) return { shown: 'same', words: 'unchanged' }
  if (before === 0) return { shown: 'new', words: 'none in the period before' }
  const size = Math.abs((100 * (now - before)) / before)
  // A rounded zero is a change too small to show.
  if (size < 0.05) return { shown: 'same', words: 'about unchanged' }
  // A multiple is easier to read than a percentage of five digits.
  if (size >= MOST_PERCENT && now > before && before > 0) {
    const times = count(Math.round(now / before))
    return { shown: `×${times}`, words: `${times} times as much` }
  }
  const text = size < MOST_PERCENT ? percent(size, size < 100 ? 1 : 0) : `${count(Math.round(size))}%`
  return now > before ? { shown: `+${text}`, words: `up ${text}` } : { shown: `−${text}`, words: `down ${text}` }
}
