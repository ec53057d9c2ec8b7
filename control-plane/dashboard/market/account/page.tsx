import { useState } from 'react'
import { at } from '#control-plane/dashboard/data/answer-of.ts'
import { call } from '#control-plane/dashboard/data/client.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerAccountQuery } from '#control-plane/dashboard/data/documents/buyer-account.ts'
import { BuyerAccountDocument } from '#control-plane/dashboard/data/documents/buyer-account.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import { makePasskey } from '#control-plane/dashboard/data/passkeys.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { signLinkMessage, useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Ago, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { NeedsAccount } from '#control-plane/dashboard/ui/needs-account.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { Empty, ErrorNotice, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table, timeColumn } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { Emails } from './emails.tsx'
import { useWaysChange } from './use-ways-change.ts'

type Ways = NonNullable<BuyerAccountQuery['waysIn']>
type Passkey = Ways['passkeys'][number]

export function AccountPage() {
  return (
    <Gate side="buyer" title="Account">
      <Account />
    </Gate>
  )
}

function Account() {
  const isOfKey = useViewer().kind !== 'session'
  const query = useScreen(BuyerAccountDocument, {}, { isOn: !isOfKey })
  return (
    <Page title="Account" about="How you sign in, and how you get back in.">
      {isOfKey ? (
        <NeedsAccount>
          A key spends within its limits, and cannot change how you sign in. Your account has passkeys, a recovery code
          and a wallet.
        </NeedsAccount>
      ) : (
        <Loaded query={query}>{({ waysIn, service }) => waysIn && <WaysIn ways={waysIn} service={service} />}</Loaded>
      )}
    </Page>
  )
}

function WaysIn({ ways, service }: { readonly ways: Ways; readonly service: BuyerAccountQuery['service'] }) {
  const { passkeys, emails, wallet } = ways
  const sendsMail = service?.sendsMail === true
  const isOnly = wallet === null && passkeys.length + (sendsMail ? emails.length : 0) === 1
  return (
    <>
      <Passkeys ways={ways} isOnly={isOnly} passkeyOrigin={service?.passkeyOrigin ?? null} />
      {sendsMail ? <Emails emails={emails} isOnly={isOnly} /> : null}
      <div className="grid two">
        <RecoveryCode madeAt={ways.recoveryCodeAt} />
        <WalletCard wallet={ways.wallet} />
      </div>
    </>
  )
}

const ONLY = 'This passkey is the only way in. Add a second one, on your phone for example.'

type PasskeysProps = {
  readonly ways: Ways
  readonly isOnly: boolean
  /** The origin that passkeys work on. Null for a market without one. */
  readonly passkeyOrigin: string | null
}

