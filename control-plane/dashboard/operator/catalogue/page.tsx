export function CataloguePage() {
  return null
}
