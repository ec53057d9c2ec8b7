/** The times of a call that its phases come from, in milliseconds. */
type CallTimes = {
  readonly durationMs: number
  /** From the admission of a streamed call to its first token. */
  readonly ttftMs: number | null
  /** Time outside of providers. Null while the call runs. */
  readonly overheadMs: number | null
  readonly attempts: readonly {
    readonly status: number
    readonly ms: number
    /** The part of `ms` until a new connection was ready. Null for an open one. */
    readonly connectMs: number | null
  }[]
}

export type CallPhase = { readonly name: string; readonly ms: number; readonly tone: 'bad' | 'plain' | 'good' }

/** The phases of a call one after another. They add up to its duration. */
export function callPhases({ durationMs, ttftMs, overheadMs, attempts }: CallTimes): readonly CallPhase[] {
  const last = attempts.at(-1)
  const isAnswered = last !== undefined && last.status >= 200 && last.status < 400
  const failed = isAnswered ? attempts.slice(0, -1) : attempts
  let left = durationMs
  const take = (ms: number) => {
    const part = Math.min(left, Math.max(0, ms))
    left -= part
    return part
  }
  const marketMs = take(overheadMs ?? 0)
  const failedMs = take(failed.reduce((sum, { ms }) => sum + ms, 0))
  const connectMs = take((isAnswered ? last.connectMs : null) ?? 0)
  const firstMs = ttftMs === null ? 0 : take(ttftMs - marketMs - failedMs - connectMs)
  const answerMs = take(ttftMs === null ? (isAnswered ? last.ms - connectMs : 0) : left)
  const phases: readonly CallPhase[] = [
    // Times are rounded, so a rest may remain. It is none of the provider's.
    { name: 'Market', ms: marketMs + left, tone: 'plain' },
    { name: 'Failed attempts', ms: failedMs, tone: 'bad' },
    { name: 'Connect', ms: connectMs, tone: 'plain' },
    { name: 'First token', ms: firstMs, tone: 'plain' },
    { name: ttftMs === null ? 'Answer' : 'Stream', ms: answerMs, tone: 'good' },
  ]
  return phases.filter(({ ms }) => ms > 0)
}
