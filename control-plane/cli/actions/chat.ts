import { z } from 'zod'
import { count, dollars } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandInput, CommandOptions } from '#control-plane/cli/command.ts'
import { CommandFailure, usageError } from '#control-plane/cli/failure.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { isSet, requiredOption, textOption, wholeOption } from '#control-plane/cli/read-options.ts'

const MAX_PROMPT_BYTES = 8_000_000
const PATH = '/v1/chat/completions'

const Usage = z.looseObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  buyer_cost_micro: z.number().nullish(),
})
const Chunk = z.looseObject({
  id: z.string().nullish(),
  error: z.looseObject({ message: z.string(), code: z.union([z.string(), z.number()]).nullish() }).nullish(),
  choices: z.array(z.looseObject({ delta: z.looseObject({ content: z.string().nullish() }).nullish() })).nullish(),
  usage: Usage.nullish(),
})
const Whole = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullish() }) })),
  usage: Usage,
})

/** Sends one message and prints the answer as it comes. The cost follows on the other stream. */
export const chat: Action = async (cli, given) => {
  const body = await readBody(cli, given)
  const headers = headersOf(given.options)
  if (cli.isJson) {
    const answer = await cli.connection.call('POST', PATH, { side: 'buyer', body, headers })
    readAnswer(Whole, answer)
    return { json: answer, blocks: [] }
  }
  await streamAnswer(cli, { ...body, stream: true, stream_options: { include_usage: true } }, headers)
  return { json: undefined, blocks: [] }
}

async function streamAnswer(
  { terminal, connection }: Cli,
  body: object,
  headers: Record<string, string>,
): Promise<void> {
  const signal = terminal.interrupted
  let usage: z.output<typeof Usage> | undefined
  for await (const line of connection.lines('POST', PATH, { side: 'buyer', body, headers, signal })) {
    if (!line.startsWith('data:')) continue
    const data = line.slice('data:'.length).trim()
    if (data === '[DONE]') break
    const chunk = readAnswer(Chunk, JSON.parse(data))
    if (chunk.error != null) {
      terminal.out('\n')
      throw new CommandFailure('failure', chunk.error.message, { code: String(chunk.error.code ?? 'error') })
    }
    const text = chunk.choices?.[0]?.delta?.content
    if (text != null) terminal.out(shown(text))
    if (chunk.usage != null) usage = chunk.usage
  }
  terminal.out('\n')
  if (usage === undefined) return
  const cost = dollars(usage.buyer_cost_micro) ?? 'unknown'
  terminal.err(`${count(usage.prompt_tokens)} tokens in, ${count(usage.completion_tokens)} out, ${cost}\n`)
}

/** A model's words may hold anything. Lines and tabs reach the terminal; control characters do not. */
function shown(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '')
}

/**
 * The body of the call that the arguments and options describe. Without a prompt, or with `-`, the standard input is
 * the prompt.
 */
export async function readBody({ terminal }: Cli, { args, options }: CommandInput) {
  const words = args.join(' ')
  const fromInput = words === '-' || (words === '' && !terminal.canAsk)
  const prompt = fromInput ? (await terminal.readInput(MAX_PROMPT_BYTES)).trimEnd() : words
  if (prompt === '') throw usageError('Add a prompt, or - to read the standard input.')
  const system = textOption(options, 'system')
  const maxTokens = wholeOption(options, 'maxTokens', { min: 1, max: 10_000_000 })
  const provider = textOption(options, 'provider')
  return {
    model: requiredOption(options, 'model'),
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: prompt },
    ],
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(provider === undefined ? {} : { provider: { only: [provider] } }),
    ...(isSet(options, 'allowUntrusted') ? { allow_untrusted: true } : {}),
  }
}

export function headersOf(options: CommandOptions): Record<string, string> {
  const floor = wholeOption(options, 'minDiscount', { min: 0, max: 100 })
  const ceiling = textOption(options, 'maxCost')
  return {
    ...(floor === undefined ? {} : { 'x-min-discount': String(floor) }),
    ...(ceiling === undefined ? {} : { 'x-mkt-max-cost-micro': microOf('--max-cost', ceiling) }),
  }
}

/** Converts the dollars of an option to micro-USD in plain digits, without a float. */
export function microOf(option: string, text: string): string {
  const match = /^\$?(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim())
  if (match === null)
    throw usageError(
      `${option}: ${text} is not an amount. Use dollars with at most 6 decimals, e.g. 0.01 (minimum 0.000001).`,
    )
  return BigInt(`${match[1]}${(match[2] ?? '').padEnd(6, '0')}`).toString()
}
