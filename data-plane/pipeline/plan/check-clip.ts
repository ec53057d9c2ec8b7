import type { ModelDemand, ModelTarget } from '#data-plane/call.ts'
import { clipOf } from '#shared/catalog/model.ts'
import type { ClipResolution } from '#shared/clips.ts'
import { isLength, lengthsInWords } from '#shared/clips.ts'
import { AppError } from '#shared/errors.ts'
import type { UsageClass } from '#shared/usage.ts'

/** Tiers that cost more than a model's usual one, and their price class. */
const DEAR_TIERS: Readonly<Partial<Record<ClipResolution, UsageClass>>> = {
  '1080p': 'milliseconds1080p',
  '4k': 'milliseconds4k',
}

/**
 * Refuses video or music that its model cannot make. Throws AppError: `invalid_request` for a length or a resolution,
 * `unsupported_parameter` for a higher resolution without a price, `model_capability_unsupported` for the role of an
 * image, `image_required` for a model that needs one.
 */
export function checkClip({ model, price }: ModelTarget, { needs, bounds }: ModelDemand): void {
  if (bounds.clip === undefined) return
  const { lengths, resolutions, roles, needsSource } = clipOf(model)
  const { seconds, resolution, size } = bounds.clip
  if (seconds !== undefined && lengths !== null && !isLength(lengths, seconds)) {
    throw new AppError('invalid_request', {
      message: `${model.id} makes ${lengthsInWords(lengths)}.`,
      param: 'seconds',
      detail: { least: lengths.least, most: lengths.most, step: lengths.step },
    })
  }
  if (resolution !== undefined && resolutions.length > 0 && !resolutions.includes(resolution)) {
    throw new AppError('invalid_request', {
      message: `${model.id} makes ${resolutions.join(', ')}.${size === undefined ? '' : ` ${size} is ${resolution}.`}`,
      param: size === undefined ? 'resolution' : 'size',
      detail: { resolutions },
    })
  }
  const tier = resolution === undefined ? undefined : DEAR_TIERS[resolution]
  if (tier !== undefined && resolutions.length === 0 && price.unitPrices[tier] === undefined) {
    throw new AppError('unsupported_parameter', {
      message: `No seller of ${model.id} sells ${resolution} at a known price. Leave it out.`,
      param: size === undefined ? 'resolution' : 'size',
    })
  }
  const sourceRoles = needs.sourceRoles ?? []
  const misfit = sourceRoles.find(({ role }) => !roles.includes(role))
  if (misfit !== undefined) {
    throw new AppError('model_capability_unsupported', {
      message:
        roles.length === 0
          ? `${model.id} takes no pictures.`
          : `${model.id} takes pictures as ${roles.join(', ')}, not as ${misfit.role}.`,
      param: misfit.param,
      detail: { capability: 'source_images', roles },
    })
  }
  if (needsSource && sourceRoles.length === 0) {
    throw new AppError('image_required', {
      message: `${model.id} makes videos from an image: send image_url or input_images.`,
      param: 'image_url',
    })
  }
}
