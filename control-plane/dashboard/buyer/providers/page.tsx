import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageRemoveOwnProviderDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerProvidersQuery } from '#control-plane/dashboard/data/documents/buyer-providers.ts'
import { BuyerProvidersDocument } from '#control-plane/dashboard/data/documents/buyer-providers.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { AddProvider } from './add-provider.tsx'
import { Policy } from './policy.tsx'
import { PROTOCOL_NAMES } from './protocol-names.ts'
import { Simulator } from './simulator.tsx'

export function ProvidersPage() {
  return (
    <Gate side="buyer" title="Routing">
      <Providers />
    </Gate>
  )
}

type Own = NonNullable<BuyerProvidersQuery['ownProviders']>[number]

function Providers() {
  const query = useScreen(BuyerProvidersDocument, {})
  const adding = useDialog()
  const [removed, setRemoved] = useState<Own>()
  return (
    <Page
      title="Routing"
      about="Rules for where your calls go, and your own provider keys."
      actions={
        <Button kind="primary" onClick={adding.open}>
          Add a provider key
        </Button>
      }
    >
      <Loaded query={query}>
        {(data) => (
          <>
            {data.preferences === null ? null : <Policy preferences={data.preferences} />}
            <Simulator rules={data.preferences} />
            <Card title="Your own provider keys" about="Calls try these keys first, and cost nothing here" isFlush>
              <Table
                label="Own provider keys"
                columns={columnsOf(setRemoved)}
                rows={data.ownProviders ?? []}
                keyOf={({ id }) => id}
                curl={curlOf(BuyerProvidersDocument, {}, true)}
                empty={
                  <Empty title="No provider keys of your own">
                    <p>With your own key, calls go to the market only when that provider fails.</p>
                    <Button onClick={adding.open}>Add a provider key</Button>
                  </Empty>
                }
              />
            </Card>
          </>
        )}
      </Loaded>
      <AddProvider dialog={adding} />
      {removed === undefined ? null : <Remove own={removed} onClose={() => setRemoved(undefined)} />}
    </Page>
  )
}

function columnsOf(remove: (own: Own) => void): readonly Column<Own>[] {
  return [
    {
      label: 'Provider',
      cell: ({ provider, label, baseUrl }) => (
        <>
          {label ?? provider}
          <span className="sub mono">{baseUrl}</span>
        </>
      ),
      text: ({ provider }) => provider,
    },
    {
      label: 'For',
      phone: 'plain',
      cell: ({ model }) => model ?? 'every model',
      text: ({ model }) => model ?? 'every model',
    },
    {
      label: 'Protocol',
      cell: ({ apiFormat }) => PROTOCOL_NAMES[apiFormat] ?? apiFormat,
      text: ({ apiFormat }) => apiFormat,
    },
    { label: 'Priority', isNumber: true, cell: ({ priority }) => priority, text: ({ priority }) => priority },
    timeColumn('Since', ({ createdAt }) => createdAt, { isNumber: true }),
    {
      label: 'Change',
      cell: (own) => (
        <Button kind="danger" onClick={() => remove(own)} aria-label={`Remove the key of ${own.provider}`}>
          Remove
        </Button>
      ),
    },
  ]
}

function Remove({ own, onClose }: { readonly own: Own; readonly onClose: () => void }) {
  const say = useToast()
  const remove = useChange(PageRemoveOwnProviderDocument, {
    onDone: () => {
      onClose()
      say('The key is removed.')
    },
  })
  return (
    <Confirm
      title="Remove this key?"
      about="The market deletes the key. Add it again to use it again."
      lines={[
        { name: own.model ?? 'Every model', now: `tried at ${own.provider} first`, after: 'tried on the market' },
      ]}
      action="Remove"
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      onDo={() => remove.mutate({ id: own.id })}
      onClose={onClose}
    />
  )
}
