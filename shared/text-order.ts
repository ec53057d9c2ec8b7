/** Orders texts by their code units, which is the same on every machine and in every language. */
export function byText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}
