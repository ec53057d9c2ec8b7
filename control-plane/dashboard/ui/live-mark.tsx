import { Button } from './button.tsx'
import { Badge } from './marks.tsx'

type Props = {
  readonly state: 'connecting' | 'live' | 'broken' | 'paused'
  readonly onPause: (isPaused: boolean) => void
}

const TONES = { connecting: 'plain', live: 'good', broken: 'warn', paused: 'info' } as const
const NAMES = { connecting: 'Connecting', live: 'Live', broken: 'Reconnecting', paused: 'Paused' } as const

/** The connection of a live part, and the button that pauses it. */
export function LiveMark({ state, onPause }: Props) {
  const isPaused = state === 'paused'
  return (
    <>
      <span role="status">
        <Badge tone={TONES[state]}>{NAMES[state]}</Badge>
      </span>
      <Button kind="quiet" onClick={() => onPause(!isPaused)}>
        {isPaused ? 'Resume' : 'Pause'}
      </Button>
    </>
  )
}
