import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import type { Tone } from '#control-plane/dashboard/ui/marks.tsx'
import { Money, State, Transaction } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'

type Deposit = NonNullable<BuyerCreditQuery['deposits']>['edges'][number]['node']

/** The number of deposits that the query of the screen reads. */
const SHOWN = 10

const TONES: Readonly<Record<Deposit['status'], Tone>> = {
  credited: 'good',
  signed: 'info',
  opened: 'plain',
  expired: 'plain',
  refused: 'bad',
}

const COLUMNS: readonly Column<Deposit>[] = [
  timeColumn('Started', ({ createdAt }) => createdAt),
  {
    label: 'State',
    cell: ({ status, reason }) => <State tone={TONES[status]} name={status} reason={reason} />,
    text: ({ status }) => status,
  },
  {
    label: 'Method',
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

/** The newest deposits, including those whose transfer has not arrived. Hidden before the first one. */
export function Deposits({ data, curl }: { readonly data: BuyerCreditQuery; readonly curl: string }) {
  const deposits = (data.deposits?.edges ?? []).map(({ node }) => node)
  if (deposits.length === 0) return null
  return (
    <Card
      title="Deposits"
      about={deposits.length < SHOWN ? 'Newest first' : `The newest ${SHOWN}. The ledger has all credited deposits`}
      isFlush
    >
      <Table label="Deposits" columns={COLUMNS} rows={deposits} keyOf={({ id }) => id} curl={curl} empty={null} />
    </Card>
  )
}
