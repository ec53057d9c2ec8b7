/** Joins JSON texts with commas. Empty texts are left out. */
export function joinedTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(',')
}
