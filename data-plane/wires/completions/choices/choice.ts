/** A choice of a provider's answer as far as it may pass. */
export type TextChoice = {
  readonly index: number
  readonly text: string
  readonly reasoning: string
  /** JSON text. */
  readonly logprobs: string
  readonly reason: string | null
}

/** Reads a choice, whole or a piece of it, by its place in the list. Undefined when nobody can read it. */
export type ChoiceReader = (choice: unknown, place: number) => TextChoice | undefined

/** The choices that one exchange must bring. */
export type ChoiceReaders = {
  /** The index of the first of them in the buyer's answer. */
  readonly first: number
  readonly count: number
  readonly read: ChoiceReader
}

/** Why a choice can have ended on this wire. */
const REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'content_filter'])

/** A finish reason in the words of this wire. An unknown one counts as `stop`. */
export function reasonWord(reason: unknown): string | null {
  if (typeof reason !== 'string') return null
  return REASONS.has(reason) ? reason : 'stop'
}

/** The thoughts of a choice as a member to add to it; empty when it has none. */
export function thoughtMember(reasoning: string): string {
  return reasoning === '' ? '' : `,"reasoning":${JSON.stringify(reasoning)}`
}

/** The index of a choice. Undefined when it cannot be one. */
export function choiceIndex(value: unknown, otherwise: number): number | undefined {
  const index = value ?? otherwise
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : undefined
}
