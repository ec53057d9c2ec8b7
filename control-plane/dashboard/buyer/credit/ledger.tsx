import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { BuyerCreditDocument } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { day, exactMoney, words } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { signedMoney } from '#control-plane/dashboard/ui/signed-money.ts'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { isLedgerKind, LEDGER_KINDS } from './ledger-kinds.ts'

type Line = NonNullable<BuyerCreditQuery['statements']>['edges'][number]['node']

const nameOf = (kind: string) => (isLedgerKind(kind) ? LEDGER_KINDS[kind] : words(kind))

const KINDS = [
  { value: '', label: 'All' },
  ...Object.entries(LEDGER_KINDS).map(([value, name]) => ({
    value,
    label: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  })),
]

/**
 * The ledger by UTC day, newest first. The market sums each day, so a page that begins within a day has its whole sum.
 */
export function Ledger({ data, curl }: { readonly data: BuyerCreditQuery; readonly curl: string }) {
  const { after, kind } = useSearch({ from: '/buyer/credit' })
  const navigate = useNavigate({ from: '/buyer/credit' })
  const show = (to?: string) => {
    const chosen = isLedgerKind(to ?? '') ? { kind: to } : {}
    void navigate({ search: chosen })
  }
  return (
    <Card
      title="Ledger"
      isFlush
      actions={
        <Select
          label="Kind"
          choices={KINDS}
          value={kind ?? ''}
          onChange={({ currentTarget: { value } }) => show(value)}
        />
      }
    >
      <Table
        label="Ledger"
        columns={COLUMNS}
        rows={(data.statements?.edges ?? []).map(({ node }) => node)}
        keyOf={({ id }) => id}
        groupOf={dayHead}
        curl={curl}
        whole={pagesOf(BuyerCreditDocument, { after, kind }, (read) => read.statements)}
        empty={
          kind === undefined ? (
            <Empty title="No ledger lines yet">
              <p>Each deposit, grant and charge adds a line, with the balance after it.</p>
            </Empty>
          ) : (
            <Empty title={`No lines of the kind ${nameOf(kind)}`}>
              <Button onClick={() => show()}>Show all kinds</Button>
            </Empty>
          )
        }
        foot={
          <Pager
            after={after}
            next={data.statements?.pageInfo.endCursor}
            hasNext={data.statements?.pageInfo.hasNextPage}
            onPage={(to) => void navigate({ search: { after: to, ...(kind && { kind }) } })}
          />
        }
      />
    </Card>
  )
}

function dayHead({ createdAt, daySumMicro }: Line) {
  const key = new Date(createdAt).toISOString().slice(0, 10)
  const year = key.slice(0, 4)
  const name = `${day(createdAt, 'utc')}${year === String(new Date().getUTCFullYear()) ? '' : ` ${year}`} UTC`
  return {
    key,
    head: (
      <>
        <span>{name}</span>
        <span className="num">{`Day total ${signedMoney(daySumMicro)}`}</span>
      </>
    ),
  }
}

const COLUMNS: readonly Column<Line>[] = [
  timeColumn('When', ({ createdAt }) => createdAt, { phone: 'bare' }),
  {
    label: 'Kind',
    cell: ({ kind }) => <span className="nowrap">{nameOf(kind)}</span>,
    text: ({ kind }) => kind,
    phone: 'bare',
  },
  {
    label: 'For',
    cell: ({ id, model, note }) =>
      model === null ? (
        (note ?? '')
      ) : (
        <Link to="/buyer/logs" search={{ call: id }}>
          {model}
        </Link>
      ),
    text: ({ model, note }) => model ?? note,
    phone: 'title',
  },
  {
    label: 'Amount',
    isNumber: true,
    cell: ({ amountMicro }) => signedMoney(amountMicro),
    text: ({ amountMicro }) => amountMicro,
    unit: 'microUsd',
    phone: 'plain',
  },
  {
    label: 'Balance after',
    isNumber: true,
    cell: ({ balanceMicro }) => exactMoney(balanceMicro),
    text: ({ balanceMicro }) => balanceMicro,
    unit: 'microUsd',
  },
]
