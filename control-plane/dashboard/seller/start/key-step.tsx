import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageDiscoverDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import type { SellerOnboardingQuery } from '#control-plane/dashboard/data/documents/seller-onboarding.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input, Select } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice } from '#control-plane/dashboard/ui/states.tsx'
import type { Discovered, KeyEntry } from './steps.ts'

/** The market takes no shorter key. */
const KEY_CHARS = 8

type Config = NonNullable<SellerOnboardingQuery['savedConfigs']>['edges'][number]['node']
type Provider = NonNullable<SellerOnboardingQuery['providerChoices']>[number]
type Props = {
  readonly configs: readonly Config[]
  /** The providers whose keys can be sold here. */
  readonly providers: readonly Provider[]
  readonly onFound: (place: KeyEntry, models: readonly Discovered[]) => void
}

/** Asks the provider with the key, and stores nothing. */
export function KeyStep({ configs, providers, onFound }: Props) {
  const [draft, setDraft] = useState({ saved: '', provider: '', baseUrl: '', apiKey: '' })
  const config = configs.find(({ id }) => id === draft.saved)
  const place: KeyEntry =
    config === undefined
      ? { baseUrl: draft.baseUrl.trim(), apiKey: draft.apiKey.trim() }
      : { baseUrl: config.baseUrl, reuseKeyFingerprint: config.keyFingerprint }
  const discover = useChange(PageDiscoverDocument, {
    onDone: ({ discoverModels }) => onFound(place, discoverModels),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    discover.mutate({ place })
  }
  return (
    <form className="form" onSubmit={submit} style={{ maxWidth: '34rem' }}>
      {configs.length === 0 ? null : (
        <Select
          label="Key"
          value={draft.saved}
          choices={[
            { value: '', label: 'A new key' },
            ...configs.map(({ id, label, baseUrl, hint }) => ({ value: id, label: `${label ?? baseUrl} (${hint})` })),
          ]}
          onChange={({ currentTarget: { value } }) => setDraft({ ...draft, saved: value })}
        />
      )}
      {config === undefined ? (
        <>
          <Select
            label="Provider"
            hint="Providers that this market can sell"
            value={draft.provider}
            choices={[
              { value: '', label: 'Choose a provider' },
              ...providers.map(({ id, name, trusted }) => ({
                value: id,
                label: trusted ? name : `${name} (not trusted)`,
              })),
            ]}
            onChange={({ currentTarget: { value } }) => {
              const baseUrl = providers.find(({ id }) => id === value)?.baseUrl ?? ''
              setDraft({ ...draft, provider: value, baseUrl })
            }}
          />
          <Input
            label="Base URL of the provider"
            hint={
              draft.baseUrl.includes('*')
                ? 'Replace * with the name of your own resource.'
                : draft.provider === ''
                  ? 'Choose a provider to fill this in.'
                  : 'Filled in by your choice above.'
            }
            type="url"
            required
            value={draft.baseUrl}
            onChange={({ currentTarget: { value } }) => setDraft({ ...draft, baseUrl: value })}
          />
          <Input
            label="API key"
            hint="Encrypted, never shown again, and used only for calls you are paid for."
            type="password"
            autoComplete="off"
            required
            minLength={KEY_CHARS}
            value={draft.apiKey}
            onChange={({ currentTarget: { value } }) => setDraft({ ...draft, apiKey: value })}
          />
        </>
      ) : null}
      {discover.error === null ? null : <ErrorNotice error={discover.error} />}
      <div>
        <Button kind="primary" type="submit" disabled={discover.isPending}>
          {discover.isPending ? 'Asking the provider …' : 'Find your models'}
        </Button>
      </div>
    </form>
  )
}
