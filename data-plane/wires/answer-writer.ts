import type { Receipt } from '#data-plane/call.ts'
import type { AppError } from '#shared/errors.ts'
import type { AnswerEvent, FinishReason } from '#shared/protocols/middle-form/answer.ts'

/** The end of an answer, which a writer takes last. */
export type WrittenEnd = {
  readonly reason: FinishReason
  readonly stopSequence: string | null
  /** True when the buyer's own cost ceiling ended it. */
  readonly isCeiling: boolean
}

/**
 * Writes events in a buyer's protocol. A writer writes one answer, streamed or whole; a whole one waits for `finish`.
 */
export type AnswerWriter = {
  /** Takes any event except `finish`. Returns the text to send now, which may be empty. */
  write(event: AnswerEvent): string
  /** The last bytes with usage and cost; for a whole answer, all of them. */
  finish(receipt: Receipt, end: WrittenEnd): string
  /** The wire's error as part of a stream that has begun. */
  fail(error: AppError): string
  /** The bytes to send during a silence, even before anything else was written. */
  keepAlive(): string
}
