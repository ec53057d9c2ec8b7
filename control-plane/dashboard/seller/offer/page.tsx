export function OfferPage() {
  return null
}
