/** The times of a call that its phases come from, in milliseconds. */
type CallTimes = {
  readonly durationMs: number
  /** From the admission of a streamed call to its first token. */
  readonly ttftMs: number | null
  readonly attempts: readonly { readonly status: number; readonly ms: number }[]
}

export type CallPhase = { readonly name: string; readonly ms: number; readonly tone: 'bad' | 'plain' | 'good' }

/**
 * The phases of a call one after another. They add up to its duration. Queue and connect are parts of the wait for the
 * provider: the market does not time them apart.
 */
export function callPhases({ durationMs, ttftMs, attempts }: CallTimes): readonly CallPhase[] {
  const last = attempts.at(-1)
  const isAnswered = last !== undefined && last.status >= 200 && last.status < 400
  const failed = isAnswered ? attempts.slice(0, -1) : attempts
  const failedMs = Math.min(
    durationMs,
    failed.reduce((sum, { ms }) => sum + ms, 0),
  )
  const rest = durationMs - failedMs
  const firstMs = ttftMs === null ? undefined : Math.min(rest, Math.max(0, ttftMs - failedMs))
  const answerMs = isAnswered ? Math.min(rest, last.ms) : 0
  const phases: readonly CallPhase[] = [
    { name: 'Failed attempts', ms: failedMs, tone: 'bad' },
    ...(firstMs === undefined
      ? ([
          { name: 'Answer', ms: answerMs, tone: 'good' },
          { name: 'Market', ms: rest - answerMs, tone: 'plain' },
        ] as const)
      : ([
          { name: 'First token', ms: firstMs, tone: 'plain' },
          { name: 'Stream', ms: rest - firstMs, tone: 'good' },
        ] as const)),
  ]
  return phases.filter(({ ms }) => ms > 0)
}
