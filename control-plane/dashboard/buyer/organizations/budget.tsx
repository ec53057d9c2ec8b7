import type { FormEvent } from 'react'
import { useState } from 'react'
import {
  PageSetMemberBudgetDocument,
  PageSetWorkspaceBudgetDocument,
} from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { exactMoney, money } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Budget = NonNullable<BuyerOrganizationQuery['budgets']>['members'][number]

/** The budget of a member or workspace by its id. Undefined where the budgets could not be read. */
export function budgetFor({ budgets }: BuyerOrganizationQuery, id: string): Budget | undefined {
  return [...(budgets?.members ?? []), ...(budgets?.workspaces ?? [])].find(({ of }) => of === id)
}

/** The spend of this month, and the budget if there is one. */
export function Spent({ budget }: { readonly budget: Budget | undefined }) {
  if (budget === undefined) return null
  const { spentUsdc, limitUsdc } = budget
  return (
    <span className="nowrap" title={exactMoney(spentUsdc)}>
      {money(spentUsdc)}
      {limitUsdc === null ? null : <span className="muted"> of {money(limitUsdc)}</span>}
    </span>
  )
}

const MICRO = 1_000_000

type Props = {
  readonly organization: string
  readonly budget: Budget
  /** The name of the member or the workspace. */
  readonly name: string
  readonly onClose: () => void
}

/** Sets or removes the monthly budget of a member or workspace. */
export function SetBudget({ organization, budget: { of, limitUsdc, spentUsdc }, name, onClose }: Props) {
  const say = useToast()
  const before = limitUsdc === null ? '' : String(Number(limitUsdc) / MICRO)
  const [text, setText] = useState(before)
  const onDone = () => {
    onClose()
    say(text === '' ? 'The budget is removed.' : 'Saved. Live within seconds.')
  }
  const ofMember = useChange(PageSetMemberBudgetDocument, { onDone })
  const ofWorkspace = useChange(PageSetWorkspaceBudgetDocument, { onDone })
  const change = of.startsWith('wsp_') ? ofWorkspace : ofMember
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const input = { organization, limitUsd: text === '' ? null : Number(text) }
    if (of.startsWith('wsp_')) ofWorkspace.mutate({ ...input, workspace: of })
    else ofMember.mutate({ ...input, member: of })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={`Budget of ${name}`}>
      <form className="form" onSubmit={submit}>
        <Input
          label="US dollars a month"
          hint="Leave blank for none."
          type="number"
          min={0.000001}
          step="any"
          value={text}
          onChange={({ currentTarget: { value } }) => setText(value)}
        />
        <p className="muted">
          {money(spentUsdc)} spent this month. Calls that would exceed the budget are refused until the next month
          (UTC).
        </p>
        {change.error === null ? null : <ErrorNotice error={change.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={change.isPending || text === before}>
            Save budget
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
