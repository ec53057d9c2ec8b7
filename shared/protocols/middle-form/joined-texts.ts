/** JSON texts with commas between them. An empty one stands for nothing. */
export function joinedTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(',')
}
