import type { UpdateChannel, Updates } from '#control-plane/ports/updates/updates.ts'

/** A topic is read at most once in this time, so simultaneous changes arrive together. */
const COALESCE_MS = 100
/** After a break every topic may have changed. Their reads are spread over this time to spare the database. */
const CATCH_UP_MS = 1_000

/** A subject of a watch. */
export type Topic<Value> = {
  readonly key: string
  /** The announcements that may mean a change of the topic. */
  readonly hints: readonly { readonly channel: UpdateChannel; isAbout(names: readonly string[]): boolean }[]
  /** The longest time between two reads. */
  readonly pollMs: number
  readonly read: () => Promise<Value>
}

/** The topics of one kind. */
export type Topics<Value> = {
  /**
   * Yields the topic's state now and after each change. One read serves all watchers in this process. A slow watcher
   * gets the newest state, not every state.
   */
  watch(topic: Topic<Value>): AsyncIterableIterator<Value>
  /** The number of topics with a watcher. */
  count(): number
}

type Running<Value> = {
  readonly watchers: Set<() => void>
  latest: { readonly value: Value; readonly text: string; readonly version: number } | undefined
  stop(): void
}

type Parts = { readonly updates: Updates; readonly log: { warn(facts: object, text: string): void } }

/** Makes topics from the announcements of a process. */
export function createTopics<Value>(parts: Parts): Topics<Value> {
  const running = new Map<string, Running<Value>>()
  return {
    count: () => running.size,
    watch(topic) {
      const knownRunning = running.get(topic.key)
      const topicNow = knownRunning ?? start(parts, topic)
      if (knownRunning === undefined) running.set(topic.key, topicNow)
      return iterate(topicNow, () => {
        if (topicNow.watchers.size > 0) return
        topicNow.stop()
        running.delete(topic.key)
      })
    },
  }
}

function start<Value>({ updates, log }: Parts, topic: Topic<Value>): Running<Value> {
  const watchers = new Set<() => void>()
  const state: Running<Value> = { watchers, latest: undefined, stop }
  let isStopped = false
  let isDirty = false
  let timer: NodeJS.Timeout | undefined
  const poll = setInterval(() => touch(), topic.pollMs)
  const ends = topic.hints.map(({ channel, isAbout }) =>
    updates.listen(channel, (names) => isAbout(names) && touch(), catchUp),
  )
  void look()
  return state

  function stop() {
    isStopped = true
    clearInterval(poll)
    clearTimeout(timer)
    for (const end of ends) end()
  }

  function touch(delayMs = COALESCE_MS) {
    isDirty = true
    timer ??= setTimeout(look, delayMs)
  }

  function catchUp() {
    touch(Math.random() * CATCH_UP_MS)
  }

  async function look() {
    isDirty = false
    try {
      const value = await topic.read()
      const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part))
      if (text !== state.latest?.text) {
        state.latest = { value, text, version: (state.latest?.version ?? 0) + 1 }
        for (const wake of watchers) wake()
      }
    } catch (error) {
      log.warn({ err: error, topic: topic.key.split(':', 1)[0] }, 'the state of a subscription could not be read')
    }
    timer = undefined
    if (isDirty && !isStopped) touch()
  }
}

function iterate<Value>(topic: Running<Value>, onEnd: () => void): AsyncIterableIterator<Value> {
  let lastVersion = 0
  let isOver = false
  let resolve: ((result: IteratorResult<Value>) => void) | undefined
  const wake = () => {
    const { latest } = topic
    if (resolve === undefined || latest === undefined || latest.version <= lastVersion) return
    lastVersion = latest.version
    const tell = resolve
    resolve = undefined
    tell({ done: false, value: latest.value })
  }
  topic.watchers.add(wake)
  const end = () => {
    if (!isOver) {
      isOver = true
      topic.watchers.delete(wake)
      onEnd()
    }
    resolve?.({ done: true, value: undefined })
    resolve = undefined
  }
  return {
    next: () =>
      new Promise((settle) => {
        if (isOver) return settle({ done: true, value: undefined })
        resolve = settle
        wake()
      }),
    return: async () => {
      end()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
