import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Sparkline } from '#control-plane/dashboard/charts/sparkline.tsx'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerKeysQuery } from '#control-plane/dashboard/data/documents/buyer-keys.ts'
import { BuyerKeysDocument } from '#control-plane/dashboard/data/documents/buyer-keys.ts'
import { PageRevokeBuyerKeyDocument, PageRotateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/keys.ts'
import { compact, money, toMicro } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Badge, Money } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Pager } from '#control-plane/dashboard/ui/pager.tsx'
import { RowMenu } from '#control-plane/dashboard/ui/row-menu.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { Empty, ErrorNotice, Loaded } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { pagesOf } from '#control-plane/dashboard/ui/whole-list.ts'
import { EditKey, FreezeKey } from './edit-key.tsx'
import type { ListedKey } from './listed-key.ts'
import { stateOfKey } from './listed-key.ts'
import { NewKey } from './new-key.tsx'

const DAYS = 30

export function KeysPage() {
  return (
    <Gate side="buyer" title="Buyer keys">
      <Keys />
    </Gate>
  )
}

type Use = NonNullable<BuyerKeysQuery['usageBuckets']>[number]
type KeyDialog = { readonly kind: 'edit' | 'freeze' | 'rotate' | 'revoke'; readonly key: ListedKey }

function Keys() {
  const { after, new: isNew } = useSearch({ from: '/buyer/keys' })
  const navigate = useNavigate({ from: '/buyer/keys' })
  const query = useScreen(BuyerKeysDocument, { after })
  const dialog = useDialog()
  // A link of the palette also opens the dialog. The button does not change the address, so that the focus returns to
  // it.
  const making = {
    isOpen: dialog.isOpen || isNew === 'yes',
    open: dialog.open,
    close: () => {
      dialog.close()
      if (isNew === 'yes') void navigate({ search: { after }, replace: true })
    },
  }
  const [secret, setSecret] = useState<ShownSecret>()
  const [keyDialog, setAsked] = useState<KeyDialog>()
  return (
    <Page
      title="Buyer keys"
      about="API keys let your apps call models. Each key has its own budget, models, minimum discount and expiry."
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
              label="Keys"
              columns={columnsOf(data.usageBuckets ?? [], setAsked)}
              rows={(data.buyerKeys?.edges ?? []).map(({ node }) => node)}
              keyOf={({ id }) => id}
              curl={curlOf(BuyerKeysDocument, { after }, true)}
              whole={pagesOf(BuyerKeysDocument, { after }, (read) => read.buyerKeys)}
              empty={
                <Empty title="No keys yet">
                  <p>Your apps call models with a key. Its secret is shown once, when you create it.</p>
                  <Button onClick={making.open}>Create the first key</Button>
                </Empty>
              }
              foot={
                <Pager
                  after={after}
                  next={data.buyerKeys?.pageInfo.endCursor}
                  hasNext={data.buyerKeys?.pageInfo.hasNextPage}
                  onPage={(to) => void navigate({ search: { after: to } })}
                />
              }
            />
          </Card>
        )}
      </Loaded>
      <NewKey dialog={making} onMade={setSecret} />
      {keyDialog?.kind === 'rotate' ? (
        <Rotate asked={keyDialog} onDone={() => setAsked(undefined)} onSecret={setSecret} />
      ) : null}
      {keyDialog?.kind === 'edit' ? <EditKey listed={keyDialog.key} onDone={() => setAsked(undefined)} /> : null}
      {keyDialog?.kind === 'freeze' ? <FreezeKey listed={keyDialog.key} onDone={() => setAsked(undefined)} /> : null}
      {keyDialog?.kind === 'revoke' ? <Revoke asked={keyDialog} onDone={() => setAsked(undefined)} /> : null}
      {secret === undefined ? null : <SecretOnce shown={secret} onDone={() => setSecret(undefined)} />}
    </Page>
  )
}

const TONES = { frozen: 'warn', expired: 'plain', revoked: 'plain' } as const

function State({ of }: { readonly of: ListedKey }) {
  const state = stateOfKey(of)
  return state === 'active' ? <span className="muted">active</span> : <Badge tone={TONES[state]}>{state}</Badge>
}

/** The spending of a key by day. Undefined for a key that the market counted among the others. */
function spendingOf(key: ListedKey, uses: readonly Use[]): readonly number[] | undefined {
  const own = new Map(uses.filter(({ group }) => group === key.id).map((use) => [use.bucket, use.buyerCostMicro]))
  if (own.size === 0 && uses.some(({ isRest }) => isRest)) return undefined
  const days = [...new Set(uses.map(({ bucket }) => bucket))].sort((a, b) => a - b)
  return days.map((day) => own.get(day) ?? 0)
}

