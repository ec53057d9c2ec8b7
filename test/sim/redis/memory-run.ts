import type { Keyspace } from './memory-keyspace.ts'

/** A run of a script, with its keys and arguments. */
export type Run = {
  readonly data: Keyspace
  readonly epoch: number
  /** The server's clock in whole Unix milliseconds. */
  readonly now: number
  readonly day: string
  readonly month: string
  readonly keys: readonly string[]
  readonly args: readonly string[]
}
