/** Lines that are read while they are written. Unread lines wait in memory, so their writer must be bounded. */
export type LineFeed<Line> = {
  readonly lines: AsyncIterable<Line>
  push(line: Line): void
  end(): void
  /** Ends the feed with an error, after the unread lines. */
  fail(error: unknown): void
  /** True once the reader has gone. */
  isAbandoned(): boolean
}

export function createLineFeed<Line>(): LineFeed<Line> {
  const waiting: Line[] = []
  let ended: { readonly error?: unknown } | undefined
  let wasAbandoned = false
  let wake: () => void = () => undefined

  async function* read(): AsyncGenerator<Line> {
    try {
      for (;;) {
        const line = waiting.shift()
        if (line !== undefined) yield line
        else if (ended === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        } else if ('error' in ended) throw ended.error
        else return
      }
    } finally {
      wasAbandoned = true
    }
  }

  return {
    lines: read(),
    push(line) {
      waiting.push(line)
      wake()
    },
    end() {
      ended ??= {}
      wake()
    },
    fail(error) {
      ended ??= { error }
      wake()
    },
    isAbandoned: () => wasAbandoned,
  }
}

/** Yields the same lines. Their end, by success or error, waits for `last`. */
export async function* endLinesAfter<Line>(lines: AsyncIterable<Line>, last: Promise<unknown>): AsyncGenerator<Line> {
  try {
    yield* lines
  } finally {
    await last
  }
}
