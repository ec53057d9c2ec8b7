import { StringDecoder } from 'node:string_decoder'
import type { Decoder } from '#data-plane/call.ts'
import { followObject } from './followed-object.ts'

const DONE = Buffer.from('\n\ndata: [DONE]\n\n')

/**
 * Reads a whole answer as the single frame of a stream, for a buyer of a stream. The frame ends with its object. A
 * choice then holds `message` instead of `delta`, which the frames' reader accepts.
 */
export function framedObject(inner: Decoder): Decoder {
  const utf8 = new StringDecoder('utf8')
  // Google wraps an error in a list.
  const object = followObject(true)
  let head = 'data: '
  return {
    ...inner,
    push(chunk) {
      if (object.isComplete()) return ''
      // A line end separates events, and in JSON it is white space.
      const text = head + object.take(utf8.write(chunk)).replace(/[\r\n]/g, ' ')
      head = ''
      const bytes = Buffer.from(text)
      return inner.push(object.isComplete() ? Buffer.concat([bytes, DONE]) : bytes)
    },
  }
}
