import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { z } from 'zod'
import { openPerson } from '#test/support/page/page-browser.ts'

/** The longest wait for a screen to be useful, also on a slow line. */
const USEFUL_MS = 20_000
/** The longest wait for a clickable element, and for an answer of the browser itself. */
const STEP_MS = 10_000
/** A browser reports a paint or a press within this time after the next frame. */
const TOLD_MS = 200
/** Shorter events are not reported. A browser allows no smaller value. */
export const LEAST_PRESS_MS = 16

/** A line as "slow 4G" is commonly meant: bytes per second each way, and milliseconds until an answer begins. */
const SLOW_LINE = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 }
const SLOW_PROCESSOR_TIMES = 4

/**
 * The slowed part: nothing, the processor once the screen is useful, or the processor and the line from the beginning.
 */
export type Pace = 'plain' | 'slow clicks' | 'slow phone'

/** The cookies of a browser that has signed in. */
export type Session = Awaited<ReturnType<BrowserContext['storageState']>>

const Seen = z.object({
  /** Milliseconds from the beginning of the navigation until the largest part of the screen was painted. */
  lcpMs: z.number(),
  /** The sum of all layout shifts, so at least the cumulative layout shift. */
  shift: z.number(),
  /** Milliseconds from the beginning of the navigation until the screen with its data was painted. */
  usefulMs: z.number(),
  /** Milliseconds of the longest request for data. */
  dataMs: z.number(),
  /** The addresses of the loaded files of the screen. */
  assets: z.array(z.string()),
})
export type Seen = z.infer<typeof Seen> & {
  /** The names of the requested documents, without the one that says who is signed in. */
  readonly asked: readonly string[]
}

type VisitOptions = {
  readonly url: string
  /** A selector of the elements that make the screen useful. None of them may be a placeholder any more. */
  readonly shows: string
  readonly session: Session | undefined
  readonly pace: Pace
}

/** An open screen in a browser of its own, whose cache was empty. */
export type Visit = {
  readonly seen: Seen
  /** Clicks, and returns the milliseconds until the next paint. Zero is less than {@link LEAST_PRESS_MS}. */
  click(selector: string): Promise<number>
}

/** Signs a browser in with a key. */
export async function signIn(browser: Browser, url: string, key: string): Promise<Session> {
  const { context } = await openPerson(browser, { url, key })
  try {
    return await context.storageState()
  } finally {
    await context.close()
  }
}

/** Opens a screen, waits until it is useful, uses it and closes it. Throws when a wait reaches its limit. */
export async function visit<Result>(
  browser: Browser,
  { url, shows, session, pace }: VisitOptions,
  use: (visit: Visit) => Promise<Result>,
): Promise<Result> {
  const context = await browser.newContext({
    viewport: { width: 1_280, height: 900 },
    ...(session === undefined ? {} : { storageState: session }),
  })
  context.setDefaultTimeout(STEP_MS)
  try {
    await context.addInitScript(watchScript(shows))
    const page = await context.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(...documentsOf(request)))
    const devtools = await context.newCDPSession(page)
    if (pace === 'slow phone') {
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOW_PROCESSOR_TIMES })
      await devtools.send('Network.enable')
      await devtools.send('Network.emulateNetworkConditions', SLOW_LINE)
    }
    await page.goto(url, { waitUntil: 'commit', timeout: USEFUL_MS })
    await within(USEFUL_MS, `${url} is useful`, page.evaluate('window.bench.useful'))
    const seen = Seen.parse(await within(STEP_MS, 'figures of a screen', page.evaluate('window.bench.read()')))
    if (pace === 'slow clicks') {
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOW_PROCESSOR_TIMES })
    }
    return await use({ seen: { ...seen, asked: [...asked] }, click: (selector) => timeClick(page, selector) })
  } finally {
    await context.close()
  }
}

async function timeClick(page: Page, selector: string): Promise<number> {
  await page.locator(selector).first().click()
  return z.number().parse(await within(STEP_MS, selector, page.evaluate('window.bench.takeSlowest()')))
}

/** The document of a request for data. Streams do not count, and who is signed in is not data of a screen. */
function documentsOf(request: Request): string[] {
  if (!request.url().endsWith('/graphql')) return []
  const name = /query (\w+)/.exec(request.postData() ?? '')?.[1] ?? ''
  return name === '' || name === 'PageViewer' ? [] : [name]
}

async function within<Value>(limitMs: number, what: string, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limitMs} ms: ${what}`)), limitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs in the page before all other scripts. A screen is useful at the frame after it shows the requested content. */
function watchScript(shows: string): string {
  return `(() => {
    const seen = { lcpMs: 0, shift: 0, usefulMs: 0, slowest: 0 }
    const told = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, ${TOLD_MS})))
    const takeSlowest = async () => {
      await told()
      const { slowest } = seen
      seen.slowest = 0
      return slowest
    }
    const watch = (type, take, more) =>
      new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more })
    watch('largest-contentful-paint', ({ startTime }) => { seen.lcpMs = startTime })
    watch('layout-shift', ({ value, hadRecentInput }) => { if (!hadRecentInput) seen.shift += value })
    const press = ({ duration, interactionId }) => {
      if (interactionId > 0) seen.slowest = Math.max(seen.slowest, duration)
    }
    watch('event', press, { durationThreshold: ${LEAST_PRESS_MS} })
    watch('first-input', press)
    const useful = new Promise((resolve) => {
      const look = () => {
        if (document.querySelector('main [aria-busy="true"], main .skeleton') !== null) return
        if (document.querySelector(${JSON.stringify(shows)}) === null) return
        observer.disconnect()
        requestAnimationFrame(() => setTimeout(() => {
          seen.usefulMs = performance.now()
          resolve(true)
        }))
      }
      const observer = new MutationObserver(look)
      observer.observe(document, { subtree: true, childList: true, attributes: true })
    })
    const read = async () => {
      await told()
      const { lcpMs, shift, usefulMs } = seen
      const loaded = performance.getEntriesByType('resource')
      const asked = loaded.filter(({ name, responseEnd }) => name.endsWith('/graphql') && responseEnd <= usefulMs)
      const dataMs = Math.max(0, ...asked.map(({ duration }) => duration))
      // The browser lists a script twice that is preloaded and then run.
      const assets = [...new Set(loaded.map(({ name }) => name).filter((name) => name.includes('/assets/')))]
      return { lcpMs, shift, usefulMs, dataMs, assets }
    }
    window.bench = { useful, read, takeSlowest }
  })()`
}
