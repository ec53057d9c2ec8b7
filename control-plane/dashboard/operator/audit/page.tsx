import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorAuditQuery } from '#control-plane/dashboard/data/documents/operator-audit.ts'
import { OperatorAuditDocument } from '#control-plane/dashboard/data/documents/operator-audit.ts'
import { count, instant, short, words } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Filters } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager, RowsShown } from '#control-plane/dashboard/ui/pager.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { changeWords, sideWords } from './change-words.ts'
import type { FoldedEntries } from './folded-entries.ts'
import { foldEntries } from './folded-entries.ts'

export function AuditPage() {
  return (
    <Gate side="operator" title="Audit">
      <Audit />
    </Gate>
  )
}

type Entry = NonNullable<OperatorAuditQuery['audit']>['edges'][number]['node']
type Row = FoldedEntries<Entry>

function Audit() {
  const search = useSearch({ from: '/operator/audit' })
  const navigate = useNavigate({ from: '/operator/audit' })
  const query = useScreen(OperatorAuditDocument, search)
  const curl = curlOf(OperatorAuditDocument, search, true)
  const [opened, setOpened] = useState<Row>()
  const entries = (query.data?.audit?.edges ?? []).map(({ node }) => node)
  const pages = pagesOf(OperatorAuditDocument, search, (read) => read.audit)
  const whole = {
    rows: async () => {
      const { rows, isCut } = await pages.rows()
      return { rows: rows.map((newest): Row => ({ newest, more: [] })), isCut }
    },
  }
  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (now) => ({ ...now, after: undefined, ...next }), replace: !('after' in next) })
  return (
    <Page title="Audit" about="Every change, with the values before and after. Entries are never removed.">
      <Filters active={[search.subject, search.actor].filter((value) => value !== undefined).length}>
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
        <Search
          label="By"
          placeholder="usr_…, key_…"
          value={search.actor ?? ''}
          onSearch={(text) => change({ actor: text === '' ? undefined : text })}
        />
      </Filters>
      <Loaded query={query}>
        {(data) => (
          <Card title="Changes" about="Newest first. Equal changes in a row are one row" isFlush>
            <Table
              label="Audit"
              columns={columnsOf(setOpened)}
              rows={foldEntries(entries)}
              keyOf={({ newest }) => newest.id}
              curl={curl}
              whole={whole}
              empty={
                <Empty title="No change fits">
                  <p>Try fewer filters.</p>
                </Empty>
              }
              foot={
                <RowsShown value={entries.length}>
                  <span>Changes</span>
                  <Pager
                    after={search.after}
                    next={data.audit?.pageInfo.endCursor}
                    hasNext={data.audit?.pageInfo.hasNextPage}
                    onPage={(to) => change({ after: to })}
                  />
                </RowsShown>
              }
            />
          </Card>
        )}
      </Loaded>
      {opened === undefined ? null : <Opened row={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  )
}

/** The actor by a name: a short wallet, the label of a key, or the machine's own program. */
function actorName({ actor, actorName: name, actorKind }: Entry): string {
  if (actorKind === 'nobody' && name === null) return 'A visitor'
  if (name !== null) return nameText(actor, name)
  const [kind, program] = actor.split(':')
  return kind === 'operator' && program !== undefined ? `The market (${words(program)})` : idText(actor)
}

/** The beginning and the end of an id, which is whole in the drawer. */
const idText = (id: string) => (id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id)
/** The name of a record. The label of a key alone does not say that it is one. */
function nameText(id: string, name: string): string {
  if (id.startsWith('key_')) return `Key “${name}”`
  return /^0x[0-9a-f]{40,64}$/.test(name) ? short(name) : name
}
const subjectText = ({ subject, subjectName }: Entry) =>
  subject === null ? '' : subjectName === null ? idText(subject) : nameText(subject, subjectName)

const SUPPORTED = /^(acc|usr|wsp|org|key|dep|pay)_/

/** The subject by its name, with a link to the screen that has more about it. */
function Subject({ entry }: { readonly entry: Entry }) {
  const { subject, subjectName } = entry
  if (subject === null) return null
  const text = subjectName === null ? <code>{subjectText(entry)}</code> : subjectText(entry)
  if (SUPPORTED.test(subject)) {
    return (
      <Link to="/operator/support" search={{ find: subject }} title={subject}>
        {text}
      </Link>
    )
  }
  const [model] = subjectName?.split(' at ') ?? []
  return subject.startsWith('ofr_') && model !== undefined ? (
    <Link to="/operator/offers" search={{ model }} title={subject}>
      {text}
    </Link>
  ) : (
    <span title={subject}>{text}</span>
  )
}

function Actor({ entry }: { readonly entry: Entry }) {
  const { actor } = entry
  const text = actorName(entry)
  return SUPPORTED.test(actor) ? (
    <Link to="/operator/support" search={{ find: actor }} title={actor}>
      {text}
    </Link>
  ) : (
    <span title={actor}>{text}</span>
  )
}

function columnsOf(open: (row: Row) => void): readonly Column<Row>[] {
  return [
    timeColumn('When', ({ newest }) => newest.at, { phone: 'bare' }),
    {
      label: 'Change',
      phone: 'title',
      cell: (row) => (
        <button type="button" className="link" onClick={() => open(row)}>
          {sentence(changeWords(row.newest.operation))}
        </button>
      ),
      text: ({ newest }) => newest.operation,
    },
    {
      label: 'Subject',
      phone: 'bare',
      cell: ({ newest, more }) => (
        <>
          <Subject entry={newest} />
          {more.length === 0 ? null : <span className="muted nowrap">{` and ${count(more.length)} more`}</span>}
        </>
      ),
      text: ({ newest }) => newest.subjectName ?? newest.subject,
      file: [
        { label: 'Subject', text: ({ newest }) => newest.subject },
        { label: 'Subject name', text: ({ newest }) => newest.subjectName },
      ],
    },
    {
      label: 'By',
      cell: ({ newest }) => <Actor entry={newest} />,
      text: ({ newest }) => newest.actor,
      file: [
        { label: 'Actor', text: ({ newest }) => newest.actor },
        { label: 'Actor name', text: ({ newest }) => newest.actorName },
      ],
    },
    {
      label: 'With',
      cell: ({ newest }) => <span className="muted nowrap">{sideWords(newest.actorKind)}</span>,
      text: ({ newest }) => newest.actorKind,
    },
  ]
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** A change, or a list of equal changes with a way to each. */
function Opened({ row: { newest, more }, onClose }: { readonly row: Row; readonly onClose: () => void }) {
  const [chosen, setChosen] = useState(more.length === 0 ? newest : undefined)
  if (chosen !== undefined) return <Change entry={chosen} onClose={onClose} />
  const all = [newest, ...more]
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title={`${sentence(changeWords(newest.operation))}, ${count(all.length)} times`}
      place="right"
    >
      <p className="muted">
        By <Actor entry={newest} />, {sideWords(newest.actorKind)}
      </p>
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Subject</th>
            </tr>
          </thead>
          <tbody>
            {all.map((entry) => (
              <tr key={entry.id}>
                <td>
                  <button type="button" className="link" onClick={() => setChosen(entry)}>
                    <Time at={entry.at} />
                  </button>
                </td>
                <td>
                  <Subject entry={entry} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  )
}

/** A change member by member. */
function Change({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  const before = membersOf(entry.before)
  const after = membersOf(entry.after)
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={sentence(changeWords(entry.operation))} place="right">
      <Facts
        facts={[
          ['When', <Time key="at" at={entry.at} />],
          [
            'By',
            <span key="by">
              <Actor entry={entry} />
              {`, ${sideWords(entry.actorKind)}`}
            </span>,
          ],
          ['Actor', <code key="actor">{entry.actor}</code>],
          ...(entry.keyId === null ? [] : [['Key', <code key="key">{entry.keyId}</code>] as const]),
          ...(entry.subjectName === null ? [] : [['Subject', <Subject key="subject" entry={entry} />] as const]),
          ...(entry.subject === null ? [] : [['Subject id', <code key="id">{entry.subject}</code>] as const]),
          ['Operation', <code key="operation">{entry.operation}</code>],
        ]}
      />
      {names.length === 0 ? <p className="muted">This change has no fields.</p> : null}
      <div className="table-wrap" hidden={names.length === 0}>
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
                <th scope="row">{sentence(words(name))}</th>
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

/** A member for a reader: an instant as a time, a text without quotes, anything else as JSON. */
function memberText(name: string, member: unknown): string {
  if (typeof member === 'number' && name.endsWith('At')) return instant(member, 'utc')
  return typeof member === 'string' ? member : JSON.stringify(member)
}

function membersOf(text: string | null): ReadonlyMap<string, string> {
  const value: unknown = text === null ? null : JSON.parse(text)
  if (typeof value !== 'object' || value === null) return new Map()
  return new Map(Object.entries(value).map(([name, member]) => [name, memberText(name, member)]))
}
