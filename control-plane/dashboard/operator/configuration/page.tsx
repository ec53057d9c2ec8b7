import { useNavigate, useSearch } from '@tanstack/react-router'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { OperatorConfigurationDocument } from '#control-plane/dashboard/data/documents/operator-configuration.ts'
import { count, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Filters, Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { RateLimits } from './rate-limits.tsx'
import type { GivenSetting, Setting } from './setting-value.ts'
import { isChanged, linesOf, settingText } from './setting-value.ts'

export function ConfigurationPage() {
  return (
    <Gate side="operator" title="Configuration">
      <Configuration />
    </Gate>
  )
}

/** The heads of the subjects, in the order of the screen. */
const SUBJECTS: Readonly<Record<GivenSetting['subject'], string>> = {
  fees: 'Fees',
  payouts: 'Payouts',
  treasury: 'Treasury',
  wallets: 'Wallet payments and the chain',
  advances: 'Advances to wallets',
  sites: 'Addresses and the page',
  load: 'Load limits',
  media: 'Media files',
  upkeep: 'Checks and retention',
  storage: 'Databases and the journal',
  secrets: 'Secrets',
  mail: 'E-mail',
  process: 'Process and log',
  traces: 'Traces',
  development: 'Development and tests',
}
const ORDER = Object.keys(SUBJECTS)

function Configuration() {
  const { name = '', show } = useSearch({ from: '/operator/configuration' })
  const navigate = useNavigate({ from: '/operator/configuration' })
  const query = useScreen(OperatorConfigurationDocument, {})
  const curl = curlOf(OperatorConfigurationDocument, {}, true)
  const isAll = show === 'all' || name !== ''
  return (
    <Page
      title="Configuration"
      about="The settings that the market runs with, from the environment of its processes. Change a setting in the environment, then restart the process."
    >
      <Filters>
        <Search
          label="Find a setting"
          placeholder="Payout, retention, MAX_OPEN_CALLS"
          value={name}
          onSearch={(text) =>
            void navigate({ search: (now) => ({ ...now, name: text === '' ? undefined : text }), replace: true })
          }
        />
      </Filters>
      <Loaded query={query}>
        {({ planeSettings, rateLimits }) => {
          const lines = linesOf(planeSettings ?? [])
          const changed = lines.filter(isChanged)
          return (
            <>
              <Card
                title="Settings"
                about={
                  name === ''
                    ? `${count(changed.length)} of ${count(lines.length)} settings differ from their default`
                    : `Settings with “${name.trim()}” in the name, the subject or the meaning`
                }
                actions={
                  <Segments
                    label="Shown"
                    value={isAll ? 'all' : 'changed'}
                    choices={[
                      { value: 'changed', label: 'Changed' },
                      { value: 'all', label: 'All' },
                    ]}
                    onChoose={(next) => void navigate({ search: next === 'all' ? { show: next } : {}, replace: true })}
                  />
                }
                isFlush
              >
                <Table
                  label="Settings"
                  columns={COLUMNS}
                  rows={ordered(isAll ? lines.filter((line) => isAbout(line, name)) : changed)}
                  keyOf={({ name: variable, state, value, where }) => `${variable} ${state} ${value} ${where}`}
                  groupOf={({ subject }) => ({ key: subject, head: SUBJECTS[subject] })}
                  isRanked
                  curl={curl}
                  empty={
                    <Empty title="No setting fits">
                      <p>Try a part of its name, for example PAYOUT, or a word of its meaning.</p>
                    </Empty>
                  }
                />
              </Card>
              {name === '' ? <RateLimits limits={rateLimits ?? []} curl={curl} /> : null}
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

/** True where the text is in the name, the subject or the meaning of the setting. */
function isAbout({ name, subject, meaning }: Setting, text: string): boolean {
  const query = text.trim().toLowerCase()
  return [name, name.replaceAll('_', ' '), SUBJECTS[subject], meaning].some((part) =>
    part.toLowerCase().includes(query),
  )
}

/** Settings by subject, those that differ from their default first. */
function ordered(settings: readonly Setting[]): readonly Setting[] {
  const rank = (setting: Setting) => 2 * ORDER.indexOf(setting.subject) + (isChanged(setting) ? 0 : 1)
  return settings.toSorted((left, right) => rank(left) - rank(right))
}

const COLUMNS: readonly Column<Setting>[] = [
  {
    label: 'Setting',
    cell: ({ name, meaning }) => (
      <>
        <code>{name}</code>
        <span className="sub">{meaning}</span>
      </>
    ),
    text: ({ name }) => name,
    file: [
      { label: 'Setting', text: ({ name }) => name },
      { label: 'Meaning', text: ({ meaning }) => meaning },
    ],
  },
  {
    label: 'Value',
    phone: 'bare',
    cell: (setting) => <Value setting={setting} />,
    text: ({ value, isSecret, state }) => (isSecret ? (state === 'set' ? 'hidden' : 'not set') : value),
  },
  {
    label: 'Default',
    cell: ({ fallback, unit, isSecret }) => (
      <span className="muted">{fallback === null ? (isSecret ? '' : 'none') : settingText(fallback, unit)}</span>
    ),
    text: ({ fallback }) => fallback,
  },
  {
    label: 'Process',
    cell: ({ where }) => <span className="muted nowrap">{where}</span>,
    text: ({ where }) => where,
  },
]

function Value({ setting }: { readonly setting: Setting }) {
  const { value, unit, isSecret, state } = setting
  if (isSecret) {
    return state === 'set' ? (
      <>
        <span aria-hidden="true">••••••••</span> <span className="muted">hidden</span>
      </>
    ) : (
      <span className="muted">not set</span>
    )
  }
  if (value === null) return <span className="muted">{state === 'unset' ? 'not set' : UNKNOWN}</span>
  const text = settingText(value, unit)
  const shown = unit === null ? <code>{text}</code> : text
  return (
    <>
      {isChanged(setting) ? <strong>{shown}</strong> : shown}
      {text === value ? null : <code className="sub">{value}</code>}
    </>
  )
}
