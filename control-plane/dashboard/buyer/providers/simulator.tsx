import { useNavigate, useSearch } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerProvidersQuery } from '#control-plane/dashboard/data/documents/buyer-providers.ts'
import type { BuyerRoutingQueryVariables } from '#control-plane/dashboard/data/documents/buyer-routing.ts'
import { BuyerRoutingDocument } from '#control-plane/dashboard/data/documents/buyer-routing.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { useProviderSuggestions } from '#control-plane/dashboard/market/name-suggestions.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Check, Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { NamesInput, namesIn } from '#control-plane/dashboard/ui/names-input.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Loaded } from '#control-plane/dashboard/ui/states.tsx'
import { Simulated } from './simulated.tsx'

const WINDOWS = [
  { value: '24h', label: 'the last 24 hours' },
  { value: 'yesterday', label: 'yesterday, UTC' },
] as const
const SORTS = [
  { value: 'price', label: 'price' },
  { value: 'latency', label: 'measured speed' },
] as const

type Rules = NonNullable<BuyerProvidersQuery['preferences']>
type Props = { readonly rules: Rules | null }

/** Estimates the cost of past calls under other rules. The rules are in the address, and begin as those in force. */
export function Simulator({ rules }: Props) {
  const search = useSearch({ from: '/buyer/providers' })
  const variables: BuyerRoutingQueryVariables = {
    policy: {
      ...(search.floor === undefined ? {} : { minDiscountPct: search.floor }),
      providersOnly: namesIn(search.only ?? ''),
      providersBlocked: namesIn(search.block ?? ''),
      providerOrder: namesIn(search.order ?? ''),
      allowUntrusted: search.untrusted === 'yes',
      sort: search.sort ?? 'price',
    },
    window: search.window ?? '24h',
  }
  const isAsked = search.try === 'yes'
  const query = useScreen(BuyerRoutingDocument, variables, { isOn: isAsked })
  return (
    <Card
      title="Try rules on past calls"
      about="Starts with your current rules. Nothing changes, and no provider is called."
    >
      <div className="grid">
        {/* The form begins anew with the values of the address, or with the rules in force. */}
        <RequestForm key={JSON.stringify([search, rules])} rules={rules} />
        {isAsked ? (
          <Loaded query={query}>
            {({ routingSimulation }) =>
              routingSimulation === null ? null : (
                <Simulated
                  simulation={routingSimulation}
                  policy={variables.policy}
                  curl={curlOf(BuyerRoutingDocument, variables, true)}
                />
              )
            }
          </Loaded>
        ) : null}
      </div>
    </Card>
  )
}

type Draft = Readonly<Record<'floor' | 'only' | 'block' | 'order', string>> & {
  readonly sort: (typeof SORTS)[number]['value']
  readonly window: (typeof WINDOWS)[number]['value']
  readonly isOpen: boolean
}

function RequestForm({ rules }: Props) {
  const search = useSearch({ from: '/buyer/providers' })
  const navigate = useNavigate({ from: '/buyer/providers' })
  const current = search.try === 'yes' ? null : rules
  const [draft, setDraft] = useState<Draft>({
    floor: String(search.floor ?? current?.minDiscountPct ?? ''),
    only: search.only ?? '',
    block: search.block ?? current?.providersBlocked.join(' ') ?? '',
    order: search.order ?? '',
    sort: search.sort ?? 'price',
    window: search.window ?? '24h',
    isOpen: search.untrusted === 'yes' || current?.allowUntrusted === true,
  })
  const providers = useProviderSuggestions()
  const names = (name: 'only' | 'block' | 'order') => ({
    value: draft[name],
    onChange: (value: string) => setDraft({ ...draft, [name]: value }),
    maxLength: 300,
    ...providers,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { floor, only, block, order, sort, window, isOpen } = draft
    const text = (value: string) => (value.trim() === '' ? undefined : value.trim())
    void navigate({
      search: {
        try: 'yes',
        floor: floor.trim() === '' ? undefined : Number(floor),
        only: text(only),
        block: text(block),
        order: text(order),
        untrusted: isOpen ? 'yes' : undefined,
        sort: sort === 'price' ? undefined : sort,
        window: window === '24h' ? undefined : window,
      },
      resetScroll: false,
    })
  }
  return (
    <form className="form" onSubmit={submit}>
      <div className="form-row">
        <Input
          label="Minimum discount, percent"
          hint="Leave blank for none"
          type="number"
          min={0}
          max={100}
          step={1}
          value={draft.floor}
          onChange={({ currentTarget: { value } }) => setDraft({ ...draft, floor: value })}
        />
        <NamesInput label="Only these providers" hint="Leave blank for all" {...names('only')} />
        <NamesInput label="Blocked providers" hint="Leave blank for none" {...names('block')} />
        <NamesInput label="Preferred providers, in order" hint="Tried before the others" {...names('order')} />
      </div>
      <div className="form-row">
        <Select
          label="Sort the others by"
          choices={SORTS}
          value={draft.sort}
          onChange={({ currentTarget: { value } }) =>
            setDraft({ ...draft, sort: value === 'latency' ? 'latency' : 'price' })
          }
        />
        <Select
          label="Calls from"
          choices={WINDOWS}
          value={draft.window}
          onChange={({ currentTarget: { value } }) =>
            setDraft({ ...draft, window: value === 'yesterday' ? 'yesterday' : '24h' })
          }
        />
      </div>
      <Check
        label="Allow providers that are not trusted"
        isOn={draft.isOpen}
        onChange={(isOpen) => setDraft({ ...draft, isOpen })}
      />
      <div className="actions">
        <Button kind="primary" type="submit">
          Try it
        </Button>
      </div>
    </form>
  )
}
