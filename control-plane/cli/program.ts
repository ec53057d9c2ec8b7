import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander'
import type { Command, CommandGroup, CommandInput } from './command.ts'
import { COMMON_OPTIONS, splitName } from './command.ts'
import { COMMANDS, GROUPS, SECTIONS } from './commands/index.ts'
import { EXIT_CODES } from './failure.ts'

type Run = (command: Command, given: CommandInput) => Promise<void>
type Streams = { out(text: string): void; err(text: string): void }
type Start = { readonly version: string; readonly args: readonly string[] }

/** Builds the program with all commands and hands the called one to `run`. Throws CommanderError to end a run. */
export function buildProgram({ version, args }: Start, run: Run, terminal: Streams): Commander {
  const program = new Commander('market')
  const streams = { ...terminal, err: (text: string) => terminal.err(withMeant(text, args)) }
  const parents = new Map<string, Commander>([['', prepare(program, streams)]])
  program
    .description('Call models, sell capacity and run the market.')
    .version(version, '--version', 'print the version')
    .addHelpText('after', () => `\nExit codes: ${exitCodes()}.`)
  for (const entry of inOrder([...GROUPS, ...COMMANDS])) {
    if ('load' in entry) addCommand(parents, entry, { run, streams })
    else addGroup(parents, entry, streams)
  }
  return program
}

/** Entries in the order of the help: those of few words first, then by section. */
function inOrder(entries: readonly (CommandGroup | Command)[]): readonly (CommandGroup | Command)[] {
  const placeOf = ({ name }: CommandGroup) => {
    const { parent, word } = splitName(name)
    const at = SECTIONS.findIndex((section) => section.of === parent && section.words.includes(word))
    return [name.split(' ').length, at, SECTIONS[at]?.words.indexOf(word) ?? 0] as const
  }
  return entries.toSorted((one, other) => {
    const [depth, section, word] = placeOf(one)
    const [otherDepth, otherSection, otherWord] = placeOf(other)
    return depth - otherDepth || section - otherSection || word - otherWord
  })
}

/** The heading over an entry in the help of its group. */
function headingOf(name: string): string | undefined {
  const { parent, word } = splitName(name)
  return SECTIONS.find((section) => section.of === parent && section.words.includes(word))?.title
}

/** Adds the command that was meant where its words are in another order, as in `operator offers delist`. */
function withMeant(text: string, args: readonly string[]): string {
  if (!/^error: too many arguments/.test(text)) return text
  const words = args.filter((arg) => !arg.startsWith('-'))
  const last = words.at(-1) ?? ''
  const meant = COMMANDS.find(({ name }) => splitName(name).word === last && splitName(name).parent === words[0])
  return meant === undefined ? text : `${text.trimEnd()}\n(Did you mean market ${meant.name}?)\n`
}

function exitCodes(): string {
  return Object.entries(EXIT_CODES)
    .map(([name, { code }]) => `${code} ${name}`)
    .join(', ')
}

function prepare(commander: Commander, streams: Streams): Commander {
  return commander
    .exitOverride()
    .configureOutput({ writeOut: streams.out, writeErr: streams.err })
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .showHelpAfterError('(add --help for usage)')
    .showSuggestionAfterError(true)
}

function addGroup(parents: Map<string, Commander>, { name, summary }: CommandGroup, streams: Streams): void {
  const { parent, word } = splitName(name)
  const commander = parentOf(parents, parent).command(word).description(summary)
  const heading = headingOf(name)
  if (heading !== undefined) commander.helpGroup(heading)
  parents.set(name, prepare(commander, streams))
}

function parentOf(parents: ReadonlyMap<string, Commander>, name: string): Commander {
  const found = parents.get(name)
  if (found === undefined) throw new Error(`no group is called ${name}`)
  return found
}

type Parts = { readonly run: Run; readonly streams: Streams }

function addCommand(parents: ReadonlyMap<string, Commander>, command: Command, { run, streams }: Parts): void {
  const { parent, word } = splitName(command.name)
  const { summary, about } = command
  const commander = prepare(parentOf(parents, parent).command(word), streams)
    .summary(summary)
    .description(about === undefined ? summary : `${summary} ${about}`)
  const heading = headingOf(command.name)
  if (heading !== undefined) commander.helpGroup(heading)
  for (const { name, text } of command.arguments ?? []) commander.argument(name, text)
  for (const { flags, text, fallback, choices } of [...(command.options ?? []), ...COMMON_OPTIONS.map(plain)]) {
    const option = new CommanderOption(flags, text)
    if (fallback !== undefined) option.default(fallback)
    if (choices !== undefined) option.choices([...choices])
    commander.addOption(option)
  }
  const examples = (command.examples ?? []).map((line) => `  market ${line}`)
  if (examples.length > 0) commander.addHelpText('after', `\nExamples:\n${examples.join('\n')}`)
  commander.action(async () => {
    const args = commander.processedArgs.flat().filter((arg) => typeof arg === 'string')
    await run(command, { args, options: commander.opts() })
  })
}

/** An option in the spelling of a command's table. */
function plain({ flags, text }: { flags: string; text: string }): NonNullable<Command['options']>[number] {
  return { flags, text }
}

/** The exit code with which the parser ended a run. Undefined for any other error. */
export function exitOfParser(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined
  return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code
}
