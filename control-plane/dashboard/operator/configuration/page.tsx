import { useNavigate, useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { OperatorConfigurationQuery } from '#control-plane/dashboard/data/documents/operator-configuration.ts'
import { OperatorConfigurationDocument } from '#control-plane/dashboard/data/documents/operator-configuration.ts'
import { count } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Filters, Search } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

export function ConfigurationPage() {
  return (
    <Gate side="operator" title="Configuration">
      <Configuration />
    </Gate>
  )
}

type Given = NonNullable<OperatorConfigurationQuery['planeSettings']>[number]
/** A setting that some processes of a plane share. `nodes` is empty where all of them do. */
type Setting = Omit<Given, 'node'> & { readonly nodes: readonly string[] }

function Configuration() {
  const { name = '' } = useSearch({ from: '/operator/configuration' })
  const navigate = useNavigate({ from: '/operator/configuration' })
  const query = useScreen(OperatorConfigurationDocument, {})
  const curl = curlOf(OperatorConfigurationDocument, {}, true)
  return (
    <Page
      title="Configuration"
      about="The settings that each plane runs with, from its environment. Secrets show only whether they are set. Change a setting in the environment, then restart the process."
    >
      <Filters>
        <Search
          label="Setting"
          placeholder="PAYOUT"
          value={name}
          onSearch={(text) => void navigate({ search: text === '' ? {} : { name: text }, replace: true })}
        />
      </Filters>
      <Loaded query={query}>
        {({ planeSettings }) => {
          const fitting = (planeSettings ?? []).filter((setting) => setting.name.includes(name.trim().toUpperCase()))
          return (
            <>
              <Plane title="Control plane" rows={sharedOf(fitting, 'control')} curl={curl} />
              <Plane title="Data planes" rows={sharedOf(fitting, 'data')} curl={curl} />
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

/** Lines of a setting: a line for each value. Processes that differ have lines of their own. */
function sharedOf(settings: readonly Given[], plane: Given['plane']): readonly Setting[] {
  const own = settings.filter((setting) => setting.plane === plane)
  const processes = new Set(own.map(({ node }) => node)).size
  const lines = new Map<string, Setting>()
  for (const { node, ...setting } of own) {
    const key = `${setting.name} ${setting.state} ${setting.value}`
    const nodes = [...(lines.get(key)?.nodes ?? []), ...(node === null ? [] : [node])]
    lines.set(key, { ...setting, nodes })
  }
  return [...lines.values()].map((line) => (line.nodes.length === processes ? { ...line, nodes: [] } : line))
}

const STATES = { set: 'set', default: 'default', unset: 'not set' } as const

const COLUMNS: readonly Column<Setting>[] = [
  { label: 'Setting', cell: ({ name }) => <code>{name}</code>, text: ({ name }) => name },
  {
    label: 'Value',
    cell: ({ value, isSecret, state }) =>
      isSecret ? (
        state === 'unset' ? (
          <span className="muted">secret, not set</span>
        ) : (
          <Badge>secret, hidden</Badge>
        )
      ) : (
        <code>{value ?? '–'}</code>
      ),
    text: ({ value, isSecret }) => (isSecret ? 'hidden' : value),
  },
  {
    label: 'From',
    cell: ({ state }) => <Badge tone={state === 'set' ? 'info' : 'plain'}>{STATES[state]}</Badge>,
    text: ({ state }) => STATES[state],
  },
]
const NODES: Column<Setting> = {
  label: 'Processes',
  cell: ({ nodes }) => (nodes.length === 0 ? 'all' : nodes.join(', ')),
  text: ({ nodes }) => (nodes.length === 0 ? 'all' : nodes.join(' ')),
}

function Plane({
  title,
  rows,
  curl,
}: {
  readonly title: string
  readonly rows: readonly Setting[]
  readonly curl: string
}) {
  const changed = rows.filter(({ state }) => state === 'set').length
  return (
    <Card
      title={title}
      about={`${count(changed)} of ${count(rows.length)} settings are set, the others default`}
      isFlush
    >
      <Table
        label={title}
        columns={title === 'Data planes' ? [...COLUMNS, NODES] : COLUMNS}
        rows={rows}
        keyOf={({ name, state, value, nodes }) => `${name} ${state} ${value} ${nodes.join()}`}
        curl={curl}
        empty={
          <Empty title="No settings">
            <p>No process of this plane has reported a setting that fits.</p>
          </Empty>
        }
      />
    </Card>
  )
}
