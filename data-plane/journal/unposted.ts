import { HOUR } from '#shared/clock.ts'
import type { RailName } from '#shared/contract/rails.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'

/** The call of a record and the rail that ends it. `account` is null when a wallet pays by the call. */
export type RecordSubject = { readonly rid: string; readonly rail: RailName; readonly account: string | null }

/** A capture in the journal that is not known to be posted. */
export type Captured = RecordSubject & { readonly seq: number }

/** Captures in one check, and checks in one turn. */
const CHECK_SIZE = 1_000
const CHECKS_A_TURN = 20
/**
 * After this many turns without progress, later captures are checked, too, so that stuck captures in front do not hold
 * them for ever.
 */
const PATIENCE = 10
/** A call with progress but no capture holds on to its segment for this time. */
const MAX_RUNNING_MS = 2 * HOUR

/** The captures and running calls that still need the journal, in memory. */
export type Unposted = {
  captured(capture: Captured): void
  progressed(rid: string, seq: number, now: number): void
  /** True when the capture of this number is unposted, and of that rail when one is named. */
  has(seq: number, rail?: RailName): boolean
  size(): number
  /** Unposted captures of one rail. */
  sizeOf(rail: RailName): number
  /** The request ids of the unposted captures of one rail. */
  ridsOf(rail: RailName): ReadonlySet<string>
  firstCapture(): number | undefined
  /** The lowest sequence number that a start after a crash would need. It is `last` + 1 when there is none. */
  firstNeeded(last: number): number
  /**
   * Checks the oldest captures, up to the one numbered `end`, and drops those that are posted. Returns whether there
   * were any.
   */
  check(end: number, ask: (captures: readonly Captured[]) => Promise<readonly boolean[]>): Promise<boolean>
}

export function createUnposted(): Unposted {
  const captures = createQueue()
  const running = createTurnoverMap<string, { readonly seq: number; readonly at: number }>()
  let vainChecks = 0

  return {
    captured(capture) {
      running.delete(capture.rid)
      captures.push(capture)
    },
    progressed(rid, seq, now) {
      running.delete(rid)
      running.set(rid, { seq, at: now })
      const oldest = running.entries().next().value
      if (oldest && now - oldest[1].at > MAX_RUNNING_MS) running.delete(oldest[0])
    },
    has: captures.has,
    size: captures.size,
    sizeOf: captures.sizeOf,
    ridsOf: captures.ridsOf,
    firstCapture: captures.first,
    firstNeeded(last) {
      const progress = running.values().next().value?.seq
      return Math.min(captures.first() ?? last + 1, progress ?? last + 1)
    },
    async check(end, ask) {
      let dropped = 0
      let isAnyPosted = false
      for (let turn = 0; turn < CHECKS_A_TURN; turn++) {
        const stretch = captures.stretch(dropped, CHECK_SIZE, end)
        if (stretch.length === 0) break
        const droppedCount = captures.drop(dropped, await ask(stretch))
        dropped += stretch.length - droppedCount
        isAnyPosted ||= droppedCount > 0
        // Events are posted roughly in order. After many unposted captures in a row there are few posted ones.
        if (droppedCount === 0 && vainChecks % PATIENCE !== PATIENCE - 1) break
      }
      vainChecks = isAnyPosted ? 0 : vainChecks + 1
      return isAnyPosted
    },
  }
}

/** So many empty places may precede the first capture. Then the rest moves up. */
const SPARE_PLACES = 4_096

/**
 * Captures in the order of their numbers, without gaps. A capture is added for every call, for which a map would be
 * slow. Most leave near the front.
 */
function createQueue() {
  let places: (Captured | undefined)[] = []
  let head = 0

  return {
    push(capture: Captured): void {
      places.push(capture)
    },
    size: () => places.length - head,
    first: () => places[head]?.seq,
    sizeOf(rail: RailName): number {
      let count = 0
      for (let at = head; at < places.length; at++) if (places[at]?.rail === rail) count += 1
      return count
    },
    ridsOf(rail: RailName): ReadonlySet<string> {
      const rids = new Set<string>()
      for (let at = head; at < places.length; at++) {
        const capture = places[at]
        if (capture?.rail === rail) rids.add(capture.rid)
      }
      return rids
    },
    has(seq: number, rail?: RailName): boolean {
      let [low, high] = [head, places.length - 1]
      while (low <= high) {
        const middle = (low + high) >> 1
        const middleSeq = places[middle]?.seq ?? 0
        if (middleSeq === seq) return rail === undefined || places[middle]?.rail === rail
        if (middleSeq < seq) low = middle + 1
        else high = middle - 1
      }
      return false
    },
    /** Takes at most `count` captures below the number `end`, starting this many places after the first. */
    stretch(behind: number, count: number, end: number): Captured[] {
      const taken: Captured[] = []
      for (let at = head + behind; taken.length < count; at++) {
        const capture = places[at]
        if (capture === undefined || capture.seq >= end) break
        taken.push(capture)
      }
      return taken
    },
    /**
     * Removes the posted captures between two places and moves up the places before them. Returns the number removed.
     */
    drop(behind: number, isPosted: readonly boolean[]): number {
      const start = head + behind
      let to = start + isPosted.length
      for (let index = isPosted.length - 1; index >= 0; index--) {
        if (isPosted[index] !== true) places[--to] = places[start + index]
      }
      const dropCount = to - start
      for (let at = start - 1; at >= head; at--) places[--to] = places[at]
      places.fill(undefined, head, to)
      head = to
      if (head > SPARE_PLACES && head > places.length / 2) {
        places = places.slice(head)
        head = 0
      }
      return dropCount
    },
  }
}
