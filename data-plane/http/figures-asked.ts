import type { Clock } from '#shared/clock.ts'

type Bounds = {
  readonly clock: Clock
  /** Milliseconds for which a figure is answered from memory. */
  readonly keepMs: number
  /** Most subjects that are remembered; the oldest is dropped first. */
  readonly most: number
}

/**
 * Caches figures of the control plane for a moment, so that a client that reads them before every call does not use up
 * its key's rate there. Concurrent readers share one request. Failures and undefined are not cached.
 */
export function createFiguresAsked<Figure>({ clock, keepMs, most }: Bounds) {
  const entries = new Map<string, { readonly until: number; readonly figure: Promise<Figure> }>()
  return (subject: string, ask: () => Promise<Figure>): Promise<Figure> => {
    const last = entries.get(subject)
    if (last !== undefined && last.until > clock.now()) return last.figure
    const entry = { until: clock.now() + keepMs, figure: ask() }
    const forget = () => {
      if (entries.get(subject) === entry) entries.delete(subject)
    }
    entry.figure.then((figure) => figure === undefined && forget(), forget)
    entries.delete(subject)
    entries.set(subject, entry)
    const [oldest] = entries.size > most ? entries.keys() : []
    if (oldest !== undefined) entries.delete(oldest)
    return entry.figure
  }
}
