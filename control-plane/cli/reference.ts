import type { Command } from './command.ts'
import { COMMON_OPTIONS } from './command.ts'
import { COMMANDS } from './commands/index.ts'
import { VARIABLES } from './config.ts'
import { EXIT_CODES } from './failure.ts'

/** Writes the program's reference page from its own tables. */
export function referencePage(): string {
  return `# Command line

\`npx market <command>\` does over the public API what buyers, sellers and operators do on the page. Answers are tables on a terminal,
plain columns in a pipe, JSON with \`--json\`; progress, costs and errors go to standard error. \`market --help\` shows the commands
by group.

## Address and keys

The address comes from \`--url\`, then \`MARKET_URL\`, then the \`sandbox.json\` of a development market that runs here, then
the last \`market login\`. Keys come from \`--key-file\`, a variable, the last login to
that market, or that \`sandbox.json\`; never from the command line, which every process of a machine can read. A file
with a secret that others can read (any mode wider than 0600) is refused.

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

An error says what the service said, with its code and the id of the request. With \`--json\` it is one line of JSON on the
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
      return [code(flags), `${text}${known}${fallback === undefined ? '' : `; ${fallback} unless given`}`]
    }),
  ]
  const table = lines.length === 0 ? '' : `\n| Argument or option | Meaning |\n| --- | --- |\n${rows(lines)}\n`
  const shown = examples.map((line) => `npx market ${line}`).join('\n')
  const block = examples.length === 0 ? '' : `\n\`\`\`sh\n${shown}\n\`\`\`\n`
  const said = about === undefined ? summary : `${summary} ${about}`
  return `\n### market ${words}\n\n${said}\n${table}${block}`
}
