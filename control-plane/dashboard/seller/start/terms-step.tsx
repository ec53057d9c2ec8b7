import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageListDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { percent, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { NeedsWallet } from '#control-plane/dashboard/market/needs-wallet.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Check, Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Facts } from '#control-plane/dashboard/ui/page.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import type { Chosen, KeyEntry, Listed } from './steps.ts'

const BPS_OF_PERCENT = 100

type Props = {
  readonly place: KeyEntry
  readonly chosen: readonly Chosen[]
  /** The fee in hundredths of a percent. Undefined until it is read. */
  readonly feeBps: number | undefined
  readonly onBack: () => void
  readonly onListed: (lines: readonly Listed[]) => void
}

export function TermsStep({ place, chosen, feeBps, onBack, onListed }: Props) {
  const [draft, setDraft] = useState({ cap: '', payout: '', isAllowed: false, isAgreed: false })
  const list = useChange(PageListDocument, { onDone: ({ bulkCreateOffers }) => onListed(bulkCreateOffers) })
  const fee = feeBps === undefined ? undefined : percent(feeBps / BPS_OF_PERCENT, 2)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const capDailyUsd = draft.cap.trim() === '' ? undefined : Number(draft.cap)
    list.mutate({
      place,
      payoutAddress: draft.payout.trim() === '' ? undefined : draft.payout.trim(),
      offers: chosen.map(({ model, discount }) => ({ model, discount, capDailyUsd })),
    })
  }
  return (
    <form className="form" onSubmit={submit} style={{ maxWidth: '40rem' }}>
      <Input
        label="Cap a day for each offer, US dollars"
        hint="Per UTC day. Leave blank for no cap"
        type="number"
        min={0.01}
        step="any"
        value={draft.cap}
        onChange={({ currentTarget: { value } }) => setDraft({ ...draft, cap: value })}
      />
      <NeedsWallet>
        Payouts go to a wallet. Enter an address below, or link a wallet. You can do both later. Your earnings are kept
        for you.
      </NeedsWallet>
      <Input
        label="Payout address"
        hint="Leave blank for the wallet of your account. A new address has a waiting time before its first payout."
        pattern="0x[0-9a-fA-F]{40}"
        value={draft.payout}
        onChange={({ currentTarget: { value } }) => setDraft({ ...draft, payout: value })}
      />
      <Check
        label="My contract with the provider lets me serve calls of others with this key."
        isOn={draft.isAllowed}
        onChange={(isAllowed) => setDraft({ ...draft, isAllowed })}
      />
      <Check
        label={`Calls are served with my key and at my cost. I am paid the discounted price less the market's fee${fee === undefined ? '' : ` of ${fee}`}.`}
        isOn={draft.isAgreed}
        onChange={(isAgreed) => setDraft({ ...draft, isAgreed })}
      />
      <Facts
        facts={[
          ['Provider', place.baseUrl],
          [
            'Fee',
            <>
              {fee ?? UNKNOWN} of each sale. <Link to="/fees">How the fee works</Link>
            </>,
          ],
          ['Put on sale', chosen.map(({ model, discount }) => `${model} at ${percent(discount)} off`).join(', ')],
        ]}
      />
      {list.error === null ? null : <ErrorNotice error={list.error} />}
      <div className="actions">
        <Button onClick={onBack}>Back</Button>
        <Button kind="primary" type="submit" disabled={!draft.isAllowed || !draft.isAgreed || list.isPending}>
          {list.isPending ? 'Putting on sale …' : 'Put on sale'}
        </Button>
      </div>
    </form>
  )
}
