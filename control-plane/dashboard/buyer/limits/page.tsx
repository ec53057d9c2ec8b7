import { useState } from 'react'
import { CAP_COLUMNS } from '#control-plane/dashboard/buyer/caps.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerLimitsQuery } from '#control-plane/dashboard/data/documents/buyer-limits.ts'
import { BuyerLimitsDocument } from '#control-plane/dashboard/data/documents/buyer-limits.ts'
import { count, money } from '#control-plane/dashboard/data/format.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { chosenWorkspace } from '#control-plane/dashboard/data/workspace.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Money, Unknown } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page, Stats } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { Alerts } from './alerts.tsx'
import type { LimitedKey } from './edit-limits.tsx'
import { EditLimits } from './edit-limits.tsx'

const REFRESH_MS = 15_000

export function LimitsPage() {
  return (
    <Gate side="buyer" title="Limits">
      <Limits />
    </Gate>
  )
}

function Limits() {
  const query = useScreen(BuyerLimitsDocument, {}, { everyMs: REFRESH_MS })
  const curl = curlOf(BuyerLimitsDocument, {}, true)
  const [edited, setEdited] = useState<LimitedKey>()
  const workspace = chosenWorkspace()
  return (
    <Page
      title="Limits"
      about={
        workspace === undefined
          ? 'Remaining budgets, the limit that each key reaches first, and when.'
          : `Your keys in ${workspace.name}: spent of each budget, and the limit that each key reaches first.`
      }
    >
      <Loaded query={query}>
        {(data) => (
          <>
            <First data={data} />
            <Keys data={data} curl={curl} onEdit={setEdited} />
            <Alerts hooks={data.webhooks ?? []} curl={curl} />
          </>
        )}
      </Loaded>
      {edited === undefined ? null : <EditLimits limited={edited} onDone={() => setEdited(undefined)} />}
    </Page>
  )
}

/** The limit that is used up first, of all keys. */
function First({ data: { caps } }: { readonly data: BuyerLimitsQuery }) {
  const ends = (caps?.keys ?? []).flatMap(({ label, daily, monthly }) =>
    [daily, monthly].flatMap((cap) => (cap === null || cap.runsOutAt === null ? [] : [{ label, at: cap.runsOutAt }])),
  )
  const isEmpty = Number(caps?.creditBalanceUsdc ?? 1) === 0
  const [first] = ends.sort((a, b) => a.at - b.at)
  const isCapped = (caps?.keys ?? []).some(({ daily, monthly }) => daily !== null || monthly !== null)
  const refusing = (caps?.keys ?? []).filter(({ daily, monthly }) => daily?.isRefusing || monthly?.isRefusing)
  return (
    <Stats
      figures={[
        {
          label: 'Available credit',
          value: <Money micro={caps?.creditBalanceUsdc} />,
          hint: caps === null ? undefined : `${money(caps.heldUsdc)} held for running calls`,
        },
        {
          label: 'First cap to run out',
          value:
            caps === null ? (
              <Unknown />
            ) : isEmpty ? (
              'The balance'
            ) : first === undefined ? (
              'None'
            ) : (
              <Ago at={first.at} />
            ),
          hint:
            caps === null
              ? undefined
              : isEmpty
                ? 'nothing is left to spend'
                : first !== undefined
                  ? `the cap of ${first.label}`
                  : isCapped
                    ? 'every cap lasts at this pace'
                    : 'no key has a cap',
        },
        {
          label: 'Keys refused now',
          value: caps === null ? <Unknown /> : count(refusing.length),
          hint:
            caps === null
              ? undefined
              : refusing.length === 0
                ? 'no cap is used up'
                : refusing.map(({ label }) => label).join(', '),
        },
      ]}
    />
  )
}

type KeysProps = {
  readonly data: BuyerLimitsQuery
  readonly curl: string
  readonly onEdit: (key: LimitedKey) => void
}

function Keys({ data, curl, onEdit }: KeysProps) {
  const columns: readonly Column<LimitedKey>[] = [
    ...CAP_COLUMNS,
    {
      label: 'Calls a minute',
      isNumber: true,
      cell: ({ rateLimitRpm }) =>
        rateLimitRpm === null ? <span className="muted">default</span> : count(rateLimitRpm),
      text: ({ rateLimitRpm }) => rateLimitRpm,
    },
    {
      label: 'Change',
      cell: (key) => (
        <Button onClick={() => onEdit(key)} aria-label={`Change the limits of ${key.label}`}>
          Change
        </Button>
      ),
    },
  ]
  return (
    <Card title="Keys" about="Active keys. Days and months are UTC" isFlush>
      <Table
        label="Limits of keys"
        columns={columns}
        rows={data.caps?.keys ?? []}
        most={25}
        keyOf={({ keyId }) => keyId}
        curl={curl}
        empty={
          <Empty title="No keys yet">
            <p>Your programs call with API keys. Caps limit the spending of each key.</p>
          </Empty>
        }
      />
    </Card>
  )
}
