import { words } from '#control-plane/dashboard/data/format.ts'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'

const STATES: Readonly<Record<string, readonly [tone: Tone, buyer: string, seller: string]>> = {
  pending: ['info', 'not booked yet', 'waits for its payment'],
  // A charge to credit ends here, and a charge to a wallet moves on to the next state.
  accrued: ['good', 'charged', 'earned'],
  settled: ['good', 'settled on chain', 'earned'],
  failed: ['bad', 'failed', 'failed'],
  free: ['plain', 'free', 'free'],
}

type Props = { readonly status: string; readonly side?: 'buyer' | 'seller' }

/** The settlement state of a call, in words for its buyer or its seller. Only an exception has a badge. */
export function Settlement({ status, side = 'buyer' }: Props) {
  const [tone, buyer, seller] = STATES[status] ?? ['plain', words(status), words(status)]
  const text = side === 'buyer' ? buyer : seller
  return tone === 'good' || tone === 'plain' ? <span>{text}</span> : <Badge tone={tone}>{text}</Badge>
}
