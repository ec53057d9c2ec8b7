/**
 * A whole number of 10^-`decimals` parts, zero or more and a safe integer, as the shortest plain decimal: what JSON prints
 * for their quotient, at a tenth of the time that printing a fraction takes. `decimal(1_500, 3)` is `1.5`.
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
