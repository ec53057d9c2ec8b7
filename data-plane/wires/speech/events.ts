import type { Decoder, ModelPlan, Receipt } from '#data-plane/call.ts'
import { errorFrame, KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'

/**
 * Audio in OpenAI's speech events: each piece in base64 as it arrives, then one event with its cost. The provider is
 * asked for plain audio, so that every seller can serve this form. A failure is an event here.
 */
export function inEvents(audio: Decoder, { rid }: ModelPlan): Decoder {
  return {
    ...audio,
    head: { ...audio.head, contentType: () => 'text/event-stream; charset=utf-8' },
    push(chunk) {
      const sound = audio.push(chunk)
      if (sound.length === 0) return ''
      return `data: {"type":"speech.audio.delta","audio":"${Buffer.from(sound).toString('base64')}"}\n\n`
    },
    finish: (receipt) => `data: {"type":"speech.audio.done","usage":${usageJson(receipt)}}\n\n`,
    fail: (error) => errorFrame(error, rid),
    keepAlive: () => KEEP_ALIVE,
  }
}

function usageJson(receipt: Receipt): string {
  const { input, audioOutput, characters = 0 } = receipt.usage
  if (audioOutput === undefined) return `{"type":"characters","characters":${characters},${costMembers(receipt)}}`
  const [read, spoken] = [input ?? 0, audioOutput]
  const tokens = `"input_tokens":${read},"output_tokens":${spoken},"total_tokens":${read + spoken}`
  return `{"type":"tokens",${tokens},${costMembers(receipt)}}`
}
