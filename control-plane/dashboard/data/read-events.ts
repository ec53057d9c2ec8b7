import { eventData } from './event-data.ts'

/** The longest event that is read, in characters: a picture in base64 has at most 32 MB. */
const MAX_EVENT_CHARS = 40_000_000
const DONE = '[DONE]'

/** Reads the events of a streamed answer, each with its JSON. Throws for an event that is too long or no JSON. */
export async function* readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<unknown> {
  for await (const data of eventData(body, MAX_EVENT_CHARS)) {
    if (data === DONE) return
    yield JSON.parse(data)
  }
}
