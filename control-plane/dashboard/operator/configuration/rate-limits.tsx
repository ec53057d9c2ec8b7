import type { OperatorConfigurationQuery } from '#control-plane/dashboard/data/documents/operator-configuration.ts'
import { count, words } from '#control-plane/dashboard/data/format.ts'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'

type Limit = NonNullable<OperatorConfigurationQuery['rateLimits']>[number]

/** The limits in words, by their names at the market. */
const LIMITS: ReadonlyMap<string, readonly [title: string, about: string]> = new Map([
  ['read', ['Reads', 'Requests that read accounts, keys, offers and usage']],
  ['write', ['Changes', 'Requests that create or change keys, offers and settings']],
  ['probe', ['Checks of provider keys', 'Requests that make the market call a provider']],
  ['challenge', ['Sign-ins', 'Requests for a message or a code to sign in with']],
  ['key_rate', ['Model calls', 'Calls to models, unless the key has a limit of its own']],
  ['key_in_flight', ['Model calls at once', 'Calls that run at the same time, unless the key has a limit of its own']],
])
const titleOf = (name: string) => LIMITS.get(name)?.[0] ?? words(name)
const perMinute = (name: string, limit: number) =>
  name === 'key_in_flight' ? `${count(limit)} at once` : `${count(limit)} a minute`

const COLUMNS: readonly Column<Limit>[] = [
  {
    label: 'Limit',
    cell: ({ name }) => (
      <>
        {titleOf(name)}
        <span className="sub">{LIMITS.get(name)?.[1]}</span>
      </>
    ),
    text: ({ name }) => name,
  },
  { label: 'Name', cell: ({ name }) => <code>{name}</code>, text: ({ plane }) => plane },
  {
    label: 'For a key',
    isNumber: true,
    cell: ({ name, perKey }) => perMinute(name, perKey),
    text: ({ perKey }) => perKey,
  },
  {
    label: 'For a wallet',
    isNumber: true,
    cell: ({ name, perWallet }) =>
      perWallet === null ? <span className="muted">no limit</span> : perMinute(name, perWallet),
    text: ({ perWallet }) => perWallet,
  },
  {
    label: 'Set by',
    cell: ({ isStandard }) => (isStandard ? <span className="muted">default</span> : <strong>an operator</strong>),
    text: ({ isStandard }) => (isStandard ? 'default' : 'operator'),
  },
]

/** The limits of requests, which operators change while the market runs. */
export function RateLimits({ limits, curl }: { readonly limits: readonly Limit[]; readonly curl: string }) {
  return (
    <Card
      title="Rate limits"
      about={
        <>
          Requests above a limit get 429. Change a limit with <code>market operator limits set</code>; no restart needed
        </>
      }
      isFlush
    >
      <Table
        label="Rate limits"
        columns={COLUMNS}
        rows={limits}
        keyOf={({ name, plane }) => `${plane} ${name}`}
        curl={curl}
        empty={<Empty title="No limits">{null}</Empty>}
      />
    </Card>
  )
}
