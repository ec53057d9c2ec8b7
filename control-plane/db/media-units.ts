import { sql } from 'kysely'
import { bigint } from './tables/column.ts'

/**
 * The columns of usage beyond plain tokens, with our names. They have the same names in settlements and in the daily
 * sums. The columns of a resolution and those of image tokens are parts of other columns.
 */
const COLUMNS = [
  ['characters', 'characters'],
  ['images', 'images'],
  ['images_2k', 'images2k'],
  ['images_4k', 'images4k'],
  ['pixels', 'pixels'],
  ['milliseconds', 'milliseconds'],
  ['milliseconds_1080p', 'milliseconds1080p'],
  ['milliseconds_4k', 'milliseconds4k'],
  ['image_input_tokens', 'imageInput'],
  ['image_output_tokens', 'imageOutput'],
] as const

/** The columns as a row of a query. */
export const MEDIA_ROW = {
  characters: bigint(),
  images: bigint(),
  images2k: bigint(),
  images4k: bigint(),
  pixels: bigint(),
  milliseconds: bigint(),
  milliseconds1080p: bigint(),
  milliseconds4k: bigint(),
  imageInput: bigint(),
  imageOutput: bigint(),
}

const listOf = (write: (column: string, name: string) => string) =>
  sql.raw(COLUMNS.map(([column, name]) => write(column, name)).join(', '))

/** The columns under their own names, and as zeros. */
export const MEDIA_COLUMNS = listOf((column) => column)
export const NO_MEDIA = listOf((column) => `0::bigint as ${column}`)
/** The columns under our names. */
export const MEDIA_FIELDS = listOf((column, name) => `${column} as "${name}"`)
export const MEDIA_SUMS = listOf((column, name) => `coalesce(sum(${column}), 0)::bigint as "${name}"`)

/** The condition for a call that used more than plain tokens, in the form of its index. */
export const USES_MEDIA = sql.raw(
  'characters + images + pixels + milliseconds + calls + image_input_tokens + image_output_tokens > 0',
)

/**
 * A call's media units, separated by commas for a file: images, images of the larger tiers, megapixels, seconds,
 * seconds of the larger tiers, characters and image tokens.
 */
export const MEDIA_TEXT = sql`case when ${USES_MEDIA} then concat_ws(',', images, images_2k, images_4k,
  trim_scale(pixels / 1000000.0), trim_scale(milliseconds / 1000.0), trim_scale(milliseconds_1080p / 1000.0),
  trim_scale(milliseconds_4k / 1000.0), characters, image_input_tokens, image_output_tokens)
  else '0,0,0,0,0,0,0,0,0,0' end`
