/**
 * Milliseconds of processor time that a function takes. Unlike the time on a clock, other processes of a busy machine
 * do not add to it.
 */
export function processorMs(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
