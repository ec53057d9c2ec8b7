import { useState } from 'react'
import { PagePutFeatureDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorIncidentsQuery } from '#control-plane/dashboard/data/documents/operator-incidents.ts'
import { words } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Switch = NonNullable<OperatorIncidentsQuery['features']>[number]

export function Switches({ data, curl }: { readonly data: OperatorIncidentsQuery; readonly curl: string }) {
  const [asked, setAsked] = useState<Switch>()
  return (
    <Card title="Switches" about="A change takes effect within seconds" isFlush>
      <Table
        label="Switches"
        columns={columnsOf(setAsked)}
        rows={data.features ?? []}
        keyOf={({ name }) => name}
        curl={curl}
        empty={<Empty title="No switches">{null}</Empty>}
      />
      {asked === undefined ? null : <Turn feature={asked} onClose={() => setAsked(undefined)} />}
    </Card>
  )
}

/** The names of switches that are not words. */
const TITLES: ReadonlyMap<string, string> = new Map([
  ['sign_ups', 'Sign-ups'],
  ['x402_upto', 'x402, up to a price'],
  ['x402_exact', 'x402, exact price'],
  ['mpp', 'MPP'],
])

function titleOf(name: string): string {
  const text = words(name)
  return TITLES.get(name) ?? `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function Turn({ feature, onClose }: { readonly feature: Switch; readonly onClose: () => void }) {
  const { name, isOn, meaning } = feature
  const say = useToast()
  const put = useChange(PagePutFeatureDocument, {
    onDone: () => {
      onClose()
      say(`${titleOf(name)}: switched ${isOn ? 'off' : 'on'}.`)
    },
  })
  return (
    <Confirm
      title={`Switch ${isOn ? 'off' : 'on'}: ${titleOf(name)}?`}
      about={`${isOn ? 'This stops until you switch it on again' : 'This starts again'}: ${meaning}`}
      lines={[{ name: titleOf(name), now: isOn ? 'on' : 'off', after: isOn ? 'off' : 'on' }]}
      action={isOn ? 'Switch off' : 'Switch on'}
      isDanger={isOn}
      needsReason
      isBusy={put.isPending}
      error={put.error}
      onDo={(reason) => put.mutate({ name, isOn: !isOn, reason })}
      onClose={onClose}
    />
  )
}

function columnsOf(ask: (feature: Switch) => void): readonly Column<Switch>[] {
  return [
    {
      label: 'Switch',
      cell: ({ name, meaning }) => (
        <>
          {titleOf(name)}
          <span className="sub">{meaning}</span>
        </>
      ),
      text: ({ name }) => name,
    },
    {
      label: 'State',
      cell: ({ isOn }) => (isOn ? 'on' : <Badge tone="warn">off</Badge>),
      text: ({ isOn }) => (isOn ? 'on' : 'off'),
    },
    { label: 'Reason', cell: ({ reason }) => reason ?? '', text: ({ reason }) => reason },
    timeColumn('Changed', ({ changedAt }) => changedAt, { none: 'never' }),
    {
      label: 'Change',
      cell: (feature) => (
        <Button
          onClick={() => ask(feature)}
          aria-label={`Switch ${feature.isOn ? 'off' : 'on'} ${words(feature.name)}`}
        >
          {feature.isOn ? 'Switch off' : 'Switch on'}
        </Button>
      ),
    },
  ]
}
