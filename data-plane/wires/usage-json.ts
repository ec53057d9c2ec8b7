import type { Receipt } from '#data-plane/call.ts'
import { decimal } from '#shared/decimal.ts'
import type { MicroUsd } from '#shared/money.ts'
import { subtractToZero } from '#shared/money.ts'
import { cacheReadTokens, cacheWriteTokens, inputTokens, outputTokens } from '#shared/usage.ts'

/** A wire's names for the two parts of the list cost. */
type PartNames = { readonly input: string; readonly output: string }

/** Most names of adapted parameters that are shown, and the longest. */
const MAX_NAMES = 32
const MAX_NAME_CHARS = 64

const PROMPT_AND_COMPLETIONS: PartNames = { input: 'prompt', output: 'completions' }
/** The names of the responses wire. */
export const INPUT_AND_OUTPUT: PartNames = { input: 'input', output: 'output' }

/** The cost of a call, as the last members of the `usage` object of every wire; those of its rail come last. */
export function costMembers(receipt: Receipt, parts: PartNames = PROMPT_AND_COMPLETIONS): string {
  const { chargeMicro, listMicro, listInputMicro, adaptedParams, members } = receipt
  return (
    `"cost":${dollars(chargeMicro)},"buyer_cost_micro":${chargeMicro},` +
    `"cost_details":{"upstream_inference_cost":${dollars(listMicro)},` +
    `"upstream_inference_${parts.input}_cost":${dollars(listInputMicro)},` +
    `"upstream_inference_${parts.output}_cost":${dollars(subtractToZero(listMicro, listInputMicro))}}` +
    (adaptedParams === undefined || adaptedParams.length === 0
      ? ''
      : `,"adapted_params":${shownNames(adaptedParams)}`) +
    (members === undefined ? '' : `,${JSON.stringify(members).slice(1, -1)}`)
  )
}

/**
 * The `usage` object of OpenAI's chat and completions as JSON text: the provider's figures as metered, and the cost.
 */
export function chatUsageJson(receipt: Receipt): string {
  const { usage } = receipt
  const input = inputTokens(usage)
  const output = outputTokens(usage)
  const { imageOutput = 0 } = usage
  const pictures = imageOutput === 0 ? '' : `,"image_tokens":${imageOutput}`
  return (
    `{"prompt_tokens":${input},"completion_tokens":${output},"total_tokens":${input + output},` +
    `"prompt_tokens_details":{"cached_tokens":${cacheReadTokens(usage)},"cache_write_tokens":${cacheWriteTokens(usage)},` +
    `"audio_tokens":${usage.audioInput ?? 0}},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoning ?? 0},"audio_tokens":${usage.audioOutput ?? 0}${pictures}},` +
    `${costMembers(receipt)}}`
  )
}

/** Parameters in the form of the header. */
function shownNames(names: readonly string[]): string {
  return JSON.stringify(names.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_NAME_CHARS)))
}

/** An amount as a JSON number of USD. */
function dollars(amount: MicroUsd): string {
  return decimal(Number(amount), 6)
}
