import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageUpdateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerLimitsQuery } from '#control-plane/dashboard/data/documents/buyer-limits.ts'
import { count, money } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { numberIn, numberText } from '#control-plane/dashboard/ui/number-text.ts'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { useIsChanged } from '#control-plane/dashboard/ui/use-is-changed.ts'

export type LimitedKey = NonNullable<BuyerLimitsQuery['caps']>['keys'][number]

const MICRO = 1e6
const dollarsIn = (cap: LimitedKey['daily']) => (cap === null ? null : Number(cap.capUsdc) / MICRO)
const dollars = (value: number | null) => (value === null ? 'no cap' : money(Math.round(value * MICRO)))
const calls = (value: number | null) => (value === null ? 'default' : count(value))

/** Changes the caps of a key. The dialog shows them before and after. */
export function EditLimits({ limited, onDone }: { readonly limited: LimitedKey; readonly onDone: () => void }) {
  const { keyId: id, label, rateLimitRpm } = limited
  const now = { daily: dollarsIn(limited.daily), monthly: dollarsIn(limited.monthly) }
  const say = useToast()
  const [daily, setDaily] = useState(numberText(now.daily))
  const [monthly, setMonthly] = useState(numberText(now.monthly))
  const [rate, setRate] = useState(numberText(rateLimitRpm))
  const update = useChange(PageUpdateBuyerKeyDocument, {
    onDone: () => {
      onDone()
      say(`The limits of ${label} are changed.`)
    },
  })
  const next = { capDailyUsd: numberIn(daily), capMonthlyUsd: numberIn(monthly), rateLimitRpm: numberIn(rate) }
  const isChanged = useIsChanged(next)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    update.mutate({ id, input: next })
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onDone }} title={`Limits of ${label}`}>
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          <Amount
            label="Cap a day, US dollars"
            hint="Per UTC day. Leave blank for no cap"
            value={daily}
            onChange={setDaily}
          />
          <Amount
            label="Cap a month, US dollars"
            hint="Per UTC month. Leave blank for no cap"
            value={monthly}
            onChange={setMonthly}
          />
          <Amount label="Calls a minute" hint="Leave blank for the default" value={rate} onChange={setRate} isWhole />
        </div>
        <Diff
          lines={[
            { name: 'Cap a day', now: dollars(now.daily), after: dollars(next.capDailyUsd) },
            { name: 'Cap a month', now: dollars(now.monthly), after: dollars(next.capMonthlyUsd) },
            { name: 'Calls a minute', now: calls(rateLimitRpm), after: calls(next.rateLimitRpm) },
          ]}
        />
        {update.error === null ? null : <ErrorNotice error={update.error} />}
        <div className="dialog-foot">
          <Button onClick={onDone}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={!isChanged || update.isPending}>
            Save limits
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

type AmountProps = {
  readonly label: string
  readonly hint: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isWhole?: boolean
}

function Amount({ isWhole = false, onChange, ...rest }: AmountProps) {
  return (
    <Input
      {...rest}
      type="number"
      min={isWhole ? 1 : 0.000001}
      step={isWhole ? 1 : 'any'}
      onChange={({ currentTarget: { value } }) => onChange(value)}
    />
  )
}
