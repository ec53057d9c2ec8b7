import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'

/** Facts that tell one process from all others, also from a later one with the same pid. */
export type ProcessMark = {
  readonly pid: number
  /** The start of the process in the kernel's ticks since boot; null where the kernel does not tell. */
  readonly startTicks: string | null
  readonly host: string
}

/** The processes of this machine, as far as the journal asks for them. */
export type Processes = {
  /** The mark of the process that asks. */
  own(): Promise<ProcessMark>
  /** Tells whether a process lives; undefined for one of another machine, which nobody here can see. */
  isAlive(mark: ProcessMark): Promise<boolean | undefined>
}

/** The processes that the kernel knows. */
export const kernelProcesses: Processes = {
  own: async () => ({
    pid: process.pid,
    startTicks: (await statOf(process.pid))?.startTicks ?? null,
    host: hostname(),
  }),
  async isAlive({ pid, startTicks, host }) {
    if (host !== hostname()) return undefined
    if (!isRunning(pid)) return false
    const processStat = await statOf(pid)
    return (
      processStat === undefined ||
      (!processStat.isOver && (startTicks === null || startTicks === processStat.startTicks))
    )
  },
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * Reads fields 3 and 22 of /proc/{pid}/stat (proc(5)). The name in field 2 may hold spaces, so counting starts behind
 * it. A process that its parent has not waited for is still listed as a zombie. It counts as over.
 */
async function statOf(pid: number): Promise<{ isOver: boolean; startTicks: string | undefined } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { isOver: fields[0] === 'Z' || fields[0] === 'X', startTicks: fields[19] }
}
