import { setTimeout as delay } from 'node:timers/promises'
import { PORT_TAKEN } from '#shared/exit-codes.ts'
import type { CrewOptions, Member } from './crew.ts'

/** How often a member that ended by itself is started again before the network gives up. */
const MAX_RESTARTS = 5
/** How often a member may find its port taken before the network gives up: beyond this, it is no accident. */
const MAX_EVICTIONS = 20
/** A member that ran for so long has its restarts back. */
const STABLE_MS = 60_000
const RESTART_PAUSE_MS = 300

/** How often one member may still be started again. */
export type Patience = {
  /** Tells that a member has ended by itself, and answers true when it is to be started again. */
  readonly afterEnd: (code: number, ranMs: number) => Promise<boolean>
  /** Answers true, after a pause, when a failed start is to be tried again. */
  readonly afterFailure: () => Promise<boolean>
}

export function createPatience({ name, restart }: Member, { report, onGiveUp }: CrewOptions): Patience {
  let restarts = 0
  let evictions = 0
  const giveUp = () => {
    onGiveUp(name)
    return false
  }

  async function afterFailure(): Promise<boolean> {
    if (restarts >= MAX_RESTARTS) return giveUp()
    restarts += 1
    await delay(RESTART_PAUSE_MS * restarts)
    return true
  }

  return {
    async afterEnd(code, ranMs) {
      if (ranMs > STABLE_MS) restarts = evictions = 0
      if (restart === 'never' || code !== PORT_TAKEN) {
        report(`${name} ended with code ${code}`, name)
        return restart === 'always' && afterFailure()
      }
      evictions += 1
      if (evictions <= MAX_EVICTIONS) {
        report(`${name} found its port taken`, name)
        return true
      }
      report(`${name} found its port taken more than ${MAX_EVICTIONS} times`, name)
      return giveUp()
    },
    afterFailure,
  }
}
