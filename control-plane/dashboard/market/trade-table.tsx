import type { PublicFeedQuery } from '#control-plane/dashboard/data/documents/public-feed.ts'
import { volume } from '#control-plane/dashboard/data/format.ts'
import { Ago, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { ModelLink } from './model-link.tsx'

export type ShownTrade = NonNullable<PublicFeedQuery['trades']>[number]

const columns = (now: number): readonly Column<ShownTrade>[] => [
  { label: 'Model', cell: ({ model }) => <ModelLink model={model} />, text: ({ model }) => model },
  {
    label: 'Volume',
    cell: (trade) => <span className="muted nowrap">{volume(trade)}</span>,
    text: volume,
    phone: 'bare',
  },
  {
    label: 'Paid',
    isNumber: true,
    cell: ({ costMicro }) => <Money micro={costMicro} />,
    text: ({ costMicro }) => costMicro,
    unit: 'microUsd',
  },
  {
    label: 'When',
    isNumber: true,
    cell: ({ createdAt }) => <Ago at={createdAt} now={now} />,
    text: ({ createdAt }) => createdAt,
    unit: 'time',
    phone: 'bare',
  },
]

/** Charged calls, without names of buyers and sellers. Their ages are those at `now`. */
export function TradeTable(props: {
  readonly label: string
  readonly trades: readonly ShownTrade[]
  readonly curl: string
  readonly now?: number
}) {
  const { label, trades, curl, now = Date.now() } = props
  return (
    <Table
      label={label}
      columns={columns(now)}
      rows={trades}
      isRanked
      keyOf={({ createdAt, model, costMicro }) => `${createdAt} ${model} ${costMicro}`}
      curl={curl}
      empty={
        <Empty title="No calls yet">
          <p>Calls show up here a moment after they are charged.</p>
        </Empty>
      }
    />
  )
}
