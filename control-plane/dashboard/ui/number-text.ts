/** The number that a field holds. Null for a blank field. */
export function numberIn(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

/** The text of a number in a field. Blank for null. */
export function numberText(value: number | null): string {
  return value === null ? '' : String(value)
}
