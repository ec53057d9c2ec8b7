import { useState } from 'react'
import { PageRemoveBillDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import type { SellerEarningsQuery } from '#control-plane/dashboard/data/documents/seller-earnings.ts'
import { money } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Empty } from '#control-plane/dashboard/ui/states.tsx'
import type { Column } from '#control-plane/dashboard/ui/table.tsx'
import { Table } from '#control-plane/dashboard/ui/table.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Row = NonNullable<SellerEarningsQuery['drift']>['rows'][number]

/** The likely cause of a difference in words. */
const CAUSES: Readonly<Record<string, string>> = {
  none: 'No difference',
  rounding: 'Rounding',
  day_not_over: 'The day is not over',
  not_billed: 'Not billed yet',
  key_used_elsewhere: 'The key is used elsewhere, too',
  failed_calls: 'Calls that failed for the buyer',
  unpaid_calls: 'Calls that no buyer paid',
  searches: 'Searches',
  cache_writes: 'Cache writes',
  price_moved: 'A price moved that day',
  context_tier: 'A price of long prompts',
  region: 'A price of the region',
  flex_or_batch: 'A flex or batch price',
  unknown: 'Unknown',
}

const COLUMNS: readonly Column<Row>[] = [
  { label: 'Day (UTC)', phone: 'bare', cell: ({ day }) => day, text: ({ day }) => day },
  {
    label: 'Model',
    phone: 'title',
    cell: ({ model, billedClass }) => (billedClass === 'all' ? model : `${model} · ${partWords(billedClass)}`),
    text: ({ model, billedClass }) => `${model} ${billedClass}`,
  },
  {
    label: 'Billed',
    isNumber: true,
    cell: ({ billedUsd }) => usd(billedUsd),
    text: ({ billedUsd }) => billedUsd,
    unit: 'usd',
  },
  {
    label: 'At list',
    isNumber: true,
    cell: ({ listUsd }) => usd(listUsd),
    text: ({ listUsd }) => listUsd,
    unit: 'usd',
  },
  {
    label: 'Difference',
    isNumber: true,
    cell: ({ differenceUsd, differencePct }) => (
      <span title={differencePct === null ? undefined : `${differencePct} % of the list cost`}>
        {usd(differenceUsd)}
      </span>
    ),
    text: ({ differenceUsd }) => differenceUsd,
    unit: 'usd',
  },
  { label: 'Likely cause', cell: ({ cause }) => CAUSES[cause] ?? cause, text: ({ cause }) => cause },
]

/** Providers' bills to the seller beside the list cost of the same calls. */
export function ProviderBills({
  data: { drift },
  curl,
}: {
  readonly data: SellerEarningsQuery
  readonly curl: string
}) {
  const rows = drift?.rows ?? []
  const providers = [...new Set(rows.map(({ provider }) => provider))]
  const about =
    rows.length === 0
      ? 'Provider bills compared with list cost'
      : `Billed ${usd(drift?.billedUsd ?? '0')}, ${usd(drift?.listUsd ?? '0')} at list, over the last 30 days with a bill`
  return (
    <Card
      title="Provider bills"
      about={about}
      isFlush
      actions={providers.length === 0 ? undefined : <RemoveBill providers={providers} />}
    >
      <Table
        label="Provider bills"
        columns={COLUMNS}
        rows={rows}
        most={12}
        keyOf={({ provider, day, model, billedClass }) => `${provider} ${day} ${model} ${billedClass}`}
        curl={curl}
        empty={
          <Empty title="No provider bills yet">
            <p>
              Import a bill with <code>npx market bills import FILE --provider openai</code>. Each line shows where the
              bill differs from list cost, and the likely cause.
            </p>
          </Empty>
        }
      />
    </Card>
  )
}

/** Removes the stored bills of a provider, once that is confirmed. */
function RemoveBill({ providers }: { readonly providers: readonly string[] }) {
  const say = useToast()
  const [asked, ask] = useState<string>()
  const remove = useChange(PageRemoveBillDocument, {
    onDone: ({ removeBill: { lines } }) => {
      ask(undefined)
      say(lines === 1 ? '1 line removed.' : `${lines} lines removed.`)
    },
  })
  return (
    <>
      {providers.map((provider) => (
        <Button key={provider} onClick={() => ask(provider)}>{`Remove ${provider}`}</Button>
      ))}
      {asked === undefined ? null : (
        <Confirm
          title={`Remove the bills of ${asked}?`}
          about="All of its stored lines are removed. You can import them again."
          action="Remove"
          isDanger
          isBusy={remove.isPending}
          error={remove.error}
          onDo={() => remove.mutate({ provider: asked })}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  )
}

function partWords(billedClass: string): string {
  return billedClass.replaceAll('_', ' ')
}

/** A decimal amount of US dollars as the page writes money. Bills are finer than a micro-USD at times. */
function usd(amount: string): string {
  return money(Math.round(Number(amount) * 1e6))
}
