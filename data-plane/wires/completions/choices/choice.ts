/** The permitted part of a choice of a provider's answer. */
export type TextChoice = {
  readonly index: number
  readonly text: string
  readonly reasoning: string
  /** JSON text. */
  readonly logprobs: string
  readonly reason: string | null
}

/** Parses a choice, whole or a piece of it, by its index in the list. Undefined for a malformed one. */
export type ChoiceReader = (choice: unknown, place: number) => TextChoice | undefined

/** The choices that one exchange must bring. */
export type ChoiceReaders = {
  /** The index of the first of them in the buyer's answer. */
  readonly first: number
  readonly count: number
  readonly read: ChoiceReader
}

/** The reasons for which a choice can have ended on this wire. */
const REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'content_filter'])

/** A finish reason in this wire's terms. An unknown one counts as `stop`. */
export function reasonWord(reason: unknown): string | null {
  if (typeof reason !== 'string') return null
  return REASONS.has(reason) ? reason : 'stop'
}

/** The reasoning of a choice as a member to add to it; empty without any. */
export function thoughtMember(reasoning: string): string {
  return reasoning === '' ? '' : `,"reasoning":${JSON.stringify(reasoning)}`
}

/** The index of a choice. Undefined when it cannot be one. */
export function choiceIndex(value: unknown, otherwise: number): number | undefined {
  const index = value ?? otherwise
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : undefined
}
