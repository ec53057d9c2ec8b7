import { DAY_MS } from '#control-plane/dashboard/charts/every-bucket.ts'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'

export type ShownPeriod = '24h' | '7d' | '30d'

export const PERIOD_WORDS = { '24h': '24 hours', '7d': '7 days', '30d': '30 days' } as const

export const PERIOD_MS = { '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS } as const

const CHOICES = (['24h', '7d', '30d'] as const).map((value) => ({ value, label: PERIOD_WORDS[value] }))

export function PeriodChoice({
  value,
  onChoose,
}: {
  readonly value: ShownPeriod
  onChoose(period: ShownPeriod): void
}) {
  return <Segments label="Period" value={value} choices={CHOICES} onChoose={onChoose} />
}
