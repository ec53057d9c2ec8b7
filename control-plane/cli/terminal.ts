import type { Looks } from './output.ts'

/** Where the program reads and writes. Answers go to `out`, all else to `err`. */
export type Terminal = {
  out(text: string): void
  err(text: string): void
  /** Whether answers go to a person's terminal, and whether a person can be asked. */
  readonly isOutTty: boolean
  readonly canAsk: boolean
  readonly looks: Looks
  /** All of the standard input, at most `maxBytes`. */
  readInput(maxBytes: number): Promise<string>
  /** Asks for a line. */
  ask(question: string): Promise<string>
  /** Ends what runs when the person presses Ctrl-C. */
  readonly interrupted: AbortSignal
}
