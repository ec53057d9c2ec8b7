/** Milliseconds between the first two checks. The pause grows, because checks are reads that count against limits. */
const FIRST_PAUSE_MS = 20
const LAST_PAUSE_MS = 250
const GROWTH = 1.25
/** A deadline is meant for a quiet machine. A busy machine gets this many times as long. */
const PATIENCE = 5

/**
 * Resolves as soon as the check holds. Rejects with its name after five times `deadlineMs`, which is meant for a quiet
 * machine.
 */
export async function until(what: string, deadlineMs: number, check: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE * deadlineMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(GROWTH * pauseMs, LAST_PAUSE_MS)) {
    if (await check()) return
    if (performance.now() > end) throw new Error(`not within ${PATIENCE * deadlineMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
