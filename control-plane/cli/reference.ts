import type { Command } from './command.ts'
import { COMMON_OPTIONS } from './command.ts'
import { COMMANDS } from './commands/index.ts'
import { VARIABLES } from './config.ts'
import { EXIT_CODES } from './failure.ts'

/** Writes the program's reference page from its own tables. */
export function referencePage(): string {
  return `# Command line

Buy, sell and operate a market from a terminal: \`npx market <command>\` uses the same public API as the page. Answers are
tables on a terminal, plain columns in a pipe, and JSON with \`--json\`. Progress, costs and errors go to standard error.
\`market --help\` shows the commands by group.

## Address and keys

The program takes the address from \`--url\`, then from \`MARKET_URL\`, then from the \`sandbox.json\` of a development market on
this machine, then from the last \`market login\`. It takes keys from \`--key-file\`, a variable, the last login to that market,
or that \`sandbox.json\`. Never put a key on the command line, because every process of a machine can read it. The program
refuses a file with a secret that others can read (any mode wider than 0600).

| Variable | Meaning |
| --- | --- |
${rows(Object.entries(VARIABLES).map(([name, meaning]) => [code(name), meaning]))}

Every command takes:

| Option | Meaning |
| --- | --- |
${rows(COMMON_OPTIONS.map(({ flags, text }) => [code(flags), text]))}

## Exit codes

| Code | Name | Meaning |
| --- | --- | --- |
${rows(Object.entries(EXIT_CODES).map(([name, { code: number, meaning }]) => [String(number), name, meaning]))}

An error shows the message of the market, its code and the request id. With \`--json\`, the error is one line of JSON on
standard error: \`{"error":{"code","message","param","status","retry_after","request_id"}}\`.

## Completion

\`source <(market completion bash)\`, \`source <(market completion zsh)\`, or \`market completion fish | source\`.

## Commands
${COMMANDS.map(describe).join('')}`
}

const code = (text: string) => `\`${text}\``
const cell = (text: string) => text.replaceAll('|', '\\|')
const rows = (cells: readonly (readonly string[])[]) =>
  cells.map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

function describe({ name, summary, about, arguments: given = [], options = [], examples = [] }: Command): string {
  const words = [name, ...given.map((argument) => argument.name)].join(' ')
  const lines = [
    ...given.map((argument) => [code(argument.name), argument.text]),
    ...options.map(({ flags, text, choices, fallback }) => {
      const known = choices === undefined ? '' : ` (${choices.join(', ')})`
      return [code(flags), `${text}${known}${fallback === undefined ? '' : `; default ${fallback}`}`]
    }),
  ]
  const table = lines.length === 0 ? '' : `\n| Argument or option | Meaning |\n| --- | --- |\n${rows(lines)}\n`
  const shown = examples.map((line) => `npx market ${line}`).join('\n')
  const block = examples.length === 0 ? '' : `\n\`\`\`sh\n${shown}\n\`\`\`\n`
  const description = about === undefined ? summary : `${summary} ${about}`
  return `\n### market ${words}\n\n${description}\n${table}${block}`
}
