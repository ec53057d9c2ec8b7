import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { curlOf } from '#control-plane/dashboard/data/curl.ts'
import { PageDiscoverDocument } from '#control-plane/dashboard/data/documents/seller.ts'
import { SellerOnboardingDocument } from '#control-plane/dashboard/data/documents/seller-onboarding.ts'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { KeyStep } from './key-step.tsx'
import { LiveStep } from './live-step.tsx'
import { ModelsStep } from './models-step.tsx'
import { shownPlace } from './shown-place.ts'
import type { Chosen, Discovered, KeyEntry, Listed } from './steps.ts'
import { TermsStep } from './terms-step.tsx'

/** The first sale shows up while the seller looks on. */
const SALE_MS = 5_000

const STEPS = [
  { name: 'key', label: 'Your key' },
  { name: 'models', label: 'Models and prices' },
  { name: 'terms', label: 'Caps and terms' },
  { name: 'live', label: 'On sale' },
] as const
type Step = (typeof STEPS)[number]['name']

export function StartPage() {
  return (
    <Gate side="seller" title="List capacity">
      <Wizard />
    </Gate>
  )
}

/** The answers of the steps so far. The market stores none of them before the third step is sent. */
type Draft = {
  readonly place: KeyEntry | undefined
  readonly found: readonly Discovered[]
  readonly chosen: readonly Chosen[]
  readonly listed: readonly Listed[]
}

function Wizard() {
  const search = useSearch({ from: '/seller/start' })
  const navigate = useNavigate({ from: '/seller/start' })
  const [draft, setDraft] = useState<Draft>({ place: undefined, found: [], chosen: [], listed: [] })
  const { place, found, chosen, listed } = draft
  // A key is never kept in the address: after a reload the seller names the key again, or takes the saved one.
  const step: Step = place === undefined ? 'key' : (search.step ?? 'key')
  const query = useScreen(SellerOnboardingDocument, {}, step === 'live' ? { everyMs: SALE_MS } : {})
  const stage = useFocusOnStep(step)
  const go = (next: Step) => void navigate({ search: { step: next } })
  const configs = (query.data?.savedConfigs?.edges ?? []).map(({ node }) => node)
  const markets = (query.data?.markets?.edges ?? []).map(({ node }) => node)
  return (
    <Page
      title="List capacity"
      about="From a provider key to your first sale. Nothing is stored until you accept the models and prices."
      actions={<Link to="/seller/offers">Your offers</Link>}
    >
      <Steps at={step} />
      <div ref={stage} tabIndex={-1}>
        <Card title={STEPS.find(({ name }) => name === step)?.label ?? ''}>
          {step === 'key' ? (
            <KeyStep
              configs={configs}
              providers={query.data?.providerChoices ?? []}
              onFound={(at, models) => {
                setDraft({ ...draft, place: at, found: models, chosen: [] })
                go('models')
              }}
            />
          ) : null}
          {step === 'models' && place !== undefined ? (
            <ModelsStep
              curl={curlOf(PageDiscoverDocument, { place: shownPlace(place) }, true)}
              found={found}
              markets={markets}
              before={chosen}
              onChosen={(next) => {
                setDraft({ ...draft, chosen: next })
                go('terms')
              }}
            />
          ) : null}
          {step === 'terms' && place !== undefined ? (
            <TermsStep
              place={place}
              chosen={chosen}
              feeBps={query.data?.service?.feeBps}
              onBack={() => go('models')}
              onListed={(lines) => {
                setDraft({ ...draft, listed: lines })
                go('live')
              }}
            />
          ) : null}
          {step === 'live' && place !== undefined ? (
            <LiveStep place={place} listed={listed} newest={query.data?.sales?.edges[0]?.node} />
          ) : null}
        </Card>
      </div>
    </Page>
  )
}

/** Moves the focus to each further step: the button that led there is gone. */
function useFocusOnStep(step: Step) {
  const stage = useRef<HTMLDivElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    if (shown.current === step) return
    shown.current = step
    stage.current?.focus()
  }, [step])
  return stage
}

function Steps({ at }: { readonly at: Step }) {
  const place = STEPS.findIndex(({ name }) => name === at)
  return (
    <ol className="steps">
      {STEPS.map(({ name, label }, index) => (
        <li
          key={name}
          data-number={index + 1}
          data-done={index < place}
          aria-current={name === at ? 'step' : undefined}
        >
          {label}
        </li>
      ))}
    </ol>
  )
}
