import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isAlive } from '#shared/is-alive.ts'

/** Facts that identify a process, even among later ones with the same pid. */
export type ProcessMark = {
  readonly pid: number
  /** The start of the process in the kernel's ticks since boot; null where the kernel does not show it. */
  readonly startTicks: string | null
  readonly host: string
}

/** The processes of this machine, as far as the journal needs them. */
export type Processes = {
  /** The mark of the calling process. */
  own(): Promise<ProcessMark>
  /** Tells whether a process lives; undefined for a process of another machine, which is invisible here. */
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
    if (!isAlive(pid)) return false
    const processStat = await statOf(pid)
    return (
      processStat === undefined ||
      (!processStat.isOver && (startTicks === null || startTicks === processStat.startTicks))
    )
  },
}

/**
 * Reads fields 3 and 22 of /proc/{pid}/stat (proc(5)). The name in field 2 may hold spaces, so the count starts after
 * it. A process that its parent has not waited for is still listed as a zombie. It counts as over.
 */
async function statOf(pid: number): Promise<{ isOver: boolean; startTicks: string | undefined } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { isOver: fields[0] === 'Z' || fields[0] === 'X', startTicks: fields[19] }
}
