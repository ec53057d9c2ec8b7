import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Money, State, Time, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

type Deposit = NonNullable<BuyerCreditQuery['deposits']>['edges'][number]['node']

const TONES: Readonly<Record<Deposit['status'], Tone>> = {
  credited: 'good',
  signed: 'info',
  opened: 'plain',
  expired: 'plain',
  refused: 'bad',
}

const COLUMNS: readonly Column<Deposit>[] = [
  {
    label: 'Begun',
    cell: ({ createdAt }) => <Time at={createdAt} />,
    text: ({ createdAt }) => createdAt,
    unit: 'time',
  },
  {
    label: 'State',
    cell: ({ status, reason }) => <State tone={TONES[status]} name={status} reason={reason} />,
    text: ({ status }) => status,
  },
  {
    label: 'By',
    cell: ({ method }) => (method === 'authorization' ? 'signature' : 'transfer'),
    text: ({ method }) => method,
  },
  {
    label: 'From',
    cell: ({ sender }) => (
      <code className="nowrap" title={sender}>
        {short(sender)}
      </code>
    ),
    text: ({ sender }) => sender,
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountUsdc }) => <Money micro={amountUsdc} />,
    text: ({ amountUsdc }) => amountUsdc,
    unit: 'microUsdc',
  },
  {
    label: 'Transaction',
    cell: ({ txHash }) => <Transaction hash={txHash} />,
    text: ({ txHash }) => txHash,
  },
]

/** The newest deposits, including those whose transfer has not arrived. */
export function Deposits({ data, curl }: { readonly data: BuyerCreditQuery; readonly curl: string }) {
  return (
    <Card title="Deposits" about="Latest 10" isFlush>
      <Table
        label="Deposits"
        columns={COLUMNS}
        rows={(data.deposits?.edges ?? []).map(({ node }) => node)}
        keyOf={({ id }) => id}
        curl={curl}
        empty={
          <Empty title="No deposits yet">
            <p>A deposit appears here once you sign it, with its transaction.</p>
          </Empty>
        }
      />
    </Card>
  )
}
