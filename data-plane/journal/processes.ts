import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'

/** What tells one process from all others, also from a later one with its pid. */
export type ProcessMark = {
  readonly pid: number
  /** When it began, in the kernel's ticks since boot; null where the kernel does not tell. */
  readonly startTicks: string | null
  readonly host: string
}

/** The processes of this machine, as far as the journal asks for them. */
export type Processes = {
  /** The mark of the process that asks. */
  own(): Promise<ProcessMark>
  /** Whether a process lives; undefined for one of another machine, about which nobody here can tell. */
  isAlive(mark: ProcessMark): Promise<boolean | undefined>
}

/** The processes that the kernel knows. */
export const kernelProcesses: Processes = {
  own: async () => ({ pid: process.pid, startTicks: await startTicksOf(process.pid), host: hostname() }),
  async isAlive({ pid, startTicks, host }) {
    if (host !== hostname()) return undefined
    if (!isRunning(pid)) return false
    return startTicks === null || startTicks === (await startTicksOf(pid))
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

/** Field 22 of /proc/{pid}/stat (proc(5)); the name in field 2 may hold spaces, so counting starts behind it. */
async function startTicksOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
}
