/** An event longer than this is not ours: a picture in base64 has at most 32 MB. */
const MAX_EVENT_CHARS = 40_000_000
const DONE = '[DONE]'

/** Reads the events of a streamed answer, each with its JSON. Throws for an event that is too long or no JSON. */
export async function* readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<unknown> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += next.value
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      if (text.length > MAX_EVENT_CHARS) throw new Error('The answer has an event that is too long.')
      for (const event of events) {
        const data = dataOf(event)
        if (data === DONE) return
        if (data !== '') yield JSON.parse(data)
      }
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
