import { readFileSync } from 'node:fs'
import { isAlive } from '#dev/services/postgres.ts'

/** A process and when it began, so that a later process with the same id is not taken for it. */
export type ProcessMark = { readonly pid: number; readonly startedAt: string }

export function markOf(pid: number): ProcessMark {
  return { pid, startedAt: startTimeOf(pid) }
}

/** True while this very process runs. */
export function isRunning(mark: ProcessMark): boolean {
  return isAlive(mark.pid) && startTimeOf(mark.pid) === mark.startedAt && !isZombie(mark.pid)
}

/** Start time in clock ticks since boot as Linux tells it; empty elsewhere, where the id alone has to do. */
function startTimeOf(pid: number): string {
  return statFields(pid)[19] ?? ''
}

function isZombie(pid: number): boolean {
  return statFields(pid)[0] === 'Z'
}

/** The fields after the program's name, which may itself hold blanks and brackets. */
function statFields(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
