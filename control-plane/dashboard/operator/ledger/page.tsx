import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { DAY_MS } from '#control-plane/dashboard/charts/every-bucket.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorLedgerQuery } from '#control-plane/dashboard/data/documents/operator-ledger.ts'
import { OperatorLedgerDocument } from '#control-plane/dashboard/data/documents/operator-ledger.ts'
import { exactMoney, words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Filters, Input, Search, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Badge, Money, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

export function LedgerPage() {
  return (
    <Gate side="operator" title="Ledger">
      <Ledger />
    </Gate>
  )
}

type Transaction = NonNullable<OperatorLedgerQuery['ledgerTransactions']>['edges'][number]['node']

/** The kinds of transactions, the most frequent first. */
const KINDS = {
  settle: 'Call',
  escrow: 'Start of a job',
  job_end: 'End of a job',
  deposit: 'Deposit',
  payment: 'Payment by wallet',
  payout: 'Payout',
  payout_paid: 'Payout paid',
  payout_returned: 'Payout returned',
  grant: 'Grant',
  refund: 'Refund',
  withdrawal: 'Withdrawal',
  adjust: 'Adjustment',
  reverse: 'Reversal',
  advance: 'Advance to a wallet',
  recall: 'Advance taken back',
  repaid: 'Advance repaid',
  write_off: 'Write-off',
  payout_cover: 'Payout covered',
  fund: 'Capital in',
  withdraw: 'Capital out',
} as const

const nameOf = (kind: string) => new Map<string, string>(Object.entries(KINDS)).get(kind) ?? words(kind)

function Ledger() {
  const search = useSearch({ from: '/operator/ledger' })
  const navigate = useNavigate({ from: '/operator/ledger' })
  const { account, kind, reference, from, to, open, after } = search
  const variables = {
    account,
    kind,
    reference,
    after,
    from: from === undefined ? undefined : Date.parse(from),
    to: to === undefined ? undefined : Date.parse(to) + DAY_MS,
  }
  const query = useScreen(OperatorLedgerDocument, variables)
  const change = (next: Partial<typeof search>) =>
    void navigate({
      search: (now) => ({ ...now, after: undefined, open: undefined, ...next }),
      replace: !('after' in next),
    })
  const show = (id: string | undefined) => void navigate({ search: (now) => ({ ...now, open: id }), replace: true })
  return (
    <Page
      title="Ledger"
      about="Every transaction of the market’s money. Its entries sum to 0, and no entry is ever changed or deleted."
    >
      <LedgerFilters search={search} onChange={change} />
      <Loaded query={query}>
        {(data) => {
          const rows = (data.ledgerTransactions?.edges ?? []).map(({ node }) => node)
          const opened = rows.find(({ id }) => id === open)
          return (
            <>
              <Card title="Transactions" about="By time of booking, newest first" isFlush>
                <Table
                  label="Transactions"
                  columns={columnsOf(show, account)}
                  rows={rows}
                  keyOf={({ id }) => id}
                  selected={open}
                  curl={curlOf(OperatorLedgerDocument, variables, true)}
                  whole={pagesOf(OperatorLedgerDocument, variables, (read) => read.ledgerTransactions)}
                  empty={
                    <Empty title="No transaction fits">
                      <p>Accounts and references match as a whole. Try fewer filters.</p>
                    </Empty>
                  }
                  foot={
                    <Pager
                      after={after}
                      next={data.ledgerTransactions?.pageInfo.endCursor}
                      hasNext={data.ledgerTransactions?.pageInfo.hasNextPage}
                      onPage={(next) => change({ after: next })}
                    />
                  }
                />
              </Card>
              {opened === undefined ? null : <Opened transaction={opened} onClose={() => show(undefined)} />}
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

type LedgerWish = {
  readonly account?: string | undefined
  readonly kind?: string | undefined
  readonly reference?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

type FiltersProps = { readonly search: LedgerWish; readonly onChange: (next: LedgerWish) => void }

function LedgerFilters({ search: { account, kind, reference, from, to }, onChange }: FiltersProps) {
  const active = [account, kind, from, to].filter((value) => value !== undefined).length
  return (
    <Filters active={active}>
      <Search
        label="Reference"
        placeholder="Request id or key"
        value={reference ?? ''}
        onSearch={(text) => onChange({ reference: text.trim() === '' ? undefined : text.trim() })}
      />
      <Search
        label="Account"
        placeholder="acc_…"
        value={account ?? ''}
        onSearch={(text) => onChange({ account: text.trim() === '' ? undefined : text.trim() })}
      />
      <Select
        label="Kind"
        value={kind ?? ''}
        choices={[{ value: '', label: 'All' }, ...Object.entries(KINDS).map(([value, label]) => ({ value, label }))]}
        onChange={({ currentTarget: { value } }) => onChange({ kind: value === '' ? undefined : value })}
      />
      <Input
        label="First day, UTC"
        type="date"
        value={from ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ from: value === '' ? undefined : value })}
      />
      <Input
        label="Last day, UTC"
        type="date"
        value={to ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ to: value === '' ? undefined : value })}
      />
    </Filters>
  )
}

function columnsOf(show: (id: string) => void, account: string | undefined): readonly Column<Transaction>[] {
  const ofAccount = ({ lines }: Transaction) => lines.find((line) => line.account === account)?.amountMicro ?? null
  return [
    {
      label: 'When',
      cell: ({ id, at }) => (
        <button type="button" className="link" onClick={() => show(id)}>
          <Time at={at} />
        </button>
      ),
      text: ({ at }) => at,
      unit: 'time',
    },
    { label: 'Kind', cell: ({ kind }) => nameOf(kind), text: ({ kind }) => kind },
    {
      label: 'Reference',
      cell: ({ key, id }) => (key === null ? <code className="nowrap">{id}</code> : <code>{key}</code>),
      text: ({ key, id }) => key ?? id,
    },
    {
      label: 'Moved',
      isNumber: true,
      cell: ({ movedMicro }) => <Money micro={movedMicro} />,
      text: ({ movedMicro }) => movedMicro,
      unit: 'microUsd',
    },
    ...(account === undefined
      ? []
      : [
          {
            label: 'This account',
            isNumber: true,
            cell: (row: Transaction) => <Money micro={ofAccount(row)} />,
            text: ofAccount,
            unit: 'microUsd',
          } as const,
        ]),
    { label: 'Entries', isNumber: true, cell: ({ lines }) => lines.length, text: ({ lines }) => lines.length },
    { label: 'Reason', cell: ({ note }) => note, text: ({ note }) => note },
  ]
}

function Opened({ transaction, onClose }: { readonly transaction: Transaction; readonly onClose: () => void }) {
  const { id, kind, key, note, at, lines, sumMicro } = transaction
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title={`${nameOf(kind)} of ${exactMoney(transaction.movedMicro)}`}
      place="right"
    >
      <Facts
        facts={[
          ['When', <Time key="at" at={at} />],
          ['Transaction', <code key="id">{id}</code>],
          ['Ledger key', key === null ? 'none, a call' : <code key="key">{key}</code>],
          ['Reason', note ?? 'none'],
          [
            'Balance',
            <Badge key="sum" tone={sumMicro === '0' ? 'good' : 'bad'}>
              {sumMicro === '0' ? 'balanced, sums to $0.00' : `off by ${exactMoney(sumMicro)}`}
            </Badge>,
          ],
        ]}
      />
      <div className="table-wrap">
        <table className="table">
          <caption className="hidden">Entries</caption>
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col">Kind</th>
              <th scope="col" className="num">
                Amount
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.account}>
                <th scope="row">
                  <Link to="/operator/ledger" search={{ account: line.account }}>
                    <code>{line.account}</code>
                  </Link>
                </th>
                <td>{words(line.accountKind)}</td>
                <td className="num">{exactMoney(line.amountMicro)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={2}>
                Sum
              </th>
              <td className="num">{exactMoney(sumMicro)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
      <div className="actions">
        <CopyButton text={key ?? id} label="Copy reference" />
        {kind === 'settle' ? (
          <Link to="/operator/support" search={{ call: id }}>
            Open the call
          </Link>
        ) : null}
      </div>
    </Dialog>
  )
}
