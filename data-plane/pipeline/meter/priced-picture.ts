import type { ModelTarget } from '#data-plane/call.ts'
import { takesParameter } from '#shared/catalog/model.ts'
import type { ImageShape } from '#shared/images.ts'
import { pictureFacts } from '#shared/images.ts'
import type { PriceFacts } from '#shared/price-list.ts'

/** The facts about a call's images that a price list may depend on. A quality counts when the model receives it. */
export function pricedPicture(
  { model }: ModelTarget,
  shape: ImageShape,
): Pick<PriceFacts, 'imageSize' | 'imageQuality'> {
  const isTold = model.parameters.length === 0 || takesParameter(model, 'quality')
  return pictureFacts(isTold ? shape : { ...shape, quality: undefined })
}
