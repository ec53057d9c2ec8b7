import type { Connection } from './connection.ts'
import type { CommandOutput } from './output.ts'
import WORDS from './procedure-words.json' with { type: 'json' }
import type { Terminal } from './terminal.ts'

/** The options of a command by their camelCase name. */
export type CommandOptions = Readonly<Record<string, unknown>>
export type CommandInput = { readonly args: readonly string[]; readonly options: CommandOptions }

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

export type Action = (cli: Cli, given: CommandInput) => Promise<CommandOutput>

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
  /** A sentence. */
  readonly summary: string
  /** Further sentences of the command's own help. */
  readonly about?: string
  readonly arguments?: readonly { readonly name: string; readonly text: string }[]
  readonly options?: readonly Option[]
  /** Command lines that work, without the program's name. */
  readonly examples?: readonly string[]
  readonly load: () => Promise<Action>
}

/** The name of a procedure of the tRPC door. */
type ProcedureName = keyof typeof WORDS
type ProcedureWords = { readonly summary: string; readonly about?: string }
const WORDS_BY_PROCEDURE: Readonly<Record<ProcedureName, ProcedureWords>> = WORDS

/** A command as its table has it. The operation behind `procedure` says what the command does. */
export type CommandRow = Omit<Command, 'summary' | 'about'> &
  ({ readonly procedure: ProcedureName } | { readonly summary: string })

/** Gives a command its words: those of its operation, or its own. */
export function describeCommand(row: CommandRow): Command {
  if ('summary' in row) return row
  const { procedure, ...command } = row
  const { summary, ...words } = WORDS_BY_PROCEDURE[procedure]
  return { ...command, ...words, summary: `${summary}.` }
}

/** A group of commands: the first word of their names, and a sentence about them. */
export type CommandGroup = { readonly name: string; readonly summary: string }

/** A section of the help: a heading, and the words of the commands below it. */
export type CommandSection = {
  /** The name of the group whose help it is. Empty for that of the program. */
  readonly of: string
  readonly title: string
  readonly words: readonly string[]
}

/** Options that every command takes. */
export const COMMON_OPTIONS = [
  { flags: '--url <address>', text: 'address of the market' },
  { flags: '--key-file <file>', text: 'file with the key to use (mode 0600)' },
  { flags: '--json', text: 'print JSON' },
] as const

/** Splits a name into its last word and the words before it. */
export function splitName(name: string): { parent: string; word: string } {
  const at = name.lastIndexOf(' ')
  return at < 0 ? { parent: '', word: name } : { parent: name.slice(0, at), word: name.slice(at + 1) }
}
