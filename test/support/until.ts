const PAUSE_MS = 20

/** Resolves as soon as the check holds. Rejects with its name after `deadlineMs` milliseconds. */
export async function until(what: string, deadlineMs: number, check: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + deadlineMs
  for (;;) {
    if (await check()) return
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
