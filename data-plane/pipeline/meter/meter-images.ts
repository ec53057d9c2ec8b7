import type { Ending, Metered, ModelDemand, ModelPlan } from '#data-plane/call.ts'
import type { ImageBounds } from '#shared/images.ts'
import { imageUsage, likelyImageTokens, mostImageTokens, partialTokens, pixelsOf } from '#shared/images.ts'
import { unpricedClasses } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { clipInput, estimate } from './clip-usage.ts'
import { pricedPicture } from './priced-picture.ts'

/**
 * Meters images by their model's unit of sale. Pieces and area count the delivered images. Tokens are the provider's
 * figures up to the plausible maximum. Without a figure they are derived from the size and the quality. An answer
 * without an image used nothing, except the tokens of partial images that it has shown.
 */
export function meterImages(plan: ModelPlan, demand: ModelDemand, images: ImageBounds, ending: Ending): Metered {
  const { reported, finishReason, contentBytes } = ending
  const anomalies: string[] = []
  if (reported.insaneFields > 0) anomalies.push('usage_insane')
  const count = Math.min(reported.images ?? 0, images.count)
  const { unitPrices } = plan.target.price
  const isByToken = unitPrices.pixels === undefined && unitPrices.images === undefined
  const { partialImages: partials = 0 } = reported
  const isShown = count > 0 || (isByToken && partials > 0)
  if (contentBytes === 0 || !isShown) return { usage: {}, source: 'reported', finishReason, anomalies }
  const units = imageUsage(unitPrices, images, count, openArea(images, count, reported.pixels))
  const usage = units ?? tokenUsage(plan, demand, images, { ending, count, anomalies })
  for (const name of unpricedClasses(unitPrices, usage)) anomalies.push(`unpriced_${name}`)
  const isEstimated = units === undefined && reported.outputTokens === undefined
  const facts = plan.target.price.overrides === undefined ? undefined : pricedPicture(plan.target, images)
  return { usage, ...(facts && { facts }), source: isEstimated ? 'estimated' : 'reported', finishReason, anomalies }
}

/** The delivered area of images whose size the model chose, at most the area that was held. */
function openArea(images: ImageBounds, count: number, pixels: number | undefined): number | undefined {
  if (images.size !== undefined || pixels === undefined || pixels === 0) return undefined
  return Math.min(pixels, pixelsOf(images) * count)
}

type Reading = { readonly ending: Ending; readonly count: number; readonly anomalies: string[] }

function tokenUsage(
  plan: ModelPlan,
  demand: ModelDemand,
  images: ImageBounds,
  { ending, count, anomalies }: Reading,
): Usage {
  const { reported } = ending
  const { model } = plan.target
  const hasInput = reported.inputTokens !== undefined
  const input = hasInput ? clipInput(plan, demand, ending, anomalies) : estimate(demand.bounds.inputBytes)
  if (reported.outputTokens === undefined) anomalies.push('usage_missing')
  const most = mostImageTokens(model.imageOutput, images) * images.count
  const partialCount = partialTokens(model.imageOutput, reported.partialImages ?? 0)
  const given = reported.outputTokens ?? likelyImageTokens(model.imageOutput, images) * count + partialCount
  // A chat model may write text beside its images. The text counts up to the rest of the images' bound.
  if ((reported.imageOutputTokens ?? given) > most) anomalies.push('output_clipped')
  const output = Math.min(given, most)
  const imageInput = Math.min(reported.imageInputTokens ?? 0, input)
  // When the number of text tokens is unknown, all tokens count as images.
  const imageOutput = Math.min(reported.imageOutputTokens ?? output, output)
  return {
    input: input - imageInput,
    ...(imageInput > 0 && { imageInput }),
    ...(output > imageOutput && { output: output - imageOutput }),
    imageOutput,
  }
}
