export function MoneyPage() {
  return null
}
