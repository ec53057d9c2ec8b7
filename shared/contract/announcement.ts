import { parseJson } from '#shared/parse-json.ts'

/** The largest number of names that is read from one announcement. */
const MAX_NAMES = 100_000

/** The names in a message of a channel. Empty for an unreadable message. */
export function readAnnouncement(message: string): readonly string[] {
  const names = parseJson(message)
  return Array.isArray(names) ? names.slice(0, MAX_NAMES).filter((name) => typeof name === 'string') : []
}
