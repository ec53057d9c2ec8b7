import { StringDecoder } from 'node:string_decoder'

/** The longest event that is read, in characters, and that of one with a picture in it. */
export const MAX_EVENT_CHARS = 1_048_576
export const MAX_PICTURE_EVENT_CHARS = 33_554_432

/** Reads the `data` of server-sent events from bytes that may be cut anywhere (WHATWG HTML, section 9.2). */
export type SseReader = {
  /** `false` from the callback stops the reading for good. */
  push(chunk: Buffer): void
  /** Ends the reading. An event without its closing blank line counts as one. */
  end(): void
  isTooLong(): boolean
}

/**
 * Comments and the fields `id`, `event` and `retry` are dropped, because provider protocols need `data` alone. Lines
 * end with LF, CRLF or a bare CR, as the standard says.
 */
export function createSseReader(onData: (data: string) => boolean, maxChars = MAX_EVENT_CHARS): SseReader {
  const utf8 = new StringDecoder('utf8')
  let rest = ''
  let data: string | undefined
  let isStopped = false
  let isTooLong = false
  let isFirst = true
  let endedWithCr = false

  function takeLine(line: string): void {
    if (line === '') {
      if (data === undefined) return
      const event = data
      data = undefined
      if (!onData(event)) isStopped = true
      return
    }
    if (!line.startsWith('data')) return
    const value = line.startsWith('data: ') ? line.slice(6) : line.startsWith('data:') ? line.slice(5) : undefined
    if (value === undefined && line !== 'data') return
    data = data === undefined ? (value ?? '') : `${data}\n${value ?? ''}`
    if (data.length > maxChars) isTooLong = isStopped = true
  }

  function takeText(text: string): void {
    let from = 0
    let cr = text.indexOf('\r')
    let lf = text.indexOf('\n')
    while (!isStopped) {
      // CR and LF are each searched for again only behind their last place, so that a text is read once.
      if (cr >= 0 && cr < from) cr = text.indexOf('\r', from)
      if (lf >= 0 && lf < from) lf = text.indexOf('\n', from)
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf
      if (end < 0) break
      takeLine(text.slice(from, end))
      from = end + (text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10 ? 2 : 1)
    }
    rest = from === 0 ? text : text.slice(from)
    if (rest.length > maxChars) isTooLong = isStopped = true
  }

  return {
    push(chunk) {
      if (isStopped) return
      let text = utf8.write(chunk)
      if (text === '') return
      if (isFirst && text.charCodeAt(0) === 0xfeff) text = text.slice(1)
      isFirst = false
      // A CR at the end of the last chunk was taken as a line end. An LF right after that CR is part of the same line
      // end.
      if (endedWithCr && text.charCodeAt(0) === 10) text = text.slice(1)
      endedWithCr = text === '' ? endedWithCr : text.charCodeAt(text.length - 1) === 13
      // A long line in small pieces must not be searched again and again.
      if (rest !== '' && !text.includes('\n') && !text.includes('\r')) {
        rest += text
        if (rest.length > maxChars) isTooLong = isStopped = true
      } else takeText(rest === '' ? text : rest + text)
    },
    end() {
      if (isStopped) return
      takeText(`${rest}${utf8.end()}\n`)
      if (!isStopped) takeLine('')
    },
    isTooLong: () => isTooLong,
  }
}
