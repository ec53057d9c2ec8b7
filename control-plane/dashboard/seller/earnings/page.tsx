export function EarningsPage() {
  return null
}
