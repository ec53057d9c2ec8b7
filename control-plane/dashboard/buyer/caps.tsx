import { Meter } from '#control-plane/dashboard/charts/meter.tsx'
import type { BuyerOverviewQuery } from '#control-plane/dashboard/data/documents/buyer-overview.ts'
import { percent } from '#control-plane/dashboard/data/format.ts'
import { Ago, Amount, Badge, Money } from '#control-plane/dashboard/ui/marks.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'

/** The spending limits of a key. */
export type ShownKeyCaps = NonNullable<BuyerOverviewQuery['caps']>['keys'][number]
type Cap = NonNullable<ShownKeyCaps['daily']>

function CapCell({ cap }: { readonly cap: Cap | null }) {
  if (cap === null) return <span className="muted">no cap</span>
  const share = Number(cap.usedUsdc) / Math.max(1, Number(cap.capUsdc))
  return (
    <div style={{ minWidth: '9rem' }}>
      <span>
        <Money micro={cap.usedUsdc} /> of <Amount micro={cap.capUsdc} />
      </span>
      <Meter share={share} label={percent(share * 100)} tone={share > 0.9 ? 'bad' : share > 0.7 ? 'warn' : 'good'} />
      <span className="sub">
        resets <Ago at={cap.resetsAt} />
        {cap.runsOutAt === null ? null : (
          <>
            , used up <Ago at={cap.runsOutAt} /> at this pace
          </>
        )}
      </span>
    </div>
  )
}

/** The caps of keys, and the cap that ends first. */
export const CAP_COLUMNS: readonly Column<ShownKeyCaps>[] = [
  { label: 'Key', cell: ({ label }) => label, text: ({ label }) => label },
  {
    label: 'Today (UTC)',
    cell: ({ daily }) => <CapCell cap={daily} />,
    text: ({ daily }) => daily?.usedUsdc,
    unit: 'microUsdc',
    phone: 'fact',
  },
  {
    label: 'This month (UTC)',
    cell: ({ monthly }) => <CapCell cap={monthly} />,
    text: ({ monthly }) => monthly?.usedUsdc,
    unit: 'microUsdc',
    phone: 'fact',
  },
  {
    label: 'Least left',
    phone: 'fact',
    cell: ({ binds, daily, monthly }) =>
      daily?.isRefusing === true || monthly?.isRefusing === true ? (
        <Badge tone="bad">{`${binds} cap refuses`}</Badge>
      ) : (
        <span>{binds}</span>
      ),
    text: ({ binds }) => binds,
  },
]
