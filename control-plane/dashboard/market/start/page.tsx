import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import { askModel } from '#control-plane/dashboard/data/ask-model.ts'
import { chatCurlOf } from '#control-plane/dashboard/data/curl.ts'
import type { BuyerStartQuery } from '#control-plane/dashboard/data/documents/buyer-start.ts'
import { BuyerStartDocument } from '#control-plane/dashboard/data/documents/buyer-start.ts'
import { PageCreateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/keys.ts'
import { money, toMicro } from '#control-plane/dashboard/data/format.ts'
import { useChange, useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Answer } from '#control-plane/dashboard/market/answer.tsx'
import { SampleCredit } from '#control-plane/dashboard/market/sample-credit.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Gate } from '#control-plane/dashboard/ui/gate.tsx'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { ErrorNotice, Loaded, Notice } from '#control-plane/dashboard/ui/states.tsx'

/** A deposit, a grant or a call from elsewhere shows up while the reader looks on. */
const REFRESH_MS = 10_000
const PROMPT = 'Say hello.'
const MAX_TOKENS = 64

export function FirstStepsPage() {
  return (
    <Gate side="buyer" title="Get started">
      <FirstSteps />
    </Gate>
  )
}

function FirstSteps() {
  const query = useScreen(BuyerStartDocument, {}, { everyMs: REFRESH_MS })
  const [isBegun, setBegun] = useState(false)
  const hasCalled = (query.data?.me?.recentUsage.length ?? 0) > 0
  // A reader who called before has no need of this screen. A reader who calls here stays to read the answer.
  if (hasCalled && !isBegun) return <Navigate to="/buyer" replace />
  return (
    <Page
      title="Get started"
      about="Three steps to your first call."
      actions={<Link to="/seller/start">Sell capacity instead</Link>}
    >
      <Loaded query={query}>{(data) => <Steps data={data} onBegin={() => setBegun(true)} />}</Loaded>
    </Page>
  )
}

type StepsProps = { readonly data: BuyerStartQuery; readonly onBegin: () => void }

function Steps({ data, onBegin }: StepsProps) {
  const [secret, setSecret] = useState<string>()
  const url = apiUrlHere(data.service?.apiBaseUrl ?? '')
  const model = data.markets?.edges[0]?.node.id
  return (
    <>
      <Credit data={data} onBegin={onBegin} />
      <Key
        hasKey={(data.buyerKeys?.edges.length ?? 0) > 0}
        secret={secret}
        onMade={(made) => {
          onBegin()
          setSecret(made)
        }}
      />
      <FirstCall url={url} model={model} secret={secret} />
      <WayBack waysIn={data.waysIn} />
    </>
  )
}

type StepProps = {
  readonly number: number
  readonly title: string
  readonly isDone: boolean
  readonly children: ReactNode
}

function Step({ number, title, isDone, children }: StepProps) {
  return (
    <Card title={`${number}. ${title}`} actions={isDone ? <Badge tone="good">Done</Badge> : undefined}>
      <div className="form">{children}</div>
    </Card>
  )
}

function Credit({ data, onBegin }: StepsProps) {
  const credit = data.me?.creditBalanceUsdc ?? '0'
  const isDone = toMicro(credit) > 0n
  const isDevelopment = data.service?.isDevelopment === true
  return (
    <Step number={1} title="Add credit" isDone={isDone}>
      <p>{isDone ? `You have ${money(credit)} to spend.` : 'Calls are paid from prepaid credit.'}</p>
      {isDone ? null : (
        <div className="actions">
          {isDevelopment ? <SampleCredit onTaken={onBegin} /> : null}
          <Link to="/buyer/credit" className="button">
            Deposit from a wallet
          </Link>
        </div>
      )}
    </Step>
  )
}

type KeyProps = {
  readonly hasKey: boolean
  readonly secret: string | undefined
  readonly onMade: (secret: string) => void
}

function Key({ hasKey, secret, onMade }: KeyProps) {
  const create = useChange(PageCreateBuyerKeyDocument, {
    onDone: ({ createBuyerKey: { key } }) => {
      if (key !== null) onMade(key)
    },
  })
  return (
    <Step number={2} title="Create an API key" isDone={secret !== undefined}>
      {secret === undefined ? (
        <p>
          {hasKey
            ? 'A key is shown only once, when you create it. Create a new one to run this call here.'
            : 'Your programs call with an API key.'}
        </p>
      ) : (
        <>
          <Notice tone="warn">Copy the key now. It is shown this once.</Notice>
          <Code label="Your new key" text={secret} />
        </>
      )}
      {create.error === null ? null : <ErrorNotice error={create.error} />}
      {secret === undefined ? (
        <div>
          <Button
            kind="primary"
            disabled={create.isPending}
            onClick={() => create.mutate({ input: { label: 'First key', providersBlocked: [] } })}
          >
            Create a key
          </Button>
        </div>
      ) : null}
    </Step>
  )
}

type CallProps = {
  readonly url: string
  readonly model: string | undefined
  readonly secret: string | undefined
}

function FirstCall({ url, model = 'gpt-5-mini', secret }: CallProps) {
  const cache = useQueryClient()
  const question = { model, prompt: PROMPT, maxTokens: MAX_TOKENS }
  const say = useMutation({
    mutationFn: (key: string) => askModel({ ...question, key }),
    onSuccess: () => cache.invalidateQueries(),
  })
  // The policy of this page lets it call its own address alone.
  const isHere = url === location.origin
  return (
    <Step number={3} title="Make your first call" isDone={say.data !== undefined}>
      <Code label="Your first call" text={chatCurlOf(url, question, secret)} />
      <div className="actions">
        {isHere ? (
          <Button
            kind="primary"
            disabled={secret === undefined || say.isPending}
            onClick={() => {
              if (secret !== undefined) say.mutate(secret)
            }}
          >
            {say.isPending ? 'Calling…' : 'Run it'}
          </Button>
        ) : null}
        {secret === undefined ? <span className="muted small">Create a key first.</span> : null}
        {secret === undefined || isHere ? null : (
          <span className="muted small">Run this in a terminal. Your overview then shows the call.</span>
        )}
      </div>
      {say.error === null ? null : <Notice tone="bad">{say.error.message}</Notice>}
      {say.data === undefined ? null : (
        <>
          <Answer answer={say.data} />
          <div className="actions">
            <Link to="/buyer" className="button" data-kind="primary">
              Go to your overview
            </Link>
            <Link to="/models" className="button">
              Browse models
            </Link>
          </div>
        </>
      )}
    </Step>
  )
}

/** An account whose only way in is one passkey is lost with its device. */
function WayBack({ waysIn }: Pick<BuyerStartQuery, 'waysIn'>) {
  if (waysIn === null || waysIn.wallet !== null || waysIn.recoveryCodeAt !== null) return null
  if (waysIn.passkeys.length > 1 || waysIn.emails.length > 0) return null
  return (
    <Notice>
      <span>Losing this device would lock you out. Create a recovery code or add a second passkey.</span>{' '}
      <Link to="/account" className="button">
        Secure your account
      </Link>
    </Notice>
  )
}
