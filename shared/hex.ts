type Hex = `0x${string}`

/** A text as hex. Throws a RangeError for a text without `0x`. */
export function asHex(text: string): Hex {
  if (!text.startsWith('0x')) throw new RangeError('not hexadecimal')
  return `0x${text.slice(2)}`
}

/** Hex in lower case, so that no checksum is verified. */
export function lowerHex(text: string): Hex {
  return `0x${text.slice(2).toLowerCase()}`
}
