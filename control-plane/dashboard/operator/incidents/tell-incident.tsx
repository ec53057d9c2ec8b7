import type { FormEvent } from 'react'
import { useState } from 'react'
import {
  PageDeclareIncidentDocument,
  PageEndIncidentDocument,
  PageUpdateIncidentDocument,
} from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorIncidentsQuery } from '#control-plane/dashboard/data/documents/operator-incidents.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { useModelSuggestions, useProviderSuggestions } from '#control-plane/dashboard/market/name-suggestions.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DiffLine } from '#control-plane/dashboard/ui/confirm.tsx'
import { Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input, Select, TextArea } from '#control-plane/dashboard/ui/fields.tsx'
import { NamesInput, namesIn } from '#control-plane/dashboard/ui/names-input.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

export type ShownIncident = NonNullable<OperatorIncidentsQuery['declaredIncidents']>['edges'][number]['node']

const MAX_TITLE_CHARS = 200
const MAX_NOTE_CHARS = 2_000
const MAX_NAMES_CHARS = 16_000
const MINUTE_MS = 60_000
const MOST_MINUTES = 31 * 24 * 60
const STATES = ['investigating', 'identified', 'monitoring'].map((value) => ({ value, label: value }))

type Draft = {
  readonly title: string
  readonly state: string
  readonly models: string
  readonly providers: string
}
const EMPTY: Draft = { title: '', state: 'investigating', models: '', providers: '' }

const listText = (text: string, all: string) => namesIn(text).join(', ') || all

function draftOf({ title, state, models, providers }: ShownIncident): Draft {
  return { title, state, models: models.join(' '), providers: providers.join(' ') }
}

/** The public text of an incident now, and after the change. */
function linesOf(before: Draft, draft: Draft): readonly DiffLine[] {
  const rows = [
    ['Title', (of: Draft) => of.title],
    ['State', ({ state }: Draft) => state],
    ['Models', ({ models, providers }: Draft) => listText(models, providers === '' ? 'all' : 'none named')],
    ['Providers', ({ models, providers }: Draft) => listText(providers, models === '' ? 'all' : 'none named')],
  ] as const
  return rows
    .map(([name, read]) => ({ name, now: read(before), after: read(draft) }))
    .filter(({ now, after }) => now !== after)
}

type Props = { readonly incident: ShownIncident | undefined; readonly onClose: () => void }

/** Declares an incident, or adds an update to an open one after a preview of what changes. */
export function TellIncident({ incident, onClose }: Props) {
  const say = useToast()
  const before = incident === undefined ? undefined : draftOf(incident)
  const [draft, setDraft] = useState<Draft>(before ?? EMPTY)
  const [note, setNote] = useState('')
  const [minutes, setMinutes] = useState('')
  const onDone = () => {
    onClose()
    say('Published on the status page.')
  }
  const declare = useChange(PageDeclareIncidentDocument, { onDone })
  const update = useChange(PageUpdateIncidentDocument, { onDone })
  const error = declare.error ?? update.error
  const set = (name: keyof Draft) => (event: { readonly currentTarget: { readonly value: string } }) =>
    setDraft({ ...draft, [name]: event.currentTarget.value })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const facts = {
      note: note.trim(),
      title: draft.title.trim(),
      state: draft.state,
      models: namesIn(draft.models),
      providers: namesIn(draft.providers),
    }
    if (incident !== undefined) return update.mutate({ id: incident.id, ...facts })
    const startedAt = minutes.trim() === '' ? {} : { startedAt: Date.now() - Number(minutes) * MINUTE_MS }
    declare.mutate({ ...facts, ...startedAt })
  }
  const isReady = draft.title.trim() !== '' && note.trim() !== ''
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title={incident === undefined ? 'Declare an incident' : `Update “${incident.title}”`}
    >
      <form className="form" onSubmit={submit}>
        <Input label="Title" required maxLength={MAX_TITLE_CHARS} value={draft.title} onChange={set('title')} />
        <TextArea
          label="Note"
          hint="Published on the status page with its time"
          required
          maxLength={MAX_NOTE_CHARS}
          value={note}
          onChange={({ currentTarget: { value } }) => setNote(value)}
        />
        <div className="form-row">
          <Select label="State" choices={STATES} value={draft.state} onChange={set('state')} />
          {incident === undefined ? (
            <Input
              label="Started, in minutes before now"
              hint="Leave blank for now"
              type="number"
              min={0}
              max={MOST_MINUTES}
              value={minutes}
              onChange={({ currentTarget: { value } }) => setMinutes(value)}
            />
          ) : null}
        </div>
        <Affected draft={draft} onChange={(names) => setDraft({ ...draft, ...names })} />
        {before === undefined ? null : <Shown lines={linesOf(before, draft)} />}
        {error === null ? null : <ErrorNotice error={error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={!isReady || declare.isPending || update.isPending}>
            Publish
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

type AffectedProps = {
  readonly draft: Draft
  readonly onChange: (names: Partial<Pick<Draft, 'models' | 'providers'>>) => void
}

/** The models and the providers of an incident. */
function Affected({ draft: { models, providers }, onChange }: AffectedProps) {
  return (
    <div className="form-row">
      <NamesInput
        label="Models"
        hint="The charts of these models show the incident"
        maxLength={MAX_NAMES_CHARS}
        value={models}
        onChange={(value) => onChange({ models: value })}
        {...useModelSuggestions()}
      />
      <NamesInput
        label="Providers"
        hint="Leave both blank for the whole market"
        maxLength={MAX_NAMES_CHARS}
        value={providers}
        onChange={(value) => onChange({ providers: value })}
        {...useProviderSuggestions()}
      />
    </div>
  )
}

function Shown({ lines }: { readonly lines: readonly DiffLine[] }) {
  return lines.length === 0 ? <p className="muted">Only the note changes.</p> : <Diff lines={lines} />
}

type EndProps = { readonly incident: ShownIncident; readonly onClose: () => void }

/** Ends an incident with the last note that it takes. */
export function EndIncident({ incident, onClose }: EndProps) {
  const say = useToast()
  const [note, setNote] = useState('')
  const end = useChange(PageEndIncidentDocument, {
    onDone: ({ endIncident: { title } }) => {
      onClose()
      say(`“${title}” is resolved.`)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    end.mutate({ id: incident.id, note: note.trim() })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onClose }} title={`Is “${incident.title}” over?`}>
      <form className="form" onSubmit={submit}>
        <p>The incident stays on the status page and on the charts. You cannot add updates afterwards.</p>
        <Diff lines={[{ name: 'State', now: incident.state, after: 'resolved' }]} />
        <TextArea
          label="Last note"
          hint="Cause and fix"
          required
          maxLength={MAX_NOTE_CHARS}
          value={note}
          onChange={({ currentTarget: { value } }) => setNote(value)}
        />
        {end.error === null ? null : <ErrorNotice error={end.error} />}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={note.trim() === '' || end.isPending}>
            End the incident
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
