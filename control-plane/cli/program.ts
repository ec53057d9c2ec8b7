import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander'
import type { Command, CommandGroup, Given } from './command.ts'
import { COMMON_OPTIONS, splitName } from './command.ts'
import { COMMANDS, GROUPS } from './commands/index.ts'
import { EXIT_CODES } from './failure.ts'

type Run = (command: Command, given: Given) => Promise<void>
type Streams = { out(text: string): void; err(text: string): void }

/** Builds the program with all commands and hands the called one to `run`. Throws CommanderError to end a run. */
export function buildProgram(version: string, run: Run, streams: Streams): Commander {
  const program = new Commander('market')
  const parents = new Map<string, Commander>([['', prepare(program, streams)]])
  program
    .description('Buy inference, sell capacity, and run the market.')
    .version(version, '--version', 'print the version')
    .addHelpText('after', () => `\nExit codes: ${exitCodes()}.`)
  for (const group of GROUPS) addGroup(parents, group, streams)
  for (const command of COMMANDS) addCommand(parents, command, { run, streams })
  return program
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
    .showHelpAfterError('(--help says more)')
    .showSuggestionAfterError(true)
}

function addGroup(parents: Map<string, Commander>, { name, summary }: CommandGroup, streams: Streams): void {
  const { parent, word } = splitName(name)
  const commander = parentOf(parents, parent).command(word).description(summary)
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
