import { setTimeout as delay } from 'node:timers/promises'

export type WaitLimits = { readonly limitMs: number; readonly everyMs: number }

/** Polls until the answer is true. False when the limit has passed or `isOver` returns true. */
export async function waitUntil(
  isTrue: () => Promise<boolean>,
  patience: WaitLimits,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  const deadline = performance.now() + patience.limitMs
  while (performance.now() < deadline && !isOver()) {
    if (await isTrue()) return true
    await delay(patience.everyMs)
  }
  return false
}
