import { setTimeout as delay } from 'node:timers/promises'
import { PORT_TAKEN } from '#shared/exit-codes.ts'
import type { CrewMember, CrewOptions } from './member.ts'

/** Number of restarts of a member after which the network gives up. */
const MAX_RESTARTS = 5
/** Number of taken ports of one member after which the network gives up. So many are no accident. */
const MAX_EVICTIONS = 20
/** A member that ran for this long may use all its restarts again. */
const STABLE_MS = 60_000
const RESTART_PAUSE_MS = 300

/** Counts how often one member may still be restarted. */
export type RestartBudget = {
  /** Reports that a member has ended by itself. True asks for another start. */
  readonly afterEnd: (code: number, ranMs: number) => Promise<boolean>
  /** Reports a failed start. Resolves after a pause; true asks for another try. */
  readonly afterFailure: () => Promise<boolean>
}

export function createPatience({ name, restart }: CrewMember, { report, onGiveUp }: CrewOptions): RestartBudget {
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
