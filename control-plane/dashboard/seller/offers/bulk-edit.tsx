import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { askPatiently } from '#control-plane/dashboard/data/client.ts'
import { PageUpdateOfferDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { percent } from '#control-plane/dashboard/data/format.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import { capText } from './cap-text.ts'
import { MOST_PCT } from './edit-offer.tsx'
import type { Edited } from './edited.ts'

/** Changes of one offer, and the changes that undo them. */
export type BulkStep = { readonly id: string; readonly model: string; readonly input: Change; readonly back: Change }
type Change = {
  readonly discount?: number
  readonly capDailyUsd?: number | null
  readonly status?: 'active' | 'paused'
}
export type Applied = { readonly done: readonly BulkStep[]; readonly failed: readonly string[] }

/** Applies changes one after another. A failed change is listed by name, and the others stay. */
export async function applySteps(steps: readonly BulkStep[], onStep: (stepsDone: number) => void): Promise<Applied> {
  const bulkSteps: BulkStep[] = []
  const failed: string[] = []
  for (const step of steps) {
    try {
      const variables = { id: step.id, input: step.input }
      await askPatiently(PageUpdateOfferDocument, variables, { idempotencyKey: crypto.randomUUID() })
      bulkSteps.push(step)
    } catch (thrown) {
      failed.push(`${step.model}: ${thrown instanceof Error ? thrown.message : 'refused'}`)
    }
    onStep(bulkSteps.length + failed.length)
  }
  return { done: bulkSteps, failed }
}

/** The same changes backwards. */
export function backOf(steps: readonly BulkStep[]): readonly BulkStep[] {
  return steps.map(({ id, model, input, back }) => ({ id, model, input: back, back: input })).reverse()
}

const STATES = [
  { value: '', label: 'As it is' },
  { value: 'active', label: 'On sale' },
  { value: 'paused', label: 'Paused' },
]

type Draft = { readonly discount: string; readonly cap: string; readonly status: string }

/** The change that a draft makes to an offer; undefined where it makes none. */
function stepOf(offer: Edited, { discount, cap, status }: Draft): BulkStep | undefined {
  const newStatus = status === 'active' || status === 'paused' ? status : undefined
  const isPriced = discount.trim() !== '' && Number(discount) !== offer.discount
  const isCapped = cap.trim() !== '' && Number(cap) !== offer.capDailyUsd
  // An offer off the market is put back one by one, and operators alone restore a delisted one.
  const isFixed = offer.status === 'inactive' || offer.delistedReason !== null
  const moved = isFixed || newStatus === offer.status ? undefined : newStatus
  if (!isPriced && !isCapped && moved === undefined) return undefined
  const input: Change = {
    ...(isPriced ? { discount: Number(discount) } : {}),
    ...(isCapped ? { capDailyUsd: Number(cap) } : {}),
    ...(moved === undefined ? {} : { status: moved }),
  }
  const back: Change = {
    ...(isPriced ? { discount: offer.discount } : {}),
    ...(isCapped ? { capDailyUsd: offer.capDailyUsd } : {}),
    ...(moved === undefined ? {} : { status: moved === 'active' ? 'paused' : 'active' }),
  }
  return { id: offer.id, model: offer.model, input, back }
}

function textOf({ discount, capDailyUsd, status }: Change): string {
  return [
    ...(discount === undefined ? [] : [percent(discount)]),
    ...(capDailyUsd === undefined ? [] : [capText(capDailyUsd)]),
    ...(status === undefined ? [] : [status === 'active' ? 'on sale' : 'paused']),
  ].join(' · ')
}

type Props = {
  readonly offers: readonly Edited[]
  readonly onDone: (applied: Applied) => void
  readonly onClose: () => void
}

/** Changes several offers at once, after a preview of each. */
export function BulkEdit({ offers, onDone, onClose }: Props) {
  const [draft, setDraft] = useState<Draft>({ discount: '', cap: '', status: '' })
  const [at, setAt] = useState(0)
  const cache = useQueryClient()
  const steps = offers.flatMap((offer) => stepOf(offer, draft) ?? [])
  const apply = useMutation({
    mutationFn: () => applySteps(steps, setAt),
    onSuccess: async (applied) => {
      await cache.invalidateQueries()
      onDone(applied)
    },
  })
  const field = (name: keyof Draft) => ({
    value: draft[name],
    onChange: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
      setDraft({ ...draft, [name]: value }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply.mutate()
  }
  return (
    <Dialog
      dialog={{ isOpen: true, close: onClose }}
      title={`Change ${offers.length} ${offers.length === 1 ? 'offer' : 'offers'}`}
    >
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          <Input
            label="Discount, percent"
            hint="Leave blank to keep"
            type="number"
            min={0}
            max={MOST_PCT}
            step="any"
            {...field('discount')}
          />
          <Input
            label="Cap a day, US dollars"
            hint="Leave blank to keep"
            type="number"
            min={0.000001}
            step="any"
            {...field('cap')}
          />
          <Select label="State" choices={STATES} {...field('status')} />
        </div>
        {steps.length === 0 ? (
          <p className="muted">Nothing changes yet.</p>
        ) : (
          <Diff
            lines={steps.map(({ id, model, input, back }) => ({
              name: `${model} ${id.slice(-4)}`,
              now: textOf(back),
              after: textOf(input),
            }))}
          />
        )}
        {apply.isPending ? <Notice>{`${at} of ${steps.length} changed.`}</Notice> : null}
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={steps.length === 0 || apply.isPending}>
            {`Change ${steps.length}`}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
