/** An outage of a provider for a model, as the market found it. */
export type FoundIncident = {
  readonly model: string
  readonly provider: string
  readonly cause: string | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly offers: number
  readonly offersOnSale: number
}

/** Outages that follow each other closely, as one line. */
export type FoldedIncident = FoundIncident & {
  readonly id: string
  readonly times: number
  /** Milliseconds of all its outages that have ended. */
  readonly downMs: number
}

/** Outages of one kind that are closer than this are one incident to a reader. */
const CLOSE_MS = 12 * 60 * 60 * 1_000

/** Folds outages of one model at one provider, the newest first. An open one stays open. The last cause is shown. */
export function foldIncidents(incidents: readonly FoundIncident[]): readonly FoldedIncident[] {
  const last = new Map<string, FoldedIncident>()
  const folded: FoldedIncident[] = []
  for (const incident of [...incidents].sort((a, b) => a.startedAt - b.startedAt)) {
    const { model, provider, cause, startedAt, endedAt } = incident
    const kind = JSON.stringify([model, provider])
    const before = last.get(kind)
    const isClose = before !== undefined && startedAt - (before.endedAt ?? startedAt) < CLOSE_MS
    const ownMs = endedAt === null ? 0 : endedAt - startedAt
    const first = isClose ? before : undefined
    const next: FoldedIncident = {
      model,
      provider,
      cause: cause ?? first?.cause ?? null,
      id: `${kind} ${first?.startedAt ?? startedAt}`,
      startedAt: first?.startedAt ?? startedAt,
      endedAt: endedAt === null || first?.endedAt === null ? null : Math.max(endedAt, first?.endedAt ?? 0),
      offers: Math.max(incident.offers, first?.offers ?? 0),
      offersOnSale: Math.max(incident.offersOnSale, first?.offersOnSale ?? 0),
      times: (first?.times ?? 0) + 1,
      downMs: (first?.downMs ?? 0) + ownMs,
    }
    if (first !== undefined) folded.splice(folded.indexOf(first), 1)
    folded.push(next)
    last.set(kind, next)
  }
  return folded.sort((a, b) => b.startedAt - a.startedAt)
}
