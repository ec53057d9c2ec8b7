import type { Cli, Command, CommandInput } from './command.ts'
import { COMMANDS, GROUPS } from './commands/index.ts'
import type { CliConfig } from './config.ts'
import { readCliConfig } from './config.ts'
import type { Connection } from './connection.ts'
import { connect } from './connection.ts'
import { CommandFailure, EXIT_CODES } from './failure.ts'
import type { CommandOutput } from './output.ts'
import { renderBlocks } from './output.ts'
import { openTerminal } from './process-terminal.ts'
import { buildProgram, exitOfParser } from './program.ts'
import type { Terminal } from './terminal.ts'

/** Runs one command line and answers the exit code. It never throws. */
export async function main(args: readonly string[], version: string): Promise<number> {
  const config = readCliConfig()
  const terminal = openTerminal(config)
  let exit: number = EXIT_CODES.ok.code
  const run = async (command: Command, given: CommandInput) => {
    exit = await runCommand({ command, given, config, terminal })
  }
  const program = buildProgram({ version, args }, run, terminal)
  try {
    await program.parseAsync([...(args.length === 0 ? ['--help'] : args)], { from: 'user' })
    return exit
  } catch (error) {
    return exitOfParser(error) ?? showFailure(terminal, error, false)
  }
}

type Job = {
  readonly command: Command
  readonly given: CommandInput
  readonly config: CliConfig
  readonly terminal: Terminal
}

async function runCommand({ command, given, config, terminal }: Job): Promise<number> {
  const { url, keyFile, json } = given.options
  const isJson = json === true
  try {
    const chosen = { url: typeof url === 'string' ? url : undefined, keyFile: textOf(keyFile) }
    let known: Connection | undefined
    const cli: Cli = {
      terminal,
      isJson,
      table: { groups: GROUPS, commands: COMMANDS },
      // Shell completion needs no market.
      get connection() {
        known ??= connect(config, chosen)
        return known
      },
    }
    const act = await command.load()
    const output = await act(cli, given)
    show(terminal, output, isJson)
    return EXIT_CODES[output.exit ?? 'ok'].code
  } catch (error) {
    return showFailure(terminal, error, isJson)
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

function show(terminal: Terminal, { json, blocks }: CommandOutput, isJson: boolean): void {
  if (isJson) {
    if (json !== undefined) terminal.out(`${JSON.stringify(json, plain, terminal.isOutTty ? 2 : undefined)}\n`)
  } else if (blocks.length > 0) {
    terminal.out(`${renderBlocks(blocks, terminal.looks)}\n`)
  }
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

/** The status of a call without enough credit. */
const PAYMENT_REQUIRED = 402

function showFailure(terminal: Terminal, error: unknown, isJson: boolean): number {
  const failure = failureOf(terminal, error)
  const { code, requestId, param, status, retryAfter } = failure.facts
  if (isJson) {
    const named = { code: code ?? failure.exit, message: failure.message, param, status }
    const facts = { ...named, retry_after: retryAfter, request_id: requestId }
    terminal.err(`${JSON.stringify({ error: facts })}\n`)
  } else {
    const wait = retryAfter === undefined ? undefined : `try again in ${retryAfter} s`
    const next = status === PAYMENT_REQUIRED ? '\n        Add credit: market deposit' : ''
    const details = [code && `code ${code}`, param && `field ${param}`, requestId && `request ${requestId}`, wait]
    const shown = details.filter((part) => part !== undefined && part !== '')
    terminal.err(`market: ${failure.message}${shown.length === 0 ? '' : `\n        ${shown.join(', ')}`}${next}\n`)
  }
  return EXIT_CODES[failure.exit].code
}

function failureOf(terminal: Terminal, error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error
  if (terminal.interrupted.aborted) return new CommandFailure('declined', 'Stopped.')
  return new CommandFailure('failure', error instanceof Error ? error.message : 'Something went wrong.')
}
