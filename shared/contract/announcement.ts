/** The largest number of names that is read from one announcement. */
const MAX_NAMES = 100_000

/** The names in a message of a channel. Empty for an unreadable message. */
export function readAnnouncement(message: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(message)
    if (!Array.isArray(names)) return []
    return names.slice(0, MAX_NAMES).filter((name): name is string => typeof name === 'string')
  } catch {
    return []
  }
}
