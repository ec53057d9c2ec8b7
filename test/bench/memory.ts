import { readFileSync, writeFileSync } from 'node:fs'

/** The value for clear_refs that resets a process's peak memory (proc(5)). */
const RESET_PEAK = '5'

export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK)
}

/** Resident memory of a process now, and its peak since the last reset, in bytes. */
export function memoryOf(pid: number): { readonly resident: number; readonly peak: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return { resident: kilobytes('VmRSS') * 1_024, peak: kilobytes('VmHWM') * 1_024 }
}
