import type { Secret } from '#shared/secret.ts'
import type { Looks } from './output.ts'

/** The program's input and output. Answers go to `out`, everything else to `err`. */
export type Terminal = {
  out(text: string): void
  err(text: string): void
  /** True when answers go to a person's terminal. */
  readonly isOutTty: boolean
  /** True when a person can be asked. */
  readonly canAsk: boolean
  readonly looks: Looks
  /** Reads all of the standard input, at most `maxBytes`. */
  readInput(maxBytes: number): Promise<string>
  /** Asks for a line. */
  ask(question: string): Promise<string>
  /** Asks for a line that is not shown while it is typed. */
  askSecret(question: string): Promise<Secret>
  /** Aborts when the person presses Ctrl-C. */
  readonly interrupted: AbortSignal
}
