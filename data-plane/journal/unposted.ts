import { HOUR } from '#shared/clock.ts'

/** The call that a record is about. */
export type Subject = { readonly rid: string; readonly account: string }

/** A capture in the journal that is not known to be posted. */
export type Captured = Subject & { readonly seq: number }

/** Captures that one question covers, and questions a turn. */
const CHECK_SIZE = 1_000
const CHECKS_A_TURN = 20
/** Every so many turns in vain those behind are asked about too: what is stuck in front must not hold them for ever. */
const PATIENCE = 10
/** A call that showed progress and never a capture stops holding on to its segment after this. */
const MAX_RUNNING_MS = 2 * HOUR

/** What of the journal is still needed, in memory. */
export type Unposted = {
  captured(capture: Captured): void
  progressed(rid: string, seq: number, now: number): void
  has(seq: number): boolean
  size(): number
  firstCapture(): number | undefined
  /** The lowest sequence number that a start after a kill would need; `last` + 1 when there is none. */
  firstNeeded(last: number): number
  /**
   * Asks about the oldest captures, up to the one numbered `end`, and forgets those that are posted; answers whether
   * there were any.
   */
  check(end: number, ask: (captures: readonly Captured[]) => Promise<readonly boolean[]>): Promise<boolean>
}

export function createUnposted(): Unposted {
  const captures = new Map<number, Captured>()
  const running = new Map<string, { readonly seq: number; readonly at: number }>()
  let vainChecks = 0

  const first = (): number | undefined => captures.keys().next().value

  return {
    captured(capture) {
      running.delete(capture.rid)
      captures.set(capture.seq, capture)
    },
    progressed(rid, seq, now) {
      running.delete(rid)
      running.set(rid, { seq, at: now })
      const oldest = running.entries().next().value
      if (oldest && now - oldest[1].at > MAX_RUNNING_MS) running.delete(oldest[0])
    },
    has: (seq) => captures.has(seq),
    size: () => captures.size,
    firstCapture: first,
    firstNeeded(last) {
      const progress = running.values().next().value?.seq
      return Math.min(first() ?? last + 1, progress ?? last + 1)
    },
    async check(end, ask) {
      const left = captures.values()
      let isAnyPosted = false
      for (let turn = 0; turn < CHECKS_A_TURN; turn++) {
        const stretch = take(left, CHECK_SIZE, end)
        if (stretch.length === 0) break
        const posted = await ask(stretch)
        let found = 0
        for (const [index, { seq }] of stretch.entries()) if (posted[index] === true && captures.delete(seq)) found += 1
        isAnyPosted ||= found > 0
        // Events are posted about in their order: behind a stretch of which none is, few are.
        if (found === 0 && vainChecks % PATIENCE !== PATIENCE - 1) break
      }
      vainChecks = isAnyPosted ? 0 : vainChecks + 1
      return isAnyPosted
    },
  }
}

function take(from: Iterator<Captured>, count: number, end: number): Captured[] {
  const taken: Captured[] = []
  while (taken.length < count) {
    const { value, done } = from.next()
    if (done || value.seq >= end) break
    taken.push(value)
  }
  return taken
}
