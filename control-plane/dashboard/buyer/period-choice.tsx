import { Segments } from '#control-plane/dashboard/ui/fields.tsx'

export type Period = '24h' | '7d' | '30d'

const CHOICES = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
] as const

export function PeriodChoice({ value, onChoose }: { readonly value: Period; onChoose(period: Period): void }) {
  return <Segments label="Period" value={value} choices={CHOICES} onChoose={onChoose} />
}
