import { count, span, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import type { HealthSpell } from './health-spells.ts'

/** The state of an outage at an instant (Unix milliseconds). */
function stateOf({ event, pausedUntil, endedAt, pauses }: HealthSpell, now: number) {
  if (event !== 'outage') return { tone: 'plain', text: words(event) } as const
  if (endedAt !== null) return { tone: 'good', text: 'back' } as const
  if (pausedUntil !== null && pausedUntil > now) return { tone: 'bad', text: 'paused' } as const
  return pauses === 0
    ? ({ tone: 'warn', text: 'failed, not paused' } as const)
    : ({ tone: 'info', text: 'retried' } as const)
}

const lengthOf = ({ startedAt, endedAt }: HealthSpell) => (endedAt === null ? null : endedAt - startedAt)

/** Columns of an offer's health log, in which an outage is one row. */
export function healthColumns(now: number): readonly Column<HealthSpell>[] {
  return [
    timeColumn('Since', ({ startedAt }) => startedAt),
    {
      label: 'State',
      cell: (spell) => {
        const { tone, text } = stateOf(spell, now)
        return (
          <>
            {tone === 'good' || tone === 'plain' ? text : <Badge tone={tone}>{text}</Badge>}
            {spell.pausedUntil !== null && spell.pausedUntil > now ? (
              <span className="sub">
                until <Time at={spell.pausedUntil} />
              </span>
            ) : null}
          </>
        )
      },
      text: (spell) => stateOf(spell, now).text,
      file: [
        { label: 'State', text: (spell) => stateOf(spell, now).text },
        { label: 'Paused until', text: ({ pausedUntil }) => pausedUntil, unit: 'time' },
        { label: 'Back', text: ({ endedAt }) => endedAt, unit: 'time' },
      ],
    },
    {
      label: 'Failures',
      isNumber: true,
      cell: ({ failures, pauses }) => (
        <>
          {failures === 0 ? UNKNOWN : count(failures)}
          {pauses === 0 ? null : <span className="sub">{pauses === 1 ? '1 pause' : `${count(pauses)} pauses`}</span>}
        </>
      ),
      text: ({ failures }) => failures,
    },
    {
      label: 'Back after',
      isNumber: true,
      cell: (spell) => {
        const ms = lengthOf(spell)
        return ms === null ? UNKNOWN : span(ms)
      },
      text: lengthOf,
      unit: 'ms',
    },
    {
      label: 'Cause',
      cell: ({ cause }) => (cause === null ? UNKNOWN : words(cause)),
      text: ({ cause }) => cause,
    },
    { label: "Provider's last message", cell: ({ message }) => message, text: ({ message }) => message },
  ]
}
