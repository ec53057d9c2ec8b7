import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageCreateInvitationDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import { PageCreateInviteLinkDocument } from '#control-plane/dashboard/data/documents/invite-links.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input, Segments, Select } from '#control-plane/dashboard/ui/fields.tsx'
import type { ShownSecret } from '#control-plane/dashboard/ui/secret.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { rolesFor } from './roles.ts'

const WAYS = [
  { value: 'link', label: 'By link' },
  { value: 'wallet', label: 'By wallet' },
] as const
type Way = (typeof WAYS)[number]['value']

const EXPIRIES = [
  { value: '1', label: '1 day' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
] as const
const MAX_USES = 100

type Props = { readonly id: string; readonly own: string; readonly onClose: () => void }

/** Invites people by a link, which is shown once, or by their wallet. */
export function InvitePeople({ id, own, onClose }: Props) {
  const [way, setWay] = useState<Way>('link')
  const [shown, setShown] = useState<ShownSecret>()
  if (shown !== undefined) return <SecretOnce shown={shown} onDone={onClose} />
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title="Invite people">
      <div className="form">
        <Segments label="Invite" value={way} choices={WAYS} onChoose={setWay} />
        {way === 'link' ? (
          <ByLink id={id} onMade={setShown} onClose={onClose} />
        ) : (
          <ByWallet id={id} own={own} onClose={onClose} />
        )}
      </div>
    </Dialog>
  )
}

type ByLinkProps = {
  readonly id: string
  readonly onMade: (shownSecret: ShownSecret) => void
  readonly onClose: () => void
}

function ByLink({ id, onMade, onClose }: ByLinkProps) {
  const [role, setRole] = useState('viewer')
  const [days, setDays] = useState('7')
  const [uses, setUses] = useState('1')
  const create = useChange(PageCreateInviteLinkDocument, {
    onDone: ({ createInviteLink: { url } }) =>
      onMade({
        title: 'Invite link',
        secret: url,
        fileName: 'invite-link.txt',
        about: 'Send the link to the people you invite. They sign in with a passkey or a wallet, then confirm.',
      }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ organization: id, role, maxUses: Number(uses), expiresInDays: Number(days) })
  }
  return (
    <form className="form" onSubmit={submit}>
      <p className="muted">For people with or without a wallet. Anyone who has the link can join.</p>
      <Select
        label="Role of new members"
        choices={rolesFor('admin')}
        value={role}
        onChange={({ currentTarget: { value } }) => setRole(value)}
      />
      <div className="form-row">
        <Select
          label="Expires in"
          choices={EXPIRIES}
          value={days}
          onChange={({ currentTarget: { value } }) => setDays(value)}
        />
        <Input
          label="People who can join"
          type="number"
          required
          min={1}
          max={MAX_USES}
          step={1}
          value={uses}
          onChange={({ currentTarget: { value } }) => setUses(value)}
        />
      </div>
      {create.error === null ? null : <ErrorNotice error={create.error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={create.isPending || uses === ''}>
          Create invite link
        </Button>
      </div>
    </form>
  )
}

function ByWallet({ id, own, onClose }: Props) {
  const say = useToast()
  const [wallet, setWallet] = useState('')
  const [role, setRole] = useState('viewer')
  const invite = useChange(PageCreateInvitationDocument, {
    onDone: () => {
      onClose()
      say('Invited. The wallet can accept within a week, under Organisations.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    invite.mutate({ organization: id, wallet: wallet.trim(), role })
  }
  return (
    <form className="form" onSubmit={submit}>
      <p className="muted">The invited person accepts after signing in with this wallet.</p>
      <Input
        label="Wallet address"
        required
        pattern="\s*0x[0-9a-fA-F]{40}\s*"
        title="0x and 40 hexadecimal digits"
        autoComplete="off"
        value={wallet}
        onChange={({ currentTarget: { value } }) => setWallet(value)}
      />
      <Select
        label="Role"
        choices={rolesFor(own)}
        value={role}
        onChange={({ currentTarget: { value } }) => setRole(value)}
      />
      {invite.error === null ? null : <ErrorNotice error={invite.error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={invite.isPending || wallet.trim() === ''}>
          Invite
        </Button>
      </div>
    </form>
  )
}
