import type { CrashPoint } from './plan.ts'

/** Deaths that wait until a place in the code is passed. */
export type Crash = {
  /** Calls `run` once, when the place is passed next. */
  arm(point: CrashPoint, run: () => void): void
  pass(point: CrashPoint): void
}

export function createCrash(): Crash {
  const armed = new Map<CrashPoint, (() => void)[]>()
  return {
    arm(point, run) {
      armed.set(point, [...(armed.get(point) ?? []), run])
    },
    pass(point) {
      const first = armed.get(point)?.shift()
      first?.()
    },
  }
}
