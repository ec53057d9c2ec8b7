import type { Dialect } from '#data-plane/dialects/dialect.ts'
import { encodeMessages } from './encode.ts'
import { messagesReader } from './reader.ts'

/** The messages protocol, with `x-api-key` and a version header in place of a bearer key. */
export const messages: Dialect = {
  encode: encodeMessages,
  reader: messagesReader,
}