function Passkeys({ ways: { passkeys }, isOnly: isLast, passkeyOrigin }: PasskeysProps) {
  const say = useToast()
  const [asked, setAsked] = useState<Passkey>()
  const add = useWaysChange(async () => {
    const label = `Passkey ${passkeys.length + 1}`
    await call('POST', '/v1/auth/passkeys', { ...(await makePasskey('add')), label })
    say('Passkey added.')
  })
  const remove = useWaysChange(async (id: string) => {
    await call('DELETE', `/v1/auth/passkeys/${id}`)
    setAsked(undefined)
    say('Passkey removed. Other browsers are signed out.')
  })
  const columns: readonly Column<Passkey>[] = [
    { label: 'Name', cell: ({ label }) => label, text: ({ label }) => label },
    timeColumn('Added', ({ createdAt }) => createdAt),
    {
      label: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Not used yet' : <Ago at={lastUsedAt} />),
      text: ({ lastUsedAt }) => lastUsedAt,
      unit: 'time',
    },
    {
      label: 'Change',
      cell: (passkey) => (
        <Button
          kind="danger"
          disabled={isLast}
          aria-label={`Remove ${passkey.label}`}
          onClick={() => {
            remove.reset()
            setAsked(passkey)
          }}
        >
          Remove
        </Button>
      ),
    },
  ]
  return (
    <Card
      title="Passkeys"
      about={isLast && passkeys.length === 1 ? ONLY : undefined}
      isFlush
      actions={<AddPasskey origin={passkeyOrigin} isBusy={add.isPending} onAdd={() => add.mutate(undefined)} />}
    >
      {add.error === null ? null : <ErrorLine error={add.error} />}
      <Table
        label="Passkeys"
        columns={columns}
        rows={passkeys}
        keyOf={({ id }) => id}
        curl={curlOf(BuyerAccountDocument, {}, true)}
        empty={
          <Empty title="No passkeys">
            <p>Add one to sign in with your fingerprint, face or screen lock.</p>
          </Empty>
        }
      />
      {asked === undefined ? null : (
        <Confirm
          title={`Remove ${asked.label}?`}
          about="You cannot sign in with it any more, and other browsers are signed out."
          action="Remove"
          isDanger
          isBusy={remove.isPending}
          error={remove.error}
          onDo={() => remove.mutate(asked.id)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Card>
  )
}

type AddProps = { readonly origin: string | null; readonly isBusy: boolean; readonly onAdd: () => void }

/** The button of a new passkey, or the way to the origin where passkeys work. */
function AddPasskey({ origin, isBusy, onAdd }: AddProps) {
  if (origin === null) return null
  if (origin !== location.origin) {
    return (
      <a className="button" href={`${origin}/account`} title={`Passkeys belong to ${origin}`}>
        Add a passkey
      </a>
    )
  }
  return (
    <Button kind="primary" disabled={isBusy} onClick={onAdd}>
      Add a passkey
    </Button>
  )
}

/** A failure of the browser in its own words, or a refusal of the market. */
function ErrorLine({ error }: { readonly error: Error }) {
  return <Notice tone="bad">{error.message}</Notice>
}

function RecoveryCode({ madeAt }: { readonly madeAt: number | null }) {
  const [code, setCode] = useState<string>()
  const make = useWaysChange(async () => {
    const made = at(await call('POST', '/v1/auth/recovery-code'), 'code')
    if (typeof made === 'string') setCode(made)
  })
  return (
    <Card title="Recovery code" about="Signs you in once if you lose your passkeys. Keep it offline.">
      <div className="form">
        {madeAt === null ? (
          <p>You have no recovery code yet.</p>
        ) : (
          <p>
            Created <Time at={madeAt} />. A new code replaces it.
          </p>
        )}
        {make.error === null ? null : <ErrorNotice error={make.error} />}
        <div>
          <Button disabled={make.isPending} onClick={() => make.mutate(undefined)}>
            {madeAt === null ? 'Create a recovery code' : 'Replace the code'}
          </Button>
        </div>
      </div>
      {code === undefined ? null : (
        <SecretOnce shown={{ title: 'Recovery code', secret: code }} onDone={() => setCode(undefined)} />
      )}
    </Card>
  )
}

function WalletCard({ wallet }: { readonly wallet: string | null }) {
  return (
    <Card title="Wallet" about="Receives payouts, and its USDC transfers become credit.">
      {wallet === null ? (
        <LinkWallet />
      ) : (
        <div className="actions">
          <code title={wallet}>{short(wallet)}</code>
          <CopyButton text={wallet} label="Copy the address" />
        </div>
      )}
    </Card>
  )
}

function LinkWallet() {
  const wallets = useWallets()
  const say = useToast()
  const link = useWaysChange(async (wallet: (typeof wallets)[number]) => {
    await call('POST', '/v1/auth/wallet', await signLinkMessage(wallet))
    say('Wallet linked.')
  })
  return (
    <div className="form">
      <p>No wallet is linked. You sign a message, nothing is paid. The wallet stays linked to this account.</p>
      {link.error === null ? null : <ErrorLine error={link.error} />}
      {wallets.length === 0 ? (
        <p className="muted">No wallet extension found. Install one and reload this page.</p>
      ) : (
        <div className="actions">
          {wallets.map((wallet) => (
            <Button key={wallet.info.uuid} disabled={link.isPending} onClick={() => link.mutate(wallet)}>
              {`Link ${wallet.info.name}`}
            </Button>
          ))}
        </div>
      )}
    </div>
  )
}
