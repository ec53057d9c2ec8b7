/** A share of a whole as a bar. The figures are beside the bar. */
export function Meter({
  share,
  label,
  tone = 'good',
}: {
  share: number
  label: string
  tone?: 'good' | 'warn' | 'bad'
}) {
  const width = Math.max(0, Math.min(1, share)) * 100
  return (
    <svg className="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect width={100} height={8} fill="var(--line)" />
      <rect width={width} height={8} fill={`var(--${tone})`} />
    </svg>
  )
}
