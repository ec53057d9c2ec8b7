import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorSupportQuery } from '#control-plane/dashboard/data/documents/operator-support.ts'
import { OperatorSupportDocument } from '#control-plane/dashboard/data/documents/operator-support.ts'
import { words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Filters } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { Account } from './account.tsx'
import { CallCard } from './call-card.tsx'

export function SupportPage() {
  return (
    <Gate side="operator" title="Support">
      <Support />
    </Gate>
  )
}

/** A pasted secret does not become a part of the address: its beginning is enough to find the key. */
const SECRET = /^((?:inf|mkt_seller|mkt_mgmt)_[0-9A-Za-z]{8})[0-9A-Za-z]+$/

function Support() {
  const search = useSearch({ from: '/operator/support' })
  const navigate = useNavigate({ from: '/operator/support' })
  const { find = '', account = '', call = '' } = search
  const variables = {
    find,
    hasFind: find.length > 2,
    account,
    hasAccount: account !== '',
    call,
    hasCall: call !== '',
  }
  const query = useScreen(OperatorSupportDocument, variables, {
    isOn: find.length > 2 || account !== '' || call !== '',
  })
  const curl = curlOf(OperatorSupportDocument, variables, true)
  const found = query.isPlaceholderData ? undefined : query.data?.supportSubjects
  const only = found?.length === 1 ? found[0] : undefined
  useEffect(() => {
    if (only !== undefined) void navigate({ search: openedBy(only), replace: true })
  }, [only, navigate])
  return (
    <Page
      title="Support"
      about="Find a customer, see their balance, keys and calls, and fix what went wrong. Every change needs a reason and is audited."
    >
      <Filters>
        <Search
          label="Find a customer or a call"
          placeholder="Wallet, key, request id, account or transaction"
          value={find}
          onSearch={(text) => {
            const trimmed = text.trim().replace(SECRET, '$1')
            void navigate({ search: trimmed === '' ? {} : { find: trimmed }, replace: true })
          }}
        />
      </Filters>
      {find.length > 2 || account !== '' || call !== '' ? (
        <Loaded query={query} missing={<NotFound />}>
          {(data) => (
            <>
              {variables.hasFind ? <Found found={data.supportSubjects ?? []} curl={curl} /> : null}
              {data.supportCall == null ? null : <CallCard call={data.supportCall} />}
              {data.supportAccount == null ? null : <Account account={data.supportAccount} curl={curl} />}
              {!variables.hasFind &&
              !query.isPlaceholderData &&
              data.supportAccount == null &&
              data.supportCall == null ? (
                <NotFound />
              ) : null}
            </>
          )}
        </Loaded>
      ) : (
        <Empty title="Start with what the customer gave you">
          <p>A request id, a transaction hash, or the first six characters of a wallet or an API key.</p>
          <p>
            Or look through the <Link to="/operator/ledger">latest transactions</Link> and the{' '}
            <Link to="/operator/audit">latest changes</Link>.
          </p>
        </Empty>
      )}
    </Page>
  )
}

function NotFound() {
  return (
    <Empty title="No match">
      <p>Check the id. Wallets and keys match from their first six characters; other ids match as a whole.</p>
    </Empty>
  )
}

type Subject = NonNullable<OperatorSupportQuery['supportSubjects']>[number]

function openedBy({ kind, id, account }: Subject) {
  return { ...(account === null ? {} : { account }), ...(kind === 'call' ? { call: id } : {}) }
}

const COLUMNS: readonly Column<Subject>[] = [
  { label: 'Type', phone: 'plain', cell: ({ kind }) => words(kind), text: ({ kind }) => kind },
  {
    label: 'Id',
    phone: 'title',
    cell: (subject) =>
      subject.account === null ? (
        <code>{subject.id}</code>
      ) : (
        <Link to="/operator/support" search={openedBy(subject)}>
          <code>{subject.id}</code>
        </Link>
      ),
    text: ({ id }) => id,
  },
  { label: 'About', phone: 'bare', cell: ({ about }) => about, text: ({ about }) => about },
]

function Found({ found, curl }: { readonly found: readonly Subject[]; readonly curl: string }) {
  return (
    <Card title="Matches" about="Up to 20" isFlush>
      <Table
        label="Matches"
        columns={COLUMNS}
        rows={found}
        keyOf={({ kind, id, account }) => `${kind} ${id} ${account}`}
        curl={curl}
        empty={<NotFound />}
      />
    </Card>
  )
}
