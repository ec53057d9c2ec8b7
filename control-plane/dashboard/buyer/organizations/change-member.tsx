import { useNavigate } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageRemoveMemberDocument, PageUpdateMemberDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm, Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Select } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { rolesFor } from './roles.ts'

type Member = NonNullable<BuyerOrganizationQuery['members']>[number]
type Props = { readonly organization: string; readonly member: Member; readonly onClose: () => void }

/** Gives a member another role, after a preview of the difference. */
export function ChangeRole({ organization, member, own, onClose }: Props & { readonly own: string }) {
  const say = useToast()
  const [role, setRole] = useState(member.role)
  const update = useChange(PageUpdateMemberDocument, {
    onDone: () => {
      onClose()
      say('The role is changed.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    update.mutate({ organization, member: member.id, role })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title="Change a role">
      <form className="form" onSubmit={submit}>
        <p>Keys that the member created and that the new role could not create are revoked.</p>
        <Select
          label="Role"
          choices={rolesFor(own)}
          value={role}
          onChange={({ currentTarget: { value } }) => setRole(value)}
        />
        <Diff lines={[{ name: 'Role', now: member.role, after: role }]} />
        {update.error === null ? null : <ErrorNotice error={update.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={update.isPending || role === member.role}>
            Change
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Removes a member, or lets one leave. */
export function RemoveMember({ organization, member, isSelf, onClose }: Props & { readonly isSelf: boolean }) {
  const say = useToast()
  const navigate = useNavigate()
  const remove = useChange(PageRemoveMemberDocument, {
    onDone: () => {
      onClose()
      say(isSelf ? 'You have left.' : 'The member is gone.')
      if (isSelf) void navigate({ to: '/buyer/organizations', search: {} })
    },
  })
  return (
    <Confirm
      title={isSelf ? 'Leave this organisation?' : 'Remove this member?'}
      about="All keys that the member made in the organisation are revoked at once."
      lines={[{ name: 'Role', now: member.role, after: 'none' }]}
      action={isSelf ? 'Leave' : 'Remove'}
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      onDo={() => remove.mutate({ organization, member: member.id })}
      onClose={onClose}
    />
  )
}
