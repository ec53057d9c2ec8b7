import type { ComponentType } from 'react'
import { createElement } from 'react'

const RELOADED = 'mkt_reloaded_at'
const RELOAD_PAUSE_MS = 60_000
const AGAIN_MS = 2_000
/** Tries of one script while the server does not answer, for about as long as a reader waits. */
const MAX_TRIES = 150

/** A screen whose script is asked for when it is opened. */
export function lazyScreen<Name extends string>(
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
) {
  let screen: ComponentType | undefined
  const preload = async () => {
    screen ??= (await loadPatiently(load))[name]
  }
  // The router opens a screen only once it is loaded.
  return Object.assign(() => (screen === undefined ? null : createElement(screen)), { preload })
}

/**
 * Loads a script. The screen before stays while the server does not answer: a reload would replace it with the
 * browser's own error.
 */
async function loadPatiently<Module>(load: () => Promise<Module>): Promise<Module> {
  for (let tries = 1; ; tries++) {
    try {
      return await load()
    } catch (error) {
      const answer = await fetch('/', { method: 'HEAD', cache: 'no-store' }).catch(() => undefined)
      const isAnswered = answer !== undefined && answer.status < 500
      // Where the market answers, the script is one of an older release.
      if (isAnswered && reloadOnce()) return new Promise(() => undefined)
      if (isAnswered || tries >= MAX_TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}

/** Loads the page anew, unless it was loaded anew a moment ago. */
function reloadOnce(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0)
  if (Date.now() - last < RELOAD_PAUSE_MS) return false
  sessionStorage.setItem(RELOADED, String(Date.now()))
  location.reload()
  return true
}
