import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ChangeEvent, FormEvent } from 'react'
import { useState } from 'react'
import { askPatiently } from '#control-plane/dashboard/data/client.ts'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { PageCatalogDiffQuery } from '#control-plane/dashboard/data/documents/operator.ts'
import { PageCatalogDiffDocument, PageImportCatalogDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import { count, words } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input, TextArea } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty, Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import type { ImportPart } from '#shared/catalog/import-parts.ts'
import { MAX_FILE_CHARS, partsOfFile } from './catalogue-file.ts'
import { UNITS, withPoint } from './price-units.ts'

const MAX_SOURCE_CHARS = 500

type Diff = NonNullable<PageCatalogDiffQuery['catalogDiff']>
type Seen = {
  readonly parts: readonly ImportPart[]
  readonly models: number
  readonly changes: Diff['changes']
  readonly impacts: Diff['impacts']
  readonly rejected: Diff['rejected']
}

/** Reads the parts of a catalogue and compares each with the market. */
async function compare(text: string): Promise<Seen> {
  const parts = partsOfFile(text)
  let seen: Seen = { parts, models: 0, changes: [], impacts: [], rejected: [] }
  for (const { from, models } of parts) {
    const { catalogDiff: diff } = await askPatiently(PageCatalogDiffDocument, { models: [...models] })
    if (!diff) throw new Error('The market did not answer with a comparison. Retry.')
    seen = {
      parts,
      models: seen.models + diff.models,
      changes: [...seen.changes, ...diff.changes],
      impacts: [...seen.impacts, ...diff.impacts],
      rejected: [...seen.rejected, ...diff.rejected.map((row) => ({ ...row, index: row.index + from }))],
    }
  }
  return seen
}

type Report = { readonly added: number; readonly changed: number; readonly repriced: number }

/** Imports every part. A part that fails leaves the parts before it imported; a second try changes nothing of these. */
async function importParts(parts: readonly ImportPart[], source: string): Promise<Report> {
  let report: Report = { added: 0, changed: 0, repriced: 0 }
  for (const { models } of parts) {
    const { importCatalog: done } = await askPatiently(PageImportCatalogDocument, { models: [...models], source })
    report = {
      added: report.added + done.added,
      changed: report.changed + done.changed,
      repriced: report.repriced + done.repriced,
    }
  }
  return report
}

/** Imports a list of models: first the difference, then the import. */
export function ImportModels() {
  const say = useToast()
  const cache = useQueryClient()
  const navigate = useNavigate({ from: '/operator/catalogue' })
  const [text, setText] = useState('')
  const [source, setSource] = useState('')
  const [unread, setUnread] = useState<string>()
  const preview = useMutation<Seen, Error, string>({ mutationFn: compare })
  const accept = useMutation<Report, Error, Seen>({
    mutationFn: ({ parts }) => importParts(parts, source.trim()),
    onSuccess: ({ added, changed, repriced }) => {
      say(`Imported: ${count(added)} new, ${count(changed)} changed, ${count(repriced)} with new prices.`)
      void navigate({ search: {} })
    },
    onSettled: () => cache.invalidateQueries(),
  })
  const change = (next: string) => {
    setText(next)
    setUnread(undefined)
    preview.reset()
    accept.reset()
  }
  const read = ({ currentTarget: { files } }: ChangeEvent<HTMLInputElement>) => {
    const [file] = files ?? []
    if (file === undefined) return
    if (file.size > MAX_FILE_CHARS) {
      change('')
      setUnread('The file is longer than 8 MB. Import it with the command line.')
      return
    }
    file.text().then(change, () => setUnread('The browser could not read the file. Choose it again.'))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (preview.data === undefined) preview.mutate(text)
    else accept.mutate(preview.data)
  }
  const seen = preview.data
  const fault = unread ?? preview.error?.message ?? accept.error?.message
  const isBusy = preview.isPending || accept.isPending
  return (
    <>
      <Card title="Import models" about="The JSON that market operator catalog import takes, up to 8 MB">
        <form className="form" onSubmit={submit}>
          <div className="form-row">
            <Input label="File" type="file" accept="application/json,.json" onChange={read} />
            <Input
              label="Source"
              hint="Where the values are from. The source is public"
              required
              maxLength={MAX_SOURCE_CHARS}
              value={source}
              onChange={({ currentTarget: { value } }) => setSource(value)}
            />
          </div>
          <TextArea
            label="Or paste the JSON"
            hint='A list of models, or an object with a list: {"data": […]}'
            spellCheck={false}
            maxLength={MAX_FILE_CHARS}
            value={text}
            onChange={({ currentTarget: { value } }) => change(value)}
          />
          {fault === undefined ? null : <Notice tone="bad">{fault}</Notice>}
          {seen === undefined ? null : <Verdict seen={seen} />}
          <div className="actions">
            <Button
              kind="primary"
              type="submit"
              disabled={isBusy || text.trim() === '' || source.trim() === '' || seen?.changes.length === 0}
            >
              {labelOf(seen, preview.isPending, accept.isPending)}
            </Button>
            <Button onClick={() => void navigate({ search: {} })}>Cancel</Button>
          </div>
        </form>
      </Card>
      {seen === undefined ? null : <Changes seen={seen} />}
      {seen === undefined || seen.rejected.length === 0 ? null : <Refused seen={seen} />}
    </>
  )
}

