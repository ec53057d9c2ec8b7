import { setTimeout as delay } from 'node:timers/promises'

export type Patience = { readonly limitMs: number; readonly everyMs: number }

/** Asks again and again until the answer is true; false when the limit has passed or `isOver` says to give up. */
export async function waitUntil(
  isTrue: () => Promise<boolean>,
  patience: Patience,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  const deadline = performance.now() + patience.limitMs
  while (performance.now() < deadline && !isOver()) {
    if (await isTrue()) return true
    await delay(patience.everyMs)
  }
  return false
}
