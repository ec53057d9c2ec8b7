import { describe, expect, it } from 'vitest'
import { createAdmission } from '#data-plane/http/admission.ts'
import { AppError } from '#shared/errors.ts'
import { until } from '#test/support/run/until.ts'
import { createManualTime } from './fixtures/manual-time.ts'

function refusalOf(run: () => unknown): AppError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

function start(maxOpenCalls = 10) {
  const { time, pass } = createManualTime()
  const open = { count: 0 }
  const loop = { delayMs: 0 }
  const admission = createAdmission({
    timers: time,
    open,
    maxOpenCalls,
    maxDelayMs: 200,
    measureDelay: () => loop.delayMs,
  })
  return { admission, open, loop, pass }
}

describe('admission', () => {
  it('refuses calls with a Retry-After while the event loop is late, and admits calls again once the loop is in time', async () => {
    const { admission, loop, pass } = start()
    loop.delayMs = 250
    expect(refusalOf(() => admission.admitCall())).toBeUndefined()
    await pass(1_000)
    expect(refusalOf(() => admission.admitCall())).toBeUndefined()
    await pass(1_000)
    const refusal = refusalOf(() => admission.admitCall())
    expect(refusal).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1, detail: { limit_source: 'event_loop' } })
    loop.delayMs = 20
    await pass(1_000)
    expect(refusalOf(() => admission.admitCall())).toBeUndefined()
  })

  it('counts a request whose body is arriving as a call', () => {
    const { admission, open } = start(3)
    open.count = 1
    const first = admission.readingBody()
    admission.readingBody()
    expect(refusalOf(() => admission.admitCall())?.code).toBe('overloaded')
    first()
    first()
    expect(refusalOf(() => admission.admitCall())).toBeUndefined()
  })

  it('gives reads a quota of their own, however many calls run', async () => {
    const { admission, open, loop, pass } = start(1)
    open.count = 1
    loop.delayMs = 900
    await pass(1_000)
    const out = Array.from({ length: 512 }, () => admission.admitRead())
    expect(refusalOf(() => admission.admitRead())?.detail['limit_source']).toBe('reads')
    out[0]?.()
    expect(refusalOf(() => admission.admitRead())).toBeUndefined()
  })

  it('measures the event loop by itself when no measure is passed', async () => {
    const { time, pass } = createManualTime()
    const admission = createAdmission({ timers: time, open: { count: 0 }, maxOpenCalls: 1, maxDelayMs: 200 })
    await until('the sampler saw a delay', 5_000, async () => {
      const from = performance.now()
      while (performance.now() - from < 300);
      // Two turns of the loop: the sampler notices its delay in the first.
      await pass(0)
      await pass(0)
      await pass(1_000)
      return admission.delayMs() > 200
    })
    admission.close()
  })
})
