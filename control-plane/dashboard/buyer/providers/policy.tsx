import type { FormEvent } from 'react'
import { useState } from 'react'
import { PagePutPreferencesDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerProvidersQuery } from '#control-plane/dashboard/data/documents/buyer-providers.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { faultAt, useProviderSuggestions } from '#control-plane/dashboard/market/name-suggestions.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Check, Input } from '#control-plane/dashboard/ui/fields.tsx'
import { NamesInput, namesIn } from '#control-plane/dashboard/ui/names-input.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Preferences = NonNullable<BuyerProvidersQuery['preferences']>

const floorText = (floor: number | null) => (floor === null ? 'none' : `${floor}%`)
const listText = (names: readonly string[]) => (names.length === 0 ? 'none' : names.join(', '))
const trustText = (allows: boolean | null) => (allows === true ? 'allowed' : 'not allowed')

type Draft = { readonly floor: string; readonly blocked: string; readonly allows: boolean }

const draftOf = ({ minDiscountPct, providersBlocked, allowUntrusted }: Preferences): Draft => ({
  floor: minDiscountPct === null ? '' : String(minDiscountPct),
  blocked: providersBlocked.join(' '),
  allows: allowUntrusted,
})

const preferencesOf = ({ floor, blocked, allows }: Draft) => ({
  minDiscountPct: floor.trim() === '' ? null : Number(floor),
  providersBlocked: namesIn(blocked),
  allowUntrusted: allows,
})

const isSame = (left: Preferences, right: Preferences) =>
  JSON.stringify(draftOf(left)) === JSON.stringify(draftOf(right))

/**
 * Routing preferences for every call of the account. A dialog shows the difference before a change is stored. A draft
 * stays when the market's figures are read again.
 */
export function Policy({ preferences }: { readonly preferences: Preferences }) {
  const say = useToast()
  const [draft, setDraft] = useState<Draft>()
  const { floor, blocked, allows } = draft ?? draftOf(preferences)
  const edit = (part: Partial<Draft>) => setDraft({ floor, blocked, allows, ...part })
  const [isAsked, setAsked] = useState(false)
  const next = preferencesOf({ floor, blocked, allows })
  const isChanged = !isSame(next, preferences)
  const providers = useProviderSuggestions()
  const put = useChange(PagePutPreferencesDocument, {
    onDone: () => {
      setAsked(false)
      say('Saved. Live within seconds.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setAsked(true)
  }
  return (
    <Card title="Default routing rules" about="For every call of the account. A key or a call can be stricter">
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          <Input
            label="Minimum discount, percent"
            hint="Calls with a lower discount are refused. Leave blank for none"
            type="number"
            min={0}
            max={100}
            step={1}
            value={floor}
            onChange={({ currentTarget: { value } }) => edit({ floor: value })}
          />
          <NamesInput
            label="Blocked providers"
            hint="Leave blank for none"
            value={blocked}
            onChange={(value) => edit({ blocked: value })}
            fault={faultAt(put.error, 'providersBlocked')}
            {...providers}
          />
        </div>
        <Check label="Allow providers that are not trusted" isOn={allows} onChange={(isOn) => edit({ allows: isOn })} />
        <div className="actions">
          <Button kind="primary" type="submit" disabled={!isChanged}>
            Review changes
          </Button>
        </div>
      </form>
      {isAsked ? (
        <Confirm
          title="Save these rules?"
          lines={[
            {
              name: 'Minimum discount',
              now: floorText(preferences.minDiscountPct),
              after: floorText(next.minDiscountPct),
            },
            {
              name: 'Blocked providers',
              now: listText(preferences.providersBlocked),
              after: listText(next.providersBlocked),
            },
            {
              name: 'Providers that are not trusted',
              now: trustText(preferences.allowUntrusted),
              after: trustText(next.allowUntrusted),
            },
          ]}
          {...(!isChanged && { about: 'Nothing has changed yet.' })}
          action="Save rules"
          isBusy={put.isPending || !isChanged}
          error={put.error}
          onDo={() =>
            put.mutate(next, {
              onError: (error) => {
                // A refused name shows the refusal at its field, below the dialog.
                if (faultAt(error, 'providersBlocked') !== undefined) setAsked(false)
              },
              // The stored rules were read again meanwhile. Edits made since then stay.
              onSuccess: () => setDraft((now) => (now === draft ? undefined : now)),
            })
          }
          onClose={() => setAsked(false)}
        />
      ) : null}
    </Card>
  )
}
