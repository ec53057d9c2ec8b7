import { readFileSync } from 'node:fs'
import { isAlive } from '#shared/is-alive.ts'

/** A process and its start time. A later process with the same id has another start time. */
export type StartedProcess = { readonly pid: number; readonly startedAt: string }

export function markOf(pid: number): StartedProcess {
  return { pid, startedAt: startTimeOf(pid) }
}

/** True while exactly this process runs. */
export function isRunning(mark: StartedProcess): boolean {
  return isAlive(mark.pid) && startTimeOf(mark.pid) === mark.startedAt && !isZombie(mark.pid)
}

/** The start time in clock ticks since boot, from Linux. Empty on other systems, where the id alone must do. */
function startTimeOf(pid: number): string {
  return statFields(pid)[19] ?? ''
}

function isZombie(pid: number): boolean {
  return statFields(pid)[0] === 'Z'
}

/** The fields behind the program's name, which may itself contain blanks and brackets. */
function statFields(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
