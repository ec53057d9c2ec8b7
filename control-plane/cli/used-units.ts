import { z } from 'zod'

const Amount = z.number().nullish()

/** Members of a row with the usage of calls other than tokens. */
export const UsedUnits = { images: Amount, megapixels: Amount, seconds: Amount, characters: Amount }
type Used = { readonly [Unit in keyof typeof UsedUnits]?: number | null | undefined }

/** The usage of calls beside tokens as one text: `3 images, 1.5 seconds`. Null for tokens alone. */
export function usedUnits({ images, megapixels, seconds, characters }: Used): string | null {
  const all = Object.entries({ images, megapixels, seconds, characters })
  const used = all.filter(([, amount]) => amount != null && amount > 0)
  return used.length === 0 ? null : used.map(([unit, amount]) => `${amount} ${unit}`).join(', ')
}
