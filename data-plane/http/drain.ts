import type { FastifyInstance } from 'fastify'
import type { Time } from '#shared/clock.ts'
import type { Logger } from '#shared/logger.ts'
import type { Surface } from './surface.ts'

const LOOK_MS = 50
/** After the deadline running calls are cut and settled. That takes at most these milliseconds. */
const CUT_MS = 5_000

type Parts = {
  /** Milliseconds that running answers may take, and the pause before, in which load balancers notice the end. */
  readonly config: { readonly drainMs: number; readonly drainPauseMs: number }
  readonly clock: Pick<Time, 'monotonic' | 'sleep'>
  readonly log: Logger
}

/**
 * Stops listening and waits for running calls. Calls that run past the deadline are cut by their protocol and settled.
 */
export async function drainCalls(
  { config, clock, log }: Parts,
  app: FastifyInstance,
  { calls, open }: Surface,
): Promise<void> {
  async function untilIdle(limitMs: number, mayGiveUp: () => boolean): Promise<boolean> {
    const deadline = clock.monotonic() + limitMs
    while (open.count > 0 && clock.monotonic() < deadline && !mayGiveUp()) {
      app.server.closeIdleConnections()
      await clock.sleep(LOOK_MS)
    }
    return open.count === 0
  }
  await clock.sleep(config.drainPauseMs)
  const closing = app.close()
  if (!(await untilIdle(config.drainMs, () => calls.process.ending.isDue))) {
    log.warn({ openCalls: open.count }, 'calls are cut because the process ends')
    calls.process.ending.isDue = true
    await untilIdle(CUT_MS, () => false)
  }
  app.server.closeAllConnections()
  await closing
}
