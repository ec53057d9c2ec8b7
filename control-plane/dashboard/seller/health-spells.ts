/** A line of an offer's health log, as the screens read it. */
export type LoggedLine = {
  readonly id: string
  readonly timestamp: number
  readonly offerId: string
  readonly model: string
  readonly errorCategory: string | null
  readonly errorDetail: string
  readonly statusCode: number | null
  readonly actionTaken: string
  readonly backedOffUntil: number | null
}

/** An outage of an offer with all its lines, or another event. */
export type HealthSpell = {
  readonly id: string
  readonly offerId: string
  readonly model: string
  readonly startedAt: number
  /** The last line of an outage. */
  readonly lastAt: number
  /** `outage` for failures with their pauses and recovery; any other event has its name in the log. */
  readonly event: string
  readonly cause: string | null
  readonly message: string
  readonly failures: number
  readonly pauses: number
  /** The end of the last pause, while no call has succeeded since. */
  readonly pausedUntil: number | null
  /** The time at which the offer took calls again; null where the log has no such line. */
  readonly endedAt: number | null
}

const FAILURES: ReadonlySet<string> = new Set(['counted', 'backed_off'])
const ENDS: ReadonlySet<string> = new Set(['recovered', 'reset'])
/** Failures of an offer with less than ten minutes between them, or within one pause, are one outage. */
const CLOSE_MS = 600_000

/** The status of the provider's answer, and its message where it had one. */
const messageOf = ({ statusCode, errorDetail }: LoggedLine) => `${statusCode ?? ''} ${errorDetail}`.trim()

/** Folds a health log: a failure, its back-off and the recovery are one row. The newest comes first. */
export function foldHealth(lines: readonly LoggedLine[]): readonly HealthSpell[] {
  const open = new Map<string, HealthSpell>()
  const spells = new Map<string, HealthSpell>()
  for (const line of [...lines].sort((a, b) => a.timestamp - b.timestamp)) {
    const known = open.get(line.offerId)
    const isClose = known !== undefined && line.timestamp - Math.max(known.lastAt, known.pausedUntil ?? 0) < CLOSE_MS
    const isEnd = ENDS.has(line.actionTaken)
    if (!FAILURES.has(line.actionTaken) && !(isEnd && known !== undefined)) {
      spells.set(line.id, begin(line, line.actionTaken))
      continue
    }
    const spell = isEnd && known !== undefined ? ended(known, line) : failed(isClose ? known : undefined, line)
    spells.set(spell.id, spell)
    if (isEnd) open.delete(line.offerId)
    else open.set(line.offerId, spell)
  }
  return [...spells.values()].sort((a, b) => b.startedAt - a.startedAt)
}

function begin(line: LoggedLine, event: string): HealthSpell {
  const { id, offerId, model, timestamp, errorCategory } = line
  return {
    id,
    offerId,
    model,
    event,
    startedAt: timestamp,
    lastAt: timestamp,
    cause: errorCategory,
    message: messageOf(line),
    failures: 0,
    pauses: 0,
    pausedUntil: null,
    endedAt: null,
  }
}

function failed(known: HealthSpell | undefined, line: LoggedLine): HealthSpell {
  const spell = known ?? begin(line, 'outage')
  const { timestamp, actionTaken, errorCategory, backedOffUntil } = line
  return {
    ...spell,
    lastAt: timestamp,
    cause: errorCategory ?? spell.cause,
    message: messageOf(line) || spell.message,
    failures: spell.failures + 1,
    pauses: spell.pauses + (actionTaken === 'backed_off' ? 1 : 0),
    pausedUntil: Math.max(backedOffUntil ?? 0, spell.pausedUntil ?? 0) || null,
  }
}

const ended = (known: HealthSpell, { timestamp }: LoggedLine): HealthSpell => ({
  ...known,
  lastAt: timestamp,
  pausedUntil: null,
  endedAt: timestamp,
})
