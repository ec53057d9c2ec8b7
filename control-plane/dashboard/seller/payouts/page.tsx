export function PayoutsPage() {
  return null
}
