import type { ImageSize } from '#shared/images.ts'

/** The aspect ratios that chat models with image output support. */
export const PICTURE_RATIOS: ReadonlySet<string> = new Set([
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '21:9',
])

/** The aspect ratio of a size. Undefined where such models do not support it. */
export function ratioOf({ width, height }: ImageSize): string | undefined {
  const common = greatestCommon(width, height)
  const ratio = `${width / common}:${height / common}`
  return PICTURE_RATIOS.has(ratio) ? ratio : undefined
}

function greatestCommon(left: number, right: number): number {
  return right === 0 ? left : greatestCommon(right, left % right)
}
