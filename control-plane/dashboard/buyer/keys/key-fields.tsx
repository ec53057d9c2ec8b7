import type { ReactNode } from 'react'
import {
  faultAt,
  useModelSuggestions,
  useProviderSuggestions,
} from '#control-plane/dashboard/market/name-suggestions.ts'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { NamesInput, namesIn } from '#control-plane/dashboard/ui/names-input.tsx'
import { numberIn, numberText } from '#control-plane/dashboard/ui/number-text.ts'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'

const BLANK = { label: '', daily: '', monthly: '', floor: '', rate: '', models: '', blocked: '', untrusted: '' }

/** Values of a key's form. Amounts are US dollars. */
export type KeyDraft = typeof BLANK
export const BLANK_KEY: KeyDraft = BLANK

type Terms = {
  readonly capDailyUsd: number | null
  readonly capMonthlyUsd: number | null
  readonly minDiscountPct: number | null
  readonly rateLimitRpm: number | null
  readonly modelsAllowed: readonly string[] | null
  readonly providersBlocked: readonly string[]
  readonly allowUntrusted: boolean | null
}

/** The terms of a draft. A blank field removes its limit. */
export function termsIn(draft: KeyDraft) {
  const models = namesIn(draft.models)
  return {
    label: draft.label.trim(),
    capDailyUsd: numberIn(draft.daily),
    capMonthlyUsd: numberIn(draft.monthly),
    minDiscountPct: numberIn(draft.floor),
    rateLimitRpm: numberIn(draft.rate),
    // The market refuses an empty list: null allows every model.
    modelsAllowed: models.length === 0 ? null : models,
    providersBlocked: namesIn(draft.blocked),
    allowUntrusted: draft.untrusted === '' ? null : draft.untrusted === 'yes',
  }
}

export function draftOf(label: string, terms: Terms): KeyDraft {
  return {
    label,
    daily: numberText(terms.capDailyUsd),
    monthly: numberText(terms.capMonthlyUsd),
    floor: numberText(terms.minDiscountPct),
    rate: numberText(terms.rateLimitRpm),
    models: (terms.modelsAllowed ?? []).join(' '),
    blocked: terms.providersBlocked.join(' '),
    untrusted: terms.allowUntrusted === null ? '' : terms.allowUntrusted ? 'yes' : 'no',
  }
}

const UNTRUSTED = [
  { value: '', label: 'As set for the account' },
  { value: 'yes', label: 'Allow' },
  { value: 'no', label: 'Refuse' },
]

type Props = {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  /** True for the playground's key, which keeps a daily cap. */
  readonly needsDailyCap?: boolean
  /** True folds the rarer limits, as in a form for a new key. */
  readonly isFolded?: boolean
  /** The refusal of the last try. The field of a refused name shows the refusal of that name. */
  readonly error: Error | null
}

export function KeyFields({ draft, onChange, needsDailyCap = false, isFolded = false, error }: Props) {
  const models = useModelSuggestions()
  const providers = useProviderSuggestions()
  const faults = { models: faultAt(error, 'modelsAllowed'), blocked: faultAt(error, 'providersBlocked') }
  const names = (name: 'models' | 'blocked') => ({
    value: draft[name],
    onChange: (value: string) => onChange({ ...draft, [name]: value }),
    fault: faults[name],
  })
  const field = (name: keyof KeyDraft) => ({
    value: draft[name],
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement | HTMLSelectElement }) =>
      onChange({ ...draft, [name]: currentTarget.value }),
  })
  return (
    <>
      <Input
        label="Name"
        hint="A name only you see, e.g. research-agent"
        required
        maxLength={200}
        {...field('label')}
      />
      <div className="form-row">
        <Input
          label="Cap a day, US dollars"
          hint={needsDailyCap ? 'Per UTC day. The playground needs one' : 'Per UTC day. Leave blank for no cap'}
          type="number"
          min={0.000001}
          step="any"
          required={needsDailyCap}
          {...field('daily')}
        />
        <Input
          label="Cap a month, US dollars"
          hint="Per UTC month. Leave blank for no cap"
          type="number"
          min={0.000001}
          step="any"
          {...field('monthly')}
        />
      </div>
      <Folded isFolded={isFolded}>
        <div className="form-row">
          <Input
            label="Minimum discount, percent"
            hint="Lower discounts are refused. Leave blank for none"
            type="number"
            min={0}
            max={100}
            step={1}
            {...field('floor')}
          />
          <Input
            label="Calls a minute"
            hint="Leave blank for the default"
            type="number"
            min={1}
            max={1_000_000}
            step={1}
            {...field('rate')}
          />
        </div>
        <NamesInput
          label="Models"
          hint="Type a part of a name or id. Leave blank for all"
          {...names('models')}
          {...models}
        />
        <div className="form-row">
          <NamesInput label="Blocked providers" hint="Leave blank for none" {...names('blocked')} {...providers} />
          <Select label="Providers that are not trusted" choices={UNTRUSTED} {...field('untrusted')} />
        </div>
      </Folded>
    </>
  )
}

type FoldedProps = { readonly isFolded: boolean; readonly children: ReactNode }

function Folded({ isFolded, children }: FoldedProps) {
  if (!isFolded) return children
  return (
    <details className="twin">
      <summary>More limits: discount, rate, models, providers</summary>
      <div className="form" style={{ paddingTop: 'var(--s3)' }}>
        {children}
      </div>
    </details>
  )
}

/** A refusal that no field shows. */
export function KeyRefusal({ error }: { readonly error: Error | null }) {
  const isAtField = (['modelsAllowed', 'providersBlocked'] as const).some((name) => faultAt(error, name) !== undefined)
  return error === null || isAtField ? null : <ErrorNotice error={error} />
}