function columnsOf(uses: readonly Use[], ask: (keyDialog: KeyDialog) => void): readonly Column<ListedKey>[] {
  const total = (key: ListedKey) => spendingOf(key, uses)?.reduce((sum, micro) => sum + toMicro(micro), 0n) ?? null
  return [
    {
      label: 'Key',
      cell: ({ kind, label, keyPrefix }) => (
        <>
          {label} {kind === 'playground' ? <Badge tone="info">playground</Badge> : null}
          <span className="sub mono">{keyPrefix}…</span>
        </>
      ),
      text: ({ label }) => label,
    },
    { label: 'State', cell: (key) => <State of={key} />, text: stateOfKey },
    {
      label: 'Limits',
      cell: ({ terms }) => (terms === null ? null : boundsText(terms) || <span className="muted">none</span>),
      text: ({ terms }) => terms && boundsText(terms),
      file: [
        { label: 'Cap a day', text: ({ terms }) => terms?.capDailyUsd, unit: 'usd' },
        { label: 'Cap a month', text: ({ terms }) => terms?.capMonthlyUsd, unit: 'usd' },
        { label: 'Calls a minute', text: ({ terms }) => terms?.rateLimitRpm },
      ],
    },
    {
      label: `Spent in ${DAYS} days`,
      isNumber: true,
      cell: (key) => (
        <>
          <Money micro={total(key)} />
          <span className="sub desk">
            {total(key) === null ? (
              'not among the 100 keys that cost most'
            ) : (
              <Sparkline values={spendingOf(key, uses) ?? []} label={`Spending of ${key.label} by day`} />
            )}
          </span>
        </>
      ),
      text: (key) => total(key)?.toString() ?? null,
      unit: 'microUsd',
    },
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
      cell: (key) => (key.revokedAt === null ? <Changes of={key} ask={ask} /> : null),
    },
  ]
}

type ChangesProps = { readonly of: ListedKey; readonly ask: (keyDialog: KeyDialog) => void }

function Changes({ of: key, ask }: ChangesProps) {
  // The market gives no new secret to an expired key, and none at all to the playground's.
  const canRotate = key.kind !== 'playground' && stateOfKey(key) !== 'expired'
  return (
    <span className="actions" style={{ flexWrap: 'nowrap' }}>
      <Button onClick={() => ask({ kind: 'edit', key })}>Edit</Button>
      <RowMenu
        of={key.label}
        actions={[
          { label: key.frozenAt === null ? 'Freeze' : 'Unfreeze', onDo: () => ask({ kind: 'freeze', key }) },
          ...(canRotate ? [{ label: 'Rotate', onDo: () => ask({ kind: 'rotate', key }) }] : []),
          { label: 'Revoke', isDanger: true, onDo: () => ask({ kind: 'revoke', key }) },
        ]}
      />
    </span>
  )
}

/** The limits of a key in words; empty without any. */
function boundsText(terms: NonNullable<ListedKey['terms']>): string {
  const bounds = [
    terms.capDailyUsd === null ? undefined : `${money(Math.round(terms.capDailyUsd * 1e6))} a day`,
    terms.capMonthlyUsd === null ? undefined : `${money(Math.round(terms.capMonthlyUsd * 1e6))} a month`,
    terms.minDiscountPct === null ? undefined : `at least ${terms.minDiscountPct}% off`,
    terms.modelsAllowed === null
      ? undefined
      : `${terms.modelsAllowed.length} ${terms.modelsAllowed.length === 1 ? 'model' : 'models'}`,
    terms.providersBlocked.length === 0 ? undefined : `${terms.providersBlocked.length} blocked`,
    terms.rateLimitRpm === null ? undefined : `${compact(terms.rateLimitRpm)} calls a minute`,
  ].filter((bound) => bound !== undefined)
  return bounds.join(' · ')
}

const OVERLAP_SECONDS = 24 * 60 * 60

type AskProps = { readonly asked: KeyDialog; readonly onDone: () => void }

function Rotate({
  asked: { key },
  onDone,
  onSecret,
}: AskProps & { readonly onSecret: (shownSecret: ShownSecret) => void }) {
  const rotate = useChange(PageRotateBuyerKeyDocument, {
    onDone: ({ rotateBuyerKey: { key: secret, formerExpiresAt } }) => {
      onDone()
      if (secret !== null) {
        onSecret({
          title: `New secret of ${key.label}`,
          secret,
          about: `The former secret works until ${new Date(formerExpiresAt).toUTCString()}.`,
        })
      }
    },
  })
  return (
    <Dialog dialog={{ isOpen: true, close: onDone }} title={`Rotate ${key.label}?`}>
      <Facts
        facts={[
          ['Now', `${key.keyPrefix}… works`],
          ['After', 'The key gets a new secret. The present secret works for one more day.'],
          ['Stays', 'The id, the caps, and their spending.'],
        ]}
      />
      {rotate.error === null ? null : <ErrorNotice error={rotate.error} />}
      <div className="dialog-foot">
        <Button onClick={onDone}>Cancel</Button>
        <Button
          kind="primary"
          disabled={rotate.isPending}
          onClick={() => rotate.mutate({ id: key.id, windowSeconds: OVERLAP_SECONDS })}
        >
          Rotate
        </Button>
      </div>
    </Dialog>
  )
}

function Revoke({ asked: { key }, onDone }: AskProps) {
  const say = useToast()
  const revoke = useChange(PageRevokeBuyerKeyDocument, {
    onDone: () => {
      onDone()
      say(`${key.label} is revoked.`)
    },
  })
  return (
    <Dialog dialog={{ isOpen: true, close: onDone }} title={`Revoke ${key.label}?`}>
      <Facts
        facts={[
          ['Now', `${key.keyPrefix}… works`],
          ['After', 'The market refuses every call with this key, at once and for good. Sessions of this key end.'],
        ]}
      />
      {revoke.error === null ? null : <ErrorNotice error={revoke.error} />}
      <div className="dialog-foot">
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate({ id: key.id })}>
          Revoke
        </Button>
      </div>
    </Dialog>
  )
}
