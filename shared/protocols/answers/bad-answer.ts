/** Why a provider's bytes cannot be an answer. */
export type BadAnswer = {
  /** `error` when the provider says that it failed, `malformed` for what nobody can read, `cut` for a missing end. */
  readonly kind: 'error' | 'malformed' | 'cut'
  /** The HTTP status that the error in a body stands for. */
  readonly status: number
  /** The provider's words, not yet fit to be shown. */
  readonly text: string
}

/** Bytes that nobody can read as an answer; `text` says why. */
export function malformed(text: string): BadAnswer {
  return { kind: 'malformed', status: 502, text }
}

/** A stream that stops before its protocol's own end. */
export const NO_END: BadAnswer = { kind: 'cut', status: 502, text: 'the stream has no end' }
/** A stream whose event is longer than any that is read. */
export const TOO_LONG: BadAnswer = malformed('an event that is too long')
/** A whole answer that is no JSON object, or one that nests too deep. */
export const NO_OBJECT: BadAnswer = malformed('not a JSON object of a sane depth')
