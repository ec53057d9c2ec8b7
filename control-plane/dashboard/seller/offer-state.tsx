import { Badge } from '#control-plane/dashboard/ui/marks.tsx'

type State = {
  readonly stoppedBy: 'backed_off' | 'cap_used' | 'delisted' | 'inactive' | 'paused' | null
  readonly delistedReason: string | null
  readonly backedOffUntil: number | null
}

const STOPS = {
  backed_off: {
    tone: 'warn',
    label: 'backed off',
    next: 'Retried automatically. Open the offer to see why it failed.',
  },
  cap_used: { tone: 'info', label: 'cap used', next: 'It sells again at 00:00 UTC, or with a larger cap.' },
  delisted: { tone: 'bad', label: 'delisted by operators', next: 'Ask the operators of the market.' },
  inactive: { tone: 'plain', label: 'off the market', next: 'Edit the offer to put it back on sale.' },
  paused: { tone: 'info', label: 'paused', next: 'Resume it to sell again.' },
} as const

/** The state of an offer as a mark. */
export function OfferState({ state }: { readonly state: State }) {
  // The normal state is plain text, so that a stopped offer is seen at once.
  if (state.stoppedBy === null) return 'on sale'
  const { tone, label } = STOPS[state.stoppedBy]
  return <Badge tone={tone}>{label}</Badge>
}

/** The next step for a seller whose offer is stopped. */
export function nextStepOf({ stoppedBy, delistedReason }: State): string | undefined {
  if (stoppedBy === null) return undefined
  const reason = stoppedBy === 'delisted' && delistedReason !== null ? `Because: ${delistedReason}. ` : ''
  return `${reason}${STOPS[stoppedBy].next}`
}
