export function IncidentsPage() {
  return null
}
