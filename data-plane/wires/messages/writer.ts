import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { streamWriter } from './stream-writer.ts'
import { wholeWriter } from './whole-writer.ts'
import type { WriterOptions } from './writer-options.ts'

/** Writes events as an answer of the messages wire. */
export function messagesWriter(options: WriterOptions): AnswerWriter {
  return options.isStreamed ? streamWriter(options) : wholeWriter(options)
}
