/** Orders texts by their code units: the same on every machine, whatever its language. */
export function byText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}
