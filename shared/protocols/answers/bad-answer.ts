/** The reason why a provider's bytes cannot be an answer. */
export type BadAnswer = {
  /** `error` when the provider reports a failure, `malformed` for unreadable bytes, `cut` when the end is missing. */
  readonly kind: 'error' | 'malformed' | 'cut'
  /** The HTTP status of the reported error. */
  readonly status: number
  /** The provider's text; for `error`, its unchanged error. Unredacted, it may not be shown. */
  readonly text: string
}

/** Makes the fault of unreadable bytes. `text` gives the reason. */
export function malformed(text: string): BadAnswer {
  return { kind: 'malformed', status: 502, text }
}

/** A stream that stops before its protocol's end mark. */
export const NO_END: BadAnswer = { kind: 'cut', status: 502, text: 'the stream has no end' }
/** A stream with an event longer than the limit. */
export const TOO_LONG: BadAnswer = malformed('an event that is too long')
/** A whole answer that is not a JSON object, or nests too deep. */
export const NO_OBJECT: BadAnswer = malformed('not a JSON object of a sane depth')
