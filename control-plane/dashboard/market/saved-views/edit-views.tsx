import type { FormEvent } from 'react'
import { useState } from 'react'
import {
  PageCreateSavedViewDocument,
  PageRemoveSavedViewDocument,
  PageUpdateSavedViewDocument,
} from '#control-plane/dashboard/data/documents/saved-views.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Tags } from '#control-plane/dashboard/ui/marks.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import type { SavedScreen } from './view-query.ts'
import { filterWords } from './view-query.ts'

/** The market's limit of a name. */
const MAX_NAME_CHARS = 60

export type ListedView = { readonly id: string; readonly name: string; readonly query: string }

type NewProps = { readonly screen: SavedScreen; readonly query: string; readonly onClose: () => void }

/** Saves the filters of the screen under a name. */
export function NewView({ screen, query, onClose }: NewProps) {
  const say = useToast()
  const create = useChange(PageCreateSavedViewDocument, {
    onDone: ({ createSavedView: { name } }) => {
      onClose()
      say(`${name} is saved.`)
    },
  })
  return (
    <NameDialog
      title="Save view"
      query={query}
      name=""
      action="Save view"
      isBusy={create.isPending}
      error={create.error}
      onName={(name) => create.mutate({ screen, name, query })}
      onClose={onClose}
    />
  )
}

type EditProps = { readonly views: readonly ListedView[]; readonly onClose: () => void }
type Opened = { readonly kind: 'rename' | 'remove'; readonly view: ListedView }

/** The saved views of a screen, each to rename or to delete. */
export function EditViews({ views, onClose }: EditProps) {
  const [opened, setOpened] = useState<Opened>()
  const back = () => setOpened(undefined)
  if (opened?.kind === 'rename') return <Rename view={opened.view} onDone={back} />
  if (opened?.kind === 'remove') return <Remove view={opened.view} onDone={back} />
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title="Saved views">
      {views.length === 0 ? <p>No saved views yet.</p> : null}
      <ul className="view-list">
        {views.map((view) => (
          <li key={view.id}>
            <div>
              <strong>{view.name}</strong>
              <Tags names={filterWords(view.query)} />
            </div>
            <span className="actions">
              <Button aria-label={`Rename ${view.name}`} onClick={() => setOpened({ kind: 'rename', view })}>
                Rename
              </Button>
              <Button
                kind="danger"
                aria-label={`Delete ${view.name}`}
                onClick={() => setOpened({ kind: 'remove', view })}
              >
                Delete
              </Button>
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

type ViewProps = { readonly view: ListedView; readonly onDone: () => void }

function Rename({ view, onDone }: ViewProps) {
  const say = useToast()
  const update = useChange(PageUpdateSavedViewDocument, {
    onDone: ({ updateSavedView: { name } }) => {
      onDone()
      say(`${view.name} is now ${name}.`)
    },
  })
  return (
    <NameDialog
      title={`Rename ${view.name}`}
      query={view.query}
      name={view.name}
      action="Rename view"
      isBusy={update.isPending}
      error={update.error}
      onName={(name) => update.mutate({ view: view.id, name })}
      onClose={onDone}
    />
  )
}

function Remove({ view, onDone }: ViewProps) {
  const say = useToast()
  const remove = useChange(PageRemoveSavedViewDocument, {
    onDone: () => {
      onDone()
      say(`${view.name} is deleted.`)
    },
  })
  return (
    <Confirm
      title={`Delete ${view.name}?`}
      about="The name and its filters are deleted. The list itself stays as it is."
      action="Delete view"
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      onDo={() => remove.mutate({ view: view.id })}
      onClose={onDone}
    />
  )
}

type NameProps = {
  readonly title: string
  readonly query: string
  readonly name: string
  readonly action: string
  readonly isBusy: boolean
  readonly error: Error | null
  readonly onName: (name: string) => void
  readonly onClose: () => void
}

function NameDialog({ title, query, name: before, action, isBusy, error, onName, onClose }: NameProps) {
  const [name, setName] = useState(before)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onName(name.trim())
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={title}>
      <form className="form" onSubmit={submit}>
        <Tags names={filterWords(query)} />
        <Input
          label="Name"
          hint="Only you see your views"
          required
          maxLength={MAX_NAME_CHARS}
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        {error === null ? null : <ErrorNotice error={error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={isBusy || name.trim() === '' || name.trim() === before}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
