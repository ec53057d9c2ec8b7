export function CockpitPage() {
  return null
}
