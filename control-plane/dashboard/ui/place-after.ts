const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

/** The place in a list after an arrow key, round its ends. Undefined for other keys. */
export function placeAfter(key: string, at: number, length: number): number | undefined {
  const step = STEPS[key]
  return step === undefined ? undefined : (at + step + length) % Math.max(length, 1)
}
