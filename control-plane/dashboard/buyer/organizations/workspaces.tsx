import type { FormEvent } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageCreateWorkspaceDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerOrganizationQuery } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { BuyerOrganizationDocument } from '#control-plane/dashboard/data/documents/buyer-organization.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { chosenWorkspace, switchWorkspace } from '#control-plane/dashboard/data/workspace.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { budgetFor, SetBudget, Spent } from './budget.tsx'

type Workspace = NonNullable<BuyerOrganizationQuery['workspaces']>[number]

/** The screen with the caps of the keys of the account that the tab acts for. */
const LIMITS = '/buyer/limits'

type Props = { readonly data: BuyerOrganizationQuery; readonly id: string; readonly mayChange: boolean }

/** The shared accounts of an organisation. A member who acts for one sees its balance, keys and calls. */
export function Workspaces({ data, id, mayChange }: Props) {
  const making = useDialog()
  const [budgeted, setBudgeted] = useState<Workspace>()
  const budget = budgeted && budgetFor(data, budgeted.id)
  return (
    <Card
      title="Workspaces"
      about="Each workspace has one balance, with keys and caps of its own, for all members"
      isFlush
      actions={mayChange ? <Button onClick={making.open}>New workspace</Button> : undefined}
    >
      <Table
        label="Workspaces"
        columns={columnsOf({ data, mayChange, onBudget: setBudgeted })}
        rows={data.workspaces ?? []}
        keyOf={({ id: workspace }) => workspace}
        curl={curlOf(BuyerOrganizationDocument, { organization: id }, true)}
        empty={
          <Empty title="No workspaces yet">
            <p>
              {mayChange ? 'Create one to share a balance with the members.' : 'An admin can create the first one.'}
            </p>
          </Empty>
        }
      />
      <NewWorkspace dialog={making} organization={id} />
      {budgeted === undefined || budget === undefined ? null : (
        <SetBudget organization={id} budget={budget} name={budgeted.name} onClose={() => setBudgeted(undefined)} />
      )}
    </Card>
  )
}

type ColumnsProps = {
  readonly data: BuyerOrganizationQuery
  readonly mayChange: boolean
  readonly onBudget: (workspace: Workspace) => void
}

function columnsOf({ data, mayChange, onBudget }: ColumnsProps): readonly Column<Workspace>[] {
  const organization = data.organization?.name ?? ''
  const chosen = chosenWorkspace()?.id
  return [
    {
      label: 'Name',
      cell: ({ id, name, closedAt }) => (
        <>
          {name} {id === chosen ? <Badge tone="info">current</Badge> : null}
          {closedAt === null ? null : <Badge tone="warn">closed</Badge>}
        </>
      ),
      text: ({ name }) => name,
    },
    {
      label: 'Spent this month',
      cell: ({ id }) => <Spent budget={budgetFor(data, id)} />,
      text: ({ id }) => budgetFor(data, id)?.spentUsdc ?? '',
    },
    {
      label: 'Since',
      cell: ({ createdAt }) => <Time at={createdAt} />,
      text: ({ createdAt }) => createdAt,
      unit: 'time',
    },
    {
      label: 'Change',
      cell: (workspace) => {
        const { id, name, closedAt } = workspace
        const choice = { id, name: `${organization} / ${name}` }
        return (
          <span className="actions">
            {id === chosen ? (
              <Button onClick={() => switchWorkspace(undefined)}>Switch to your account</Button>
            ) : (
              <Button aria-label={`Switch to ${name}`} onClick={() => switchWorkspace(choice)}>
                Switch
              </Button>
            )}
            {closedAt === null ? (
              <Button aria-label={`Key caps in ${name}`} onClick={() => switchWorkspace(choice, LIMITS)}>
                Key caps
              </Button>
            ) : null}
            {closedAt === null && mayChange ? (
              <Button aria-label={`Set the budget of ${name}`} onClick={() => onBudget(workspace)}>
                Set budget
              </Button>
            ) : null}
          </span>
        )
      },
    },
  ]
}

type NewProps = { readonly dialog: DialogState; readonly organization: string }

function NewWorkspace({ dialog, organization }: NewProps) {
  const say = useToast()
  const [name, setName] = useState('')
  const create = useChange(PageCreateWorkspaceDocument, {
    onDone: ({ createWorkspace }) => {
      setName('')
      dialog.close()
      say(`${createWorkspace.name} is ready. Switch to it to add credit.`)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ organization, name: name.trim() })
  }
  return (
    <Dialog dialog={dialog} title="New workspace">
      <form className="form" onSubmit={submit}>
        <Input
          label="Name of the workspace"
          hint="e.g. research"
          required
          maxLength={200}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        {create.error === null ? null : <ErrorNotice error={create.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending || name.trim() === ''}>
            Create workspace
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
