import type { CrashPoint } from './plan.ts'

/** Deaths that wait for a place in the code. */
export type Crash = {
  /** Calls `run` once, the next time the place is reached. */
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
