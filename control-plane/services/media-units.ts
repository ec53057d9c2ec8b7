import { z } from 'zod'
import type { MEDIA_ROW } from '#control-plane/db/media-units.ts'
import type { RowOf } from '#control-plane/db/rows.ts'
import type { MediaUnits } from '#shared/media-units.ts'
import { mediaUnitsOf } from '#shared/media-units.ts'
import type { Usage } from '#shared/usage.ts'
import { sumUsage } from '#shared/usage.ts'
import { Count } from './view-fields.ts'

/** Usage of calls beside plain tokens. */
export const MediaUnitsSchema = z.object({
  images: Count.describe('Images of every resolution.'),
  images2k: Count.describe('Of the images, those that were charged as 2K.'),
  images4k: Count.describe('Of the images, those that were charged as 4K.'),
  megapixels: z.number().describe('Area, of models that are sold by it.'),
  seconds: z.number().describe('Time of sound, music and videos of every resolution.'),
  seconds1080p: z.number().describe('Of the seconds, those that were charged as 1080p.'),
  seconds4k: z.number().describe('Of the seconds, those that were charged as 4K.'),
  characters: Count.describe('Characters that were spoken.'),
  imageInputTokens: Count.describe('Of the input tokens, those of images.'),
  imageOutputTokens: Count.describe('Of the output tokens, those of images.'),
}) satisfies z.ZodType<MediaUnits>

/** The last columns of a file of calls, as `MEDIA_TEXT` writes them. */
export const MEDIA_FILE_COLUMNS = [
  'images',
  'images_2k',
  'images_4k',
  'megapixels',
  'seconds',
  'seconds_1080p',
  'seconds_4k',
  'characters',
  'image_input_tokens',
  'image_output_tokens',
]

/** The columns after those of media, as `BILLED_TEXT` writes them. */
export const BILLED_FILE_COLUMNS = ['cache_write_tokens', 'searches', 'price_conditions']

type MediaRow = RowOf<typeof MEDIA_ROW>

/** The units of a call or of a sum of calls. */
export function mediaUnitsOfRow(row: MediaRow): MediaUnits {
  return mediaUnitsOf(usageOfRow(row))
}

/** The units of several rows together. */
export function mediaUnitsOfRows(rows: readonly MediaRow[]): MediaUnits {
  return mediaUnitsOf(sumUsage(rows.map(usageOfRow)))
}

function usageOfRow(row: MediaRow): Usage {
  const { images, images2k, images4k, milliseconds, milliseconds1080p, milliseconds4k } = row
  return {
    characters: Number(row.characters),
    // The column of all resolutions includes the larger ones.
    images: Number(images - images2k - images4k),
    images2k: Number(images2k),
    images4k: Number(images4k),
    pixels: Number(row.pixels),
    milliseconds: Number(milliseconds - milliseconds1080p - milliseconds4k),
    milliseconds1080p: Number(milliseconds1080p),
    milliseconds4k: Number(milliseconds4k),
    imageInput: Number(row.imageInput),
    imageOutput: Number(row.imageOutput),
  }
}
