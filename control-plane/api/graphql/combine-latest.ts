/**
 * Joins iterators of states into one iterator that yields the latest state of all of them, now and after each change.
 * Changes within `everyMs` are joined. The last state of a source that ends stays.
 */
export function combineLatest<State extends object>(
  sources: { readonly [Part in keyof State]?: AsyncIterableIterator<State[Part]> | undefined },
  everyMs: number,
): AsyncIterableIterator<Partial<State>> {
  const latest: Partial<State> = {}
  let waiting = 0
  let isChanged = false
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  let tell: ((result: IteratorResult<Partial<State>>) => void) | undefined
  const opened: AsyncIterableIterator<unknown>[] = []

  function changed() {
    isChanged = true
    // The first result waits until every part has one.
    if (waiting > 0 || timer !== undefined) return
    flush()
  }
  function flush() {
    timer = undefined
    if (!isChanged || tell === undefined) return
    isChanged = false
    timer = setTimeout(flush, everyMs)
    const resolve = tell
    tell = undefined
    resolve({ done: false, value: { ...latest } })
  }
  async function follow<Part extends keyof State>(part: Part, source: AsyncIterableIterator<State[Part]>) {
    for await (const value of source) {
      if (!(part in latest)) waiting -= 1
      latest[part] = value
      changed()
    }
  }
  for (const part in sources) {
    const source = sources[part]
    if (source === undefined) continue
    waiting += 1
    opened.push(source)
    void follow(part, source)
  }
  async function end(): Promise<IteratorResult<Partial<State>>> {
    isOver = true
    clearTimeout(timer)
    tell?.({ done: true, value: undefined })
    tell = undefined
    await Promise.all(opened.map((source) => source.return?.()))
    return { done: true, value: undefined }
  }
  return {
    next: () =>
      new Promise((resolve) => {
        if (isOver) return resolve({ done: true, value: undefined })
        tell = resolve
        if (isChanged) changed()
      }),
    return: end,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
