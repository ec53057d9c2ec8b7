import type { Connection } from './connection.ts'
import type { CommandOutput } from './output.ts'
import type { Terminal } from './terminal.ts'

/** The options of a command by their camelCase name. */
export type CommandOptions = Readonly<Record<string, unknown>>
export type Given = { readonly args: readonly string[]; readonly options: CommandOptions }

/** All commands and their groups. */
export type CommandTable = { readonly groups: readonly CommandGroup[]; readonly commands: readonly Command[] }

/** The parts that a command may use. */
export type Cli = {
  readonly terminal: Terminal
  readonly connection: Connection
  /** All commands. Shell completion is made from it. */
  readonly table: CommandTable
  /** True when a program reads the answer. */
  readonly isJson: boolean
}

export type Action = (cli: Cli, given: Given) => Promise<CommandOutput>

export type Option = {
  /** `--model <name>`; `--yes` for one without a value. */
  readonly flags: string
  readonly text: string
  readonly fallback?: string
  readonly choices?: readonly string[]
}

/** A command for help, completion and the reference page. Its code is loaded when it is called. */
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

/** Words in front of other words, with their subject. */
export type CommandGroup = { readonly name: string; readonly summary: string }

/** Options that every command takes. */
export const COMMON_OPTIONS = [
  { flags: '--url <address>', text: 'the market to talk to' },
  { flags: '--key-file <file>', text: 'a file of mode 0600 with the key to use' },
  { flags: '--json', text: 'print the answer in JSON' },
] as const

/** Splits a name into its last word and the words before it. */
export function splitName(name: string): { parent: string; word: string } {
  const at = name.lastIndexOf(' ')
  return at < 0 ? { parent: '', word: name } : { parent: name.slice(0, at), word: name.slice(at + 1) }
}
