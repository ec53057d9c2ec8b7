import type { FormEvent } from 'react'
import { useState } from 'react'
import { MarketFeeDocument } from '#control-plane/dashboard/data/documents/market-fee.ts'
import { PageUpdateOfferDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { percent, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { unitPriceText } from '#control-plane/dashboard/market/price-text.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Diff } from '#control-plane/dashboard/ui/confirm.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { capText } from './cap-text.ts'
import type { Edited } from './edited.ts'
import { TakeOff } from './take-off.tsx'

type Props = { readonly offer: Edited; readonly onRemoved: (offer: Edited) => void; readonly onDone: () => void }

export const MOST_PCT = 95
const BPS_OF_PERCENT = 100

const WHOLE_BPS = 10_000

/** The price at another discount, less the market's fee. Unknown while the offer is free. */
function priceAt(offer: Edited, discount: number, feeBps = 0): string {
  const { effectiveInputPer1m, effectiveOutputPer1m, effectiveMediaUnitPrice, mediaUnit } = offer
  const share = ((100 - discount) / (100 - offer.discount)) * ((WHOLE_BPS - feeBps) / WHOLE_BPS)
  if (!(share >= 0 && Number.isFinite(share))) return UNKNOWN
  const at = (price: number | null) => (price === null ? null : Math.round(price * share))
  return unitPriceText(
    {
      inputPer1m: at(effectiveInputPer1m),
      outputPer1m: at(effectiveOutputPer1m),
      mediaUnitPrice: at(effectiveMediaUnitPrice),
    },
    mediaUnit,
  )
}

/** Changes an offer: the dialog shows the old terms beside the new ones. */
export function EditOffer({ offer, onRemoved, onDone }: Props) {
  const say = useToast()
  const [discount, setDiscount] = useState(String(offer.discount))
  const [cap, setCap] = useState(offer.capDailyUsd === null ? '' : String(offer.capDailyUsd))
  const [isLeaving, setLeaving] = useState(false)
  const next = { discount: Number(discount), capDailyUsd: cap.trim() === '' ? null : Number(cap) }
  const update = useChange(PageUpdateOfferDocument, {
    onDone: () => {
      onDone()
      say('The offer is changed.')
    },
  })
  const feeBps = useScreen(MarketFeeDocument, {}).data?.service?.feeBps
  const isActive = offer.status === 'active'
  const isDelisted = offer.delistedReason !== null
  const isChanged = next.discount !== offer.discount || next.capDailyUsd !== offer.capDailyUsd
  const submit = (event: FormEvent) => {
    event.preventDefault()
    update.mutate({ id: offer.id, input: next })
  }
  if (isLeaving) {
    const removed = () => {
      onDone()
      onRemoved(offer)
    }
    return <TakeOff offer={offer} onRemoved={removed} onClose={() => setLeaving(false)} />
  }
  return (
    <Dialog dialog={{ isOpen: true, close: onDone }} title={`Offer of ${offer.model}`}>
      <form className="form" onSubmit={submit}>
        <div className="form-row">
          <Input
            label="Discount, percent"
            type="number"
            min={0}
            max={MOST_PCT}
            step="any"
            required
            value={discount}
            onChange={({ currentTarget: { value } }) => setDiscount(value)}
          />
          <Input
            label="Cap a day, US dollars"
            hint="Per UTC day. Leave blank for no cap"
            type="number"
            min={0.000001}
            step="any"
            value={cap}
            onChange={({ currentTarget: { value } }) => setCap(value)}
          />
        </div>
        <Diff
          lines={[
            { name: 'Discount', now: percent(offer.discount), after: percent(next.discount) },
            { name: 'Buyers pay', now: priceAt(offer, offer.discount), after: priceAt(offer, next.discount) },
            ...(feeBps === undefined
              ? []
              : [
                  {
                    name: `You earn, after ${percent(feeBps / BPS_OF_PERCENT, 2)} fee`,
                    now: priceAt(offer, offer.discount, feeBps),
                    after: priceAt(offer, next.discount, feeBps),
                  },
                ]),
            { name: 'Cap', now: capText(offer.capDailyUsd), after: capText(next.capDailyUsd) },
          ]}
        />
        {update.error === null ? null : <ErrorNotice error={update.error} />}
        <div className="dialog-foot">
          {offer.status === 'inactive' ? null : (
            <Button kind="danger" onClick={() => setLeaving(true)}>
              Take off the market
            </Button>
          )}
          <Button
            disabled={update.isPending}
            refusal={isDelisted ? 'Operators delisted this offer. Only an operator can restore it.' : undefined}
            onClick={() => update.mutate({ id: offer.id, input: { status: isActive ? 'paused' : 'active' } })}
          >
            {isActive ? 'Pause' : offer.status === 'paused' ? 'Resume' : 'Put back on sale'}
          </Button>
          <Button onClick={onDone}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={!isChanged || update.isPending}>
            Save changes
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
