/**
 * The data of each event in a stream (`text/event-stream`), without events that have none. Throws for an event of more
 * than `maxChars`. A piece is read once, however long its event is.
 */
export async function* eventData(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  maxChars: number,
): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let event: string[] = []
  let chars = 0
  // The end of an event may lie in two pieces, so the last line feed of a piece is read with the next one.
  let lineFeed = ''
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const parts = (lineFeed + next.value).split('\n\n')
      const last = parts.pop() ?? ''
      lineFeed = last.endsWith('\n') ? '\n' : ''
      for (const part of parts) {
        const data = dataOf([...event, part].join(''))
        event = []
        chars = 0
        if (data !== '') yield data
      }
      event.push(last.slice(0, last.length - lineFeed.length))
      chars += last.length
      if (chars > maxChars) throw new Error('The answer has an event that is too long.')
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function dataOf(event: string): string {
  return event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
    .join('\n')
}
