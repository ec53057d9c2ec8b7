import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import { isHeardByTokens } from '#shared/heard-audio.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'

/** No accepted file lasts longer. */
const MAX_SECONDS = 1_000_000
const CUE = /-->\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{3})/g

/** Adds the tokens in the `usage` of a transcript to `into`, and the duration in milliseconds. */
export function mergeHeard(into: ReportedUsage, body: Readonly<Record<string, unknown>>): void {
  const { usage, duration } = body
  mergeUsage(into, usage)
  const seconds = isRecord(usage) ? (usage['seconds'] ?? usage['duration'] ?? duration) : duration
  if (seconds === undefined || seconds === null) return
  const heardSeconds =
    typeof seconds === 'string' && /^\d{1,7}(?:\.\d{1,16})?$/.test(seconds) ? Number(seconds) : seconds
  if (typeof heardSeconds === 'number' && heardSeconds >= 0 && heardSeconds <= MAX_SECONDS)
    into.milliseconds = Math.round(heardSeconds * 1_000)
  else into.insaneFields++
}

/** Takes the end of the last subtitle cue, a lower bound of the audio's length. */
export function mergeCues(into: ReportedUsage, subtitles: string): void {
  let last = 0
  for (const [, hours = '0', minutes = '0', seconds = '0', millis = '0'] of subtitles.matchAll(CUE)) {
    last = Math.max(last, ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000 + Number(millis))
  }
  if (last > 0) into.milliseconds = last
}

/** The `usage` object of a transcript: the charged tokens or seconds, and their cost. */
export function heardJson(receipt: Receipt, { target }: ModelPlan): string {
  if (isHeardByTokens(target.price.unitPrices)) {
    const { input = 0, audioInput = 0, output = 0 } = receipt.usage
    const read = input + audioInput
    return (
      `{"type":"tokens","input_tokens":${read},` +
      `"input_token_details":{"text_tokens":${input},"audio_tokens":${audioInput}},` +
      `"output_tokens":${output},"total_tokens":${read + output},${costMembers(receipt)}}`
    )
  }
  const seconds = JSON.stringify((receipt.usage.milliseconds ?? 0) / 1_000)
  return `{"type":"duration","seconds":${seconds},${costMembers(receipt)}}`
}
