import type { ModelDemand, ModelTarget } from '#data-plane/call.ts'
import { pricedPicture } from '#data-plane/pipeline/meter/priced-picture.ts'
import { AppError } from '#shared/errors.ts'

/**
 * Refuses an image of a size or a quality without a price, when a model's image prices depend on either. Throws
 * AppError `unsupported_parameter`.
 */
export function checkPicture(target: ModelTarget, { bounds: { images } }: ModelDemand): void {
  const { overrides, unitPrices } = target.price
  const lines = overrides?.filter(({ when }) => when.imageSizes !== undefined || when.imageQuality !== undefined) ?? []
  if (images === undefined || lines.length === 0 || unitPrices.images === undefined) return
  const { imageSize, imageQuality } = pricedPicture(target, images)
  const isOpen = images.quality === 'auto' && lines.some(({ when }) => when.imageQuality !== undefined)
  const isPlain = imageSize === undefined && imageQuality === undefined
  const isPriced = lines.some(
    ({ when }) =>
      when.imageQuality === imageQuality &&
      (imageSize === undefined ? when.imageSizes === undefined : when.imageSizes?.includes(imageSize) === true),
  )
  if (!isOpen && (isPlain || isPriced)) return
  const param = isOpen || imageSize === undefined ? 'quality' : images.size === undefined ? 'resolution' : 'size'
  const pictureWords = isOpen ? 'auto' : [imageSize, imageQuality].filter((part) => part !== undefined).join(' in ')
  throw new AppError('unsupported_parameter', {
    message: `No seller of ${target.id} sells an image of ${pictureWords} at a known price. Name another, or leave it out.`,
    param,
  })
}
