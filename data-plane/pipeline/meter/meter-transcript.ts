import type { Ending, Metered, ModelPlan } from '#data-plane/call.ts'
import type { HeardAudio, HeardTokens } from '#shared/heard-audio.ts'
import { likelySoundTokens, mostHeardTokens } from '#shared/heard-audio.ts'
import { estimate } from './clip-usage.ts'
import { meterAnswer } from './meter-answer.ts'

/**
 * Meters a transcript that is priced by tokens of sound and of text. It takes the provider's figures, at most those of
 * the hold. Without a figure it estimates from the audio, the prompt and the transcript. An answer without a word used
 * nothing.
 */
export function meterTranscript({ target }: ModelPlan, audio: HeardAudio, ending: Ending): Metered {
  const { reported } = ending
  return meterAnswer(target.price.unitPrices, ending, (anomalies) => {
    const isReported = reported.inputTokens !== undefined && reported.outputTokens !== undefined
    if (!isReported) anomalies.push('usage_missing')
    const most = mostHeardTokens(audio, target.model)
    const heardTokens = givenTokens(audio, ending)
    if (heardTokens.input > most.input || heardTokens.audioInput > most.audioInput) anomalies.push('input_clipped')
    if (heardTokens.output > most.output) anomalies.push('output_clipped')
    const usage = {
      input: Math.min(heardTokens.input, most.input),
      audioInput: Math.min(heardTokens.audioInput, most.audioInput),
      output: Math.min(heardTokens.output, most.output),
    }
    return { usage, isReported }
  })
}

/** The provider's figures, and estimates in place of missing ones. */
function givenTokens({ promptBytes, mostMs, leastMs }: HeardAudio, ending: Ending): HeardTokens {
  const { inputTokens, audioInputTokens, outputTokens, milliseconds } = ending.reported
  const output = outputTokens ?? estimate(ending.contentBytes)
  const text = promptBytes === 0 ? 0 : estimate(promptBytes)
  if (inputTokens === undefined) {
    return { input: text, audioInput: likelySoundTokens(Math.min(milliseconds ?? leastMs, mostMs)), output }
  }
  const audioInput = Math.min(audioInputTokens ?? Math.max(0, inputTokens - text), inputTokens)
  return { input: inputTokens - audioInput, audioInput, output }
}
