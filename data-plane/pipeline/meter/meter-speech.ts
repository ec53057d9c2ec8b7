import type { Ending, Metered, ModelDemand, ModelPlan } from '#data-plane/call.ts'
import type { SpokenText } from '#shared/spoken-text.ts'
import { likelySpokenTokens, mostSpokenTokens } from '#shared/spoken-text.ts'
import { estimate } from './clip-usage.ts'
import { meterAnswer } from './meter-answer.ts'

/**
 * Meters speech that is priced by tokens of text and of sound. It takes the provider's figures, at most those of the
 * hold. Without a figure it estimates from the text. An answer without sound used nothing.
 */
export function meterSpeech(plan: ModelPlan, demand: ModelDemand, text: SpokenText, ending: Ending): Metered {
  const { model, price } = plan.target
  const { inputTokens, outputTokens } = ending.reported
  return meterAnswer(price.unitPrices, ending, (anomalies) => {
    const isReported = inputTokens !== undefined && outputTokens !== undefined
    if (!isReported) anomalies.push('usage_missing')
    const most = mostSpokenTokens(text, model.maxCompletionTokens)
    if ((inputTokens ?? 0) > text.inputTokens) anomalies.push('input_clipped')
    if ((outputTokens ?? 0) > most) anomalies.push('output_clipped')
    const usage = {
      input: Math.min(inputTokens ?? estimate(demand.bounds.inputBytes), text.inputTokens),
      audioOutput: Math.min(outputTokens ?? likelySpokenTokens(text), most),
    }
    return { usage, isReported }
  })
}
