import { MARK_STROKES } from './brand-mark.ts'

/** The mark of the market. The name is beside the mark. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className="mark">
      <rect width="32" height="32" rx="8" fill="var(--mark)" />
      {MARK_STROKES.map((stroke, at) => (
        <path
          key={stroke}
          d={stroke}
          fill="none"
          stroke={`var(--mark-${at + 1})`}
          strokeWidth="4"
          strokeLinecap="round"
        />
      ))}
    </svg>
  )
}
