import type { Connection } from './connection.ts'
import type { Output } from './output.ts'
import type { Terminal } from './terminal.ts'

/** The options of a command by their camelCase name. */
export type Options = Readonly<Record<string, unknown>>
export type Given = { readonly args: readonly string[]; readonly options: Options }

/** What a command may use. */
export type Cli = {
  readonly terminal: Terminal
  readonly connection: Connection
  /** True when a program reads the answer. */
  readonly isJson: boolean
}

export type Action = (cli: Cli, given: Given) => Promise<Output>

export type Option = {
  /** `--model <name>`; `--yes` for one without a value. */
  readonly flags: string
  readonly text: string
  readonly fallback?: string
  readonly choices?: readonly string[]
}

/** A command as help, completion and the reference page know it; what it does is loaded when it is called. */
export type Command = {
  /** The words that call it: `keys create`. */
  readonly name: string
  readonly summary: string
  readonly arguments?: readonly { readonly name: string; readonly text: string }[]
  readonly options?: readonly Option[]
  /** Command lines that work, without the program's name. */
  readonly examples?: readonly string[]
  readonly load: () => Promise<Action>
}

/** Words that stand before other words, with what they are about. */
export type Group = { readonly name: string; readonly summary: string }
