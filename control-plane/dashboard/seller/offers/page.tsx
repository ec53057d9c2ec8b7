export function OffersPage() {
  return null
}
