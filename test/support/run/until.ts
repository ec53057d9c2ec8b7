/** Milliseconds between the first two checks. The pause grows, because checks are reads that count against limits. */
const FIRST_PAUSE_MS = 20
const LAST_PAUSE_MS = 250
const GROWTH = 1.25
/** A deadline is meant for a quiet machine. A busy machine gets this many times as long. */
const PATIENCE = 20
/** Milliseconds for which a test waits for an event, a program or a screen, on a busy machine, too. */
export const BUSY_MS = 300_000
/**
 * Environment of a data plane. A busy machine delays every event loop, and the plane would refuse calls for it. Tests
 * of other subjects do not judge that.
 */
export const ANY_LOOP_DELAY = { MAX_EVENT_LOOP_DELAY_MS: '60000' }
/** Below the time that a test may take, so that the error names the check. */
const MOST_MS = 500_000

/**
 * Resolves as soon as the check holds. Rejects with its name after twenty times `deadlineMs`, which is meant for a
 * quiet machine, and after 500 seconds at the latest.
 */
export async function until(what: string, deadlineMs: number, check: () => boolean | Promise<boolean>): Promise<void> {
  const limitMs = Math.min(PATIENCE * deadlineMs, MOST_MS)
  const end = performance.now() + limitMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(GROWTH * pauseMs, LAST_PAUSE_MS)) {
    if (await check()) return
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
