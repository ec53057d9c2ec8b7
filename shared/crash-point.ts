/** Places on the way of money at which a process may be made to die, in the order in which a call passes them. */
export const CRASH_POINTS = [
  'before_reserve',
  'after_reserve',
  'before_dispatch',
  'after_headers',
  'after_first_content',
  'mid_stream',
  'before_C',
  'after_C_write_before_fsync',
  'after_C',
  'before_capture',
  'after_capture',
  'before_queue_add',
  'after_queue_add',
  'worker_before_tx',
  'worker_in_tx',
  'worker_after_commit',
  'before_ack',
  'after_ack',
  'before_cursor',
  'sweeper_mid',
  'seed_mid',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]

/** Where a process dies: at the `passage`-th time, from 1, that it comes by `point`. */
export type CrashAt = { readonly point: CrashPoint; readonly passage: number }

let armed: { readonly point: CrashPoint; left: number } | undefined

/** Reads `name#k`; undefined when that is no place or no passage. */
export function parseCrashAt(text: string): CrashAt | undefined {
  const [name, count, ...rest] = text.split('#')
  const point = CRASH_POINTS.find((known) => known === name)
  const passage = Number(count)
  if (point === undefined || rest.length > 0 || !Number.isSafeInteger(passage) || passage < 1) return undefined
  return { point, passage }
}

/** Arms the one place at which this process is to die; `undefined` disarms it. Called at the start of a plane only. */
export function armCrash(at: CrashAt | undefined): void {
  armed = at && { point: at.point, left: at.passage }
}

/**
 * A place where the process dies without another word, as from a power cut, if it was armed for that. Otherwise, and
 * always in production, nothing.
 */
export function crashPoint(name: CrashPoint): void {
  if (armed === undefined || armed.point !== name) return
  armed.left -= 1
  if (armed.left === 0) process.kill(process.pid, 'SIGKILL')
}
