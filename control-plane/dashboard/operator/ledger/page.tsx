import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { DAY_MS } from '#control-plane/dashboard/charts/every-bucket.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorLedgerQuery } from '#control-plane/dashboard/data/documents/operator-ledger.ts'
import { OperatorLedgerDocument } from '#control-plane/dashboard/data/documents/operator-ledger.ts'
import { exactMoney, toMicro, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { accountText, kindText, LEDGER_KINDS } from '#control-plane/dashboard/operator/ledger-words.ts'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Filters, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { KeptInput, Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

export function LedgerPage() {
  return (
    <Gate side="operator" title="Ledger">
      <Ledger />
    </Gate>
  )
}

type Transaction = NonNullable<OperatorLedgerQuery['ledgerTransactions']>['edges'][number]['node']

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

type LedgerSearch = {
  readonly account?: string | undefined
  readonly kind?: string | undefined
  readonly reference?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

type FiltersProps = { readonly search: LedgerSearch; readonly onChange: (next: LedgerSearch) => void }

function LedgerFilters({ search: { account, kind, reference, from, to }, onChange }: FiltersProps) {
  const active = [account, kind, from, to].filter((value) => value !== undefined).length
  return (
    <Filters active={active}>
      <Search
        label="Reference"
        placeholder="Request id or ledger key"
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
        choices={[
          { value: '', label: 'All' },
          ...Object.entries(LEDGER_KINDS).map(([value, label]) => ({ value, label })),
        ]}
        onChange={({ currentTarget: { value } }) => onChange({ kind: value === '' ? undefined : value })}
      />
      <KeptInput
        label="First day, UTC"
        type="date"
        value={from ?? ''}
        onKeep={(text) => onChange({ from: text === '' ? undefined : text })}
      />
      <KeptInput
        label="Last day, UTC"
        type="date"
        value={to ?? ''}
        onKeep={(text) => onChange({ to: text === '' ? undefined : text })}
      />
    </Filters>
  )
}

type Line = Transaction['lines'][number]

/** The accounts that an amount leaves, or that it reaches, the largest amount first. */
function sideOf({ lines }: Transaction, isSender: boolean): readonly Line[] {
  const own = lines.filter(({ amountMicro }) => toMicro(amountMicro) < 0n === isSender && amountMicro !== '0')
  return own.toSorted(
    (left, right) => (isSender ? 1 : -1) * Number(toMicro(left.amountMicro) - toMicro(right.amountMicro)),
  )
}

function Accounts({ lines }: { readonly lines: readonly Line[] }) {
  return lines.map(({ account, accountKind, holder }) => (
    <div key={account} className="nowrap" title={account}>
      <Link to="/operator/ledger" search={{ account }}>
        {accountText({ accountKind, holder })}
      </Link>
    </div>
  ))
}

const linesText = (lines: readonly Line[]) => lines.map(({ account }) => account).join(' ')

function columnsOf(show: (id: string) => void, account: string | undefined): readonly Column<Transaction>[] {
  const ofAccount = ({ lines }: Transaction) => lines.find((line) => line.account === account)?.amountMicro ?? null
  return [
    timeColumn('When', ({ at }) => at, { phone: 'bare' }),
    {
      label: 'Transaction',
      phone: 'title',
      cell: ({ id, kind, about, note }) => (
        <>
          <button type="button" className="link" onClick={() => show(id)}>
            {kindText(kind)}
          </button>
          <span className="sub">{about ?? noteText(note)}</span>
        </>
      ),
      text: ({ kind }) => kind,
      file: [
        { label: 'Kind', text: ({ kind }) => kind },
        { label: 'Reference', text: ({ key, id }) => key ?? id },
        { label: 'About', text: ({ about }) => about },
        { label: 'Reason', text: ({ note }) => note },
      ],
    },
    {
      label: 'From',
      cell: (row) => <Accounts lines={sideOf(row, true)} />,
      text: (row) => linesText(sideOf(row, true)),
    },
    {
      label: 'To',
      cell: (row) => <Accounts lines={sideOf(row, false)} />,
      text: (row) => linesText(sideOf(row, false)),
    },
    {
      label: 'Moved',
      phone: 'lead',
      isNumber: true,
      cell: ({ movedMicro }) => exactMoney(movedMicro),
      text: ({ movedMicro }) => movedMicro,
      unit: 'microUsd',
    },
    ...(account === undefined
      ? []
      : [
          {
            label: 'This account',
            isNumber: true,
            cell: (row: Transaction) => exactOf(ofAccount(row)),
            text: ofAccount,
            unit: 'microUsd',
          } as const,
        ]),
  ]
}

const exactOf = (micro: string | null) => (micro === null ? UNKNOWN : exactMoney(micro))

/** A note for readers. The note of a payout is an id or an address, which the drawer has. */
function noteText(note: string | null): string {
  return note === null || /^(pay_|swp_|dep_|drw_|0x)/.test(note) ? '' : note
}

function Opened({ transaction, onClose }: { readonly transaction: Transaction; readonly onClose: () => void }) {
  const { id, kind, key, note, at, lines, sumMicro } = transaction
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title={`${kindText(kind)} of ${exactMoney(transaction.movedMicro)}`}
      place="right"
    >
      <Facts
        facts={[
          ['When', <Time key="at" at={at} />],
          ...(transaction.about === null ? [] : [['Call', transaction.about] as const]),
          ['Reason', note ?? 'none'],
          [kind === 'settle' ? 'Request id' : 'Transaction', <code key="id">{id}</code>],
          ...(key === null ? [] : [['Ledger key', <code key="key">{key}</code>] as const]),
          [
            'Balance',
            sumMicro === '0' ? (
              'Balanced: the entries sum to $0.00'
            ) : (
              <Badge key="sum" tone="bad">{`off by ${exactMoney(sumMicro)}`}</Badge>
            ),
          ],
        ]}
      />
      <div className="table-wrap">
        <table className="table">
          <caption className="hidden">Entries</caption>
          <thead>
            <tr>
              <th scope="col">Account</th>
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
                    {accountText(line)}
                  </Link>
                  <code className="sub">{line.account}</code>
                </th>
                <td className="num">{exactMoney(line.amountMicro)}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">Sum</th>
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
