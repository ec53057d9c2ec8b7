/** The places on the path of money at which a test can make a process die, in the order of a call. */
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
  'before_claim',
  'after_claim',
  'before_sign',
  'after_sign',
  'after_broadcast',
  'payment_mined',
  'payment_in_tx',
  'payment_booked',
  'job_taken',
  'job_settled',
  'job_written',
  'job_asked',
  'job_end_written',
  'job_end_booked',
  'mid_file_copy',
  'payout_planned',
  'payout_signed',
  'payout_mined',
  'payout_in_tx',
  'payout_found',
  'payout_recorded',
  'deposit_read',
  'deposit_in_tx',
  'deposit_booked',
  'draw_planned',
  'draw_approved',
  'draw_in_tx',
  'sweeper_mid',
  'seed_mid',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]

/** The process dies at its `passage`-th passage of `point`, counted from 1. */
export type CrashAt = { readonly point: CrashPoint; readonly passage: number }

let armed: { readonly point: CrashPoint; passages: number } | undefined

/** Parses `name#k`. Undefined for an unknown place or an invalid `k`. */
export function parseCrashAt(text: string): CrashAt | undefined {
  const [name, count, ...rest] = text.split('#')
  const point = CRASH_POINTS.find((point) => point === name)
  const passage = Number(count)
  if (point === undefined || rest.length > 0 || !Number.isSafeInteger(passage) || passage < 1) return undefined
  return { point, passage }
}

/** Sets the place at which this process will die; `undefined` clears it. Only the start of a plane calls it. */
export function armCrash(at: CrashAt | undefined): void {
  armed = at && { point: at.point, passages: at.passage }
}

/** Kills the process at once, like a power cut, if this passage was armed. In production it never is. */
export function crashPoint(name: CrashPoint): void {
  if (armed === undefined || armed.point !== name) return
  armed.passages -= 1
  if (armed.passages === 0) process.kill(process.pid, 'SIGKILL')
}
