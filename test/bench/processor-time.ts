import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second in the stat files of proc (sysconf _SC_CLK_TCK on Linux). */
const TICKS_PER_SECOND = 100
/** Fields after the name in brackets: the parent; user and system time of the process and of its ended children. */
const PARENT = 1
const TIMES = [11, 12, 13, 14] as const
/** The place of stolen time among the times of all cores. */
const STEAL = 7

/** Seconds of processor time of a process and its descendants. */
export function processorSeconds(pid: number): number {
  const stats = readStats()
  const tree = new Set([pid])
  for (let size = 0; size !== tree.size; ) {
    size = tree.size
    for (const [child, fields] of stats) if (tree.has(fields[PARENT] ?? 0)) tree.add(child)
  }
  let ticks = 0
  for (const member of tree) for (const index of TIMES) ticks += stats.get(member)?.[index] ?? 0
  return ticks / TICKS_PER_SECOND
}

/** Seconds in which the host ran something else while a core here had work, summed over cores (proc(5), steal). */
export function stolenSeconds(): number {
  const [, ...times] = readFileSync('/proc/stat', 'utf8').split('\n')[0]?.trim().split(/ +/) ?? []
  return Number(times[STEAL] ?? 0) / TICKS_PER_SECOND
}

function readStats(): Map<number, number[]> {
  const stats = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      stats.set(Number(name), fields.map(Number))
    } catch {
      // The process ended meanwhile.
    }
  }
  return stats
}