function labelOf(seen: Seen | undefined, isComparing: boolean, isImporting: boolean): string {
  if (isComparing) return 'Comparing…'
  if (isImporting) return 'Importing…'
  if (seen === undefined) return 'Preview changes'
  return `Import ${many(seen.changes.length, 'model')}`
}

const many = (number: number, noun: string) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`

function Verdict({ seen: { models, changes, impacts, rejected } }: { readonly seen: Seen }) {
  const added = changes.filter(({ kind }) => kind === 'added').length
  const sum = (of: (impact: Seen['impacts'][number]) => number) => impacts.reduce((total, row) => total + of(row), 0)
  const offers = sum((row) => row.offers)
  return (
    <Notice tone={rejected.length > 0 || offers > 0 ? 'warn' : 'good'}>
      <strong>
        {`${count(added)} new, ${count(changes.length - added)} changed, ${count(models - changes.length)} unchanged, ${many(rejected.length, 'row')} refused.`}
      </strong>
      <span className="small">
        {offers === 0 ? 'No offer is affected.' : `The changes affect ${many(offers, 'offer')} on sale.`} Models outside
        the list stay as they are.
      </span>
    </Notice>
  )
}

type Line = { readonly model: string; readonly field: string; readonly now: string; readonly after: string }

const MAX_VALUE_CHARS = 120

/** A value of a field in words: prices in dollars of their unit, other values as JSON. */
function shown(field: string, value: string | null): string {
  if (value === null) return 'none'
  const [, unit = ''] = /^price\.(\w+)/.exec(field) ?? []
  const known = UNITS[unit]
  const pico = /^"?(\d+)"?$/.exec(value)?.[1]
  if (known !== undefined && pico !== undefined && !field.endsWith(' at least')) {
    return `$${withPoint(pico, known.places)}`
  }
  const text = value.replace(/^"(.*)"$/, '$1')
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text
}

function nameOf(field: string): string {
  const [, unit = '', rest = ''] = /^price\.(\w+)(.*)$/.exec(field) ?? []
  return UNITS[unit] === undefined ? words(field) : `${UNITS[unit].label}${rest}`
}

const CHANGE_COLUMNS: readonly Column<Line>[] = [
  { label: 'Model', cell: ({ model }) => <code className="nowrap">{model}</code>, text: ({ model }) => model },
  { label: 'Field', cell: ({ field }) => nameOf(field), text: ({ field }) => field },
  { label: 'Now', cell: ({ now }) => <code>{now}</code>, text: ({ now }) => now },
  { label: 'After', cell: ({ after }) => <code>{after}</code>, text: ({ after }) => after },
]

function Changes({ seen: { changes } }: { readonly seen: Seen }) {
  const lines = changes.flatMap(({ model, fields }) =>
    fields.map(({ field, before, after }) => ({
      model,
      field,
      now: field === 'added' ? 'not listed' : shown(field, before),
      after: field === 'added' ? 'new model' : shown(field, after),
    })),
  )
  return (
    <Card title="Changes" about="Nothing is changed before you import" isFlush>
      <Table
        label="Changes of the import"
        columns={CHANGE_COLUMNS}
        rows={lines}
        most={50}
        keyOf={({ model, field }) => `${model} ${field}`}
        curl={curlOf(PageCatalogDiffDocument, { models: [] }, true)}
        empty={
          <Empty title="Nothing changes">
            <p>Every model of the list is in the catalogue with these values.</p>
          </Empty>
        }
      />
    </Card>
  )
}

type RefusedRow = Seen['rejected'][number]

const REFUSED_COLUMNS: readonly Column<RefusedRow>[] = [
  { label: 'Row', isNumber: true, cell: ({ index }) => count(index + 1), text: ({ index }) => index + 1 },
  { label: 'Model', cell: ({ id }) => (id === null ? 'no id' : <code>{id}</code>), text: ({ id }) => id },
  { label: 'Field', cell: ({ field }) => field ?? '–', text: ({ field }) => field },
  { label: 'Problem', cell: ({ message }) => message, text: ({ message }) => message },
]

function Refused({ seen: { rejected } }: { readonly seen: Seen }) {
  return (
    <Card title="Refused rows" about="The import leaves these rows out. Correct the JSON, then preview again" isFlush>
      <Table
        label="Refused rows"
        columns={REFUSED_COLUMNS}
        rows={rejected}
        most={50}
        keyOf={({ index, field, message }) => `${index} ${field} ${message}`}
        curl={curlOf(PageCatalogDiffDocument, { models: [] }, true)}
        empty={<Empty title="No refused rows">{null}</Empty>}
      />
    </Card>
  )
}
