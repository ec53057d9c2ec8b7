import type { Clock } from '#shared/clock.ts'

type Bounds = {
  readonly clock: Clock
  /** Milliseconds for which a figure is told again. */
  readonly keepMs: number
  /** Subjects that are remembered at most; the one that was asked for first goes first. */
  readonly most: number
}

/**
 * Remembers figures of the control plane for a moment, so that a client that asks before every call does not use up what
 * its key may read there. Askers at the same time share one question. A failure is not remembered, nor is undefined.
 */
export function createFiguresAsked<Figure>({ clock, keepMs, most }: Bounds) {
  const asked = new Map<string, { readonly until: number; readonly figure: Promise<Figure> }>()
  return (subject: string, ask: () => Promise<Figure>): Promise<Figure> => {
    const last = asked.get(subject)
    if (last !== undefined && last.until > clock.now()) return last.figure
    const kept = { until: clock.now() + keepMs, figure: ask() }
    const forget = () => {
      if (asked.get(subject) === kept) asked.delete(subject)
    }
    kept.figure.then((figure) => figure === undefined && forget(), forget)
    asked.delete(subject)
    asked.set(subject, kept)
    const [oldest] = asked.size > most ? asked.keys() : []
    if (oldest !== undefined) asked.delete(oldest)
    return kept.figure
  }
}
