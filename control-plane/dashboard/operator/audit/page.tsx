import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorAuditQuery } from '#control-plane/dashboard/data/documents/operator-audit.ts'
import { OperatorAuditDocument } from '#control-plane/dashboard/data/documents/operator-audit.ts'
import { instant } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Filters, Search } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

export function AuditPage() {
  return (
    <Gate side="operator" title="Audit">
      <Audit />
    </Gate>
  )
}

type Entry = NonNullable<OperatorAuditQuery['audit']>['edges'][number]['node']

function Audit() {
  const search = useSearch({ from: '/operator/audit' })
  const navigate = useNavigate({ from: '/operator/audit' })
  const query = useScreen(OperatorAuditDocument, search)
  const curl = curlOf(OperatorAuditDocument, search, true)
  const [opened, setOpened] = useState<Entry>()
  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (now) => ({ ...now, after: undefined, ...next }), replace: !('after' in next) })
  return (
    <Page title="Audit" about="Every change, with the values before and after. Entries are never removed.">
      <Filters>
        <Search
          label="Operation"
          placeholder="offer.update"
          value={search.operation ?? ''}
          onSearch={(text) => change({ operation: text === '' ? undefined : text })}
        />
        <Search
          label="Subject"
          placeholder="ofr_…, key_…"
          value={search.subject ?? ''}
          onSearch={(text) => change({ subject: text === '' ? undefined : text })}
        />
      </Filters>
      <Loaded query={query}>
        {(data) => (
          <>
            <Card title="Changes" isFlush>
              <Table
                label="Audit"
                columns={columnsOf(setOpened)}
                rows={(data.audit?.edges ?? []).map(({ node }) => node)}
                keyOf={({ id }) => id}
                curl={curl}
                whole={pagesOf(OperatorAuditDocument, search, (read) => read.audit)}
                empty={
                  <Empty title="No change fits">
                    <p>Try fewer filters.</p>
                  </Empty>
                }
                foot={
                  <Pager
                    after={search.after}
                    next={data.audit?.pageInfo.endCursor}
                    hasNext={data.audit?.pageInfo.hasNextPage}
                    onPage={(to) => change({ after: to })}
                  />
                }
              />
            </Card>
            <Card title="Rate limits" about="Calls a minute" isFlush>
              <Table
                label="Limits"
                columns={LIMIT_COLUMNS}
                rows={data.rateLimits ?? []}
                keyOf={({ name, plane }) => `${plane} ${name}`}
                curl={curl}
                empty={<Empty title="No limits">{null}</Empty>}
              />
            </Card>
          </>
        )}
      </Loaded>
      {opened === undefined ? null : <Change entry={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  )
}

/** A request before its sign-in has no account. */
const kindText = (kind: string) => (kind === 'nobody' ? 'signed out' : kind)

function columnsOf(open: (entry: Entry) => void): readonly Column<Entry>[] {
  return [
    {
      label: 'When',
      cell: (entry) => (
        <button type="button" className="link" onClick={() => open(entry)}>
          <Time at={entry.at} />
        </button>
      ),
      text: ({ at }) => at,
      unit: 'time',
    },
    {
      label: 'Operation',
      cell: ({ operation }) => <code className="nowrap">{operation}</code>,
      text: ({ operation }) => operation,
    },
    { label: 'By', cell: ({ actorKind }) => kindText(actorKind), text: ({ actorKind }) => actorKind },
    { label: 'Actor', cell: ({ actor }) => <code className="nowrap">{actor}</code>, text: ({ actor }) => actor },
    {
      label: 'Subject',
      cell: ({ subject }) => (subject === null ? null : <code>{subject}</code>),
      text: ({ subject }) => subject,
    },
  ]
}

/** A change member by member. */
function Change({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  const before = membersOf(entry.before)
  const after = membersOf(entry.after)
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={entry.operation} place="right">
      <Facts
        facts={[
          ['When', <Time key="at" at={entry.at} />],
          ['By', `${kindText(entry.actorKind)}, ${entry.actor}`],
          ['Subject', entry.subject ?? 'none'],
        ]}
      />
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td className="mono">{before.get(name) ?? ''}</td>
                <td className="mono">{after.get(name) ?? ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}

/** A member as JSON; an instant as a time. */
function memberText(name: string, member: unknown): string {
  return typeof member === 'number' && name.endsWith('At') ? instant(member, 'utc') : JSON.stringify(member)
}

function membersOf(text: string | null): ReadonlyMap<string, string> {
  const value: unknown = text === null ? null : JSON.parse(text)
  if (typeof value !== 'object' || value === null) return new Map()
  return new Map(Object.entries(value).map(([name, member]) => [name, memberText(name, member)]))
}

type Limit = NonNullable<OperatorAuditQuery['rateLimits']>[number]

const LIMIT_COLUMNS: readonly Column<Limit>[] = [
  { label: 'Limit', cell: ({ name, plane }) => `${name} (${plane})`, text: ({ name }) => name },
  { label: 'For a key', isNumber: true, cell: ({ perKey }) => perKey, text: ({ perKey }) => perKey },
  {
    label: 'For a wallet',
    isNumber: true,
    cell: ({ perWallet }) => perWallet ?? 'none',
    text: ({ perWallet }) => perWallet,
  },
  {
    label: 'Set',
    cell: ({ isStandard }) => (isStandard ? 'as delivered' : 'by operators'),
    text: ({ isStandard }) => (isStandard ? 'standard' : 'set'),
  },
]
