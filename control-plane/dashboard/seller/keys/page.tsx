import { useNavigate, useSearch } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import {
  PageCreateSellerKeyDocument,
  PageRevokeSellerKeyDocument,
} from '#control-plane/dashboard/data/documents/seller.ts'
import type { SellerKeysQuery } from '#control-plane/dashboard/data/documents/seller-keys.ts'
import { SellerKeysDocument } from '#control-plane/dashboard/data/documents/seller-keys.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { Empty, ErrorNotice, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

export function SellerKeysPage() {
  return (
    <Gate side="seller" title="Seller keys">
      <Keys />
    </Gate>
  )
}

type Key = NonNullable<SellerKeysQuery['sellerKeys']>['edges'][number]['node']

function Keys() {
  const { after } = useSearch({ from: '/seller/keys' })
  const navigate = useNavigate({ from: '/seller/keys' })
  const query = useScreen(SellerKeysDocument, { after })
  const making = useDialog()
  const [secret, setSecret] = useState<ShownSecret>()
  const [revoked, setRevoked] = useState<Key>()
  return (
    <Page
      title="Seller keys"
      about="A key lets a program list and change offers. It is not the key of a provider, and spends nothing."
      actions={
        <Button kind="primary" onClick={making.open}>
          New key
        </Button>
      }
    >
      <Loaded query={query}>
        {(data) => (
          <Card title="Your keys" isFlush>
            <Table
              label="Seller keys"
              columns={columnsOf(setRevoked)}
              rows={(data.sellerKeys?.edges ?? []).map(({ node }) => node)}
              keyOf={({ id }) => id}
              curl={curlOf(SellerKeysDocument, { after }, true)}
              whole={pagesOf(SellerKeysDocument, { after }, (read) => read.sellerKeys)}
              empty={
                <Empty title="No keys yet">
                  <p>Make one here. Its secret is shown once.</p>
                </Empty>
              }
              foot={
                <Pager
                  after={after}
                  next={data.sellerKeys?.pageInfo.endCursor}
                  hasNext={data.sellerKeys?.pageInfo.hasNextPage}
                  onPage={(to) => void navigate({ search: { after: to } })}
                />
              }
            />
          </Card>
        )}
      </Loaded>
      <NewSellerKey dialog={making} onMade={setSecret} />
      {revoked === undefined ? null : <Revoke revoked={revoked} onClose={() => setRevoked(undefined)} />}
      {secret === undefined ? null : <SecretOnce shown={secret} onDone={() => setSecret(undefined)} />}
    </Page>
  )
}

function stateOf({ revokedAt, expiresAt }: Key): 'revoked' | 'expired' | 'active' {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'active'
}

function columnsOf(revoke: (key: Key) => void): readonly Column<Key>[] {
  return [
    {
      label: 'Key',
      cell: ({ label, keyPrefix }) => (
        <>
          {label}
          <span className="sub mono">{keyPrefix}…</span>
        </>
      ),
      text: ({ label }) => label,
    },
    {
      label: 'State',
      cell: (key) => (stateOf(key) === 'active' ? 'active' : <Badge>{stateOf(key)}</Badge>),
      text: stateOf,
    },
    timeColumn('Created', ({ createdAt }) => createdAt, { isNumber: true }),
    {
      label: 'Last used',
      isNumber: true,
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Ago at={lastUsedAt} />),
      text: ({ lastUsedAt }) => lastUsedAt,
      unit: 'time',
    },
    timeColumn('Expires', ({ expiresAt }) => expiresAt, { isNumber: true, none: 'never' }),
    {
      label: 'Change',
      cell: (key) =>
        key.revokedAt !== null ? null : (
          <Button kind="danger" onClick={() => revoke(key)} aria-label={`Revoke ${key.label}`}>
            Revoke
          </Button>
        ),
    },
  ]
}

type NewProps = { readonly dialog: DialogState; readonly onMade: (shownSecret: ShownSecret) => void }

function NewSellerKey({ dialog, onMade }: NewProps) {
  const [label, setLabel] = useState('')
  const [days, setDays] = useState('')
  const create = useChange(PageCreateSellerKeyDocument, {
    onDone: ({ createSellerKey: { key, record } }) => {
      setLabel('')
      setDays('')
      dialog.close()
      if (key !== null) onMade({ title: `Key ${record.label}`, secret: key })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const end = days.trim() === '' ? {} : { expiresAt: Date.now() + Number(days) * DAY_MS }
    create.mutate({ label: label.trim(), ...end })
  }
  return (
    <Dialog dialog={dialog} title="New seller key">
      <form className="form" onSubmit={submit}>
        <Input
          label="Name"
          hint="A name only you see, e.g. listing-script"
          required
          maxLength={200}
          value={label}
          onChange={({ currentTarget: { value } }) => setLabel(value)}
        />
        <Input
          label="Expires after, days"
          hint="Leave blank for no expiry"
          type="number"
          min={1}
          max={3650}
          step={1}
          value={days}
          onChange={({ currentTarget: { value } }) => setDays(value)}
        />
        {create.error === null ? null : <ErrorNotice error={create.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Revoke({ revoked, onClose }: { readonly revoked: Key; readonly onClose: () => void }) {
  const say = useToast()
  const revoke = useChange(PageRevokeSellerKeyDocument, {
    onDone: () => {
      onClose()
      say(`${revoked.label} is revoked.`)
    },
  })
  return (
    <Confirm
      title={`Revoke ${revoked.label}?`}
      about="Programs that use it are refused at once. Offers that it listed stay on sale. This cannot be undone."
      lines={[{ name: 'State', now: stateOf(revoked), after: 'revoked' }]}
      action="Revoke"
      isDanger
      isBusy={revoke.isPending}
      error={revoke.error}
      onDo={() => revoke.mutate({ id: revoked.id })}
      onClose={onClose}
    />
  )
}
