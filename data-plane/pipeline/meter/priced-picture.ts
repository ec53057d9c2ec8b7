import type { ModelTarget } from '#data-plane/call.ts'
import { takesParameter } from '#shared/catalog/model.ts'
import type { ImageShape } from '#shared/images.ts'
import { pictureFacts } from '#shared/images.ts'
import type { PriceFacts } from '#shared/price-list.ts'

/**
 * The facts of the pictures of a call by which its price list may tell them apart. A quality counts where the model is
 * told it.
 */
export function pricedPicture(
  { model }: ModelTarget,
  shape: ImageShape,
): Pick<PriceFacts, 'imageSize' | 'imageQuality'> {
  const isTold = model.parameters.length === 0 || takesParameter(model, 'quality')
  return pictureFacts(isTold ? shape : { ...shape, quality: undefined })
}
