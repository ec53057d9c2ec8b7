import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import type { FormEvent, ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { apiUrlHere } from '#control-plane/dashboard/data/api-url.ts'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { chatCurlOf, curlOf } from '#control-plane/dashboard/data/curl.ts'
import { BuyerReceiptDocument } from '#control-plane/dashboard/data/documents/buyer-receipt.ts'
import { PublicApiDocument } from '#control-plane/dashboard/data/documents/public-api.ts'
import { PublicReceiptDocument } from '#control-plane/dashboard/data/documents/public-receipt.ts'
import { isOfSide, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { ErrorNotice, isMissing, Loaded, Skeleton } from '#control-plane/dashboard/ui/states.tsx'
import { CallReceipt, MoneyReceipt } from './receipt.tsx'

const TRANSACTION = /^0x[0-9a-fA-F]{64}$/
const MAX_CHARS = 100
/** A call is booked soon after its answer. Then its receipt has the charge line by line. */
const LOOK_MS = 2_000

export function ReceiptPage() {
  const { id } = useSearch({ from: '/receipt' })
  return (
    <Page title="Receipts" about="What a call cost and how it was paid.">
      <Question key={id ?? ''} id={id} />
      {id === undefined ? <HowTo /> : <Answer id={id} />}
    </Page>
  )
}

function Question({ id }: { readonly id: string | undefined }) {
  const navigate = useNavigate({ from: '/receipt' })
  const [text, setText] = useState(id ?? '')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const requestId = text.trim()
    void navigate({ search: { id: requestId === '' ? undefined : requestId } })
  }
  return (
    <form className="filters" onSubmit={submit}>
      <Input
        label="Request ID or transaction hash"
        isWide
        data-search="true"
        required
        maxLength={MAX_CHARS}
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
      />
      <Button type="submit" kind="primary">
        Find receipt
      </Button>
    </form>
  )
}

const WHO_SEES =
  'You see the receipts of your own calls. The receipt of a call paid by wallet is visible to anyone with its ID, without the prompt and the answer.'

/** A call whose answer shows its head. */
function FirstCall() {
  const { data } = useScreen(PublicApiDocument, {})
  if (data?.service == null) return null
  const call = chatCurlOf(apiUrlHere(data.service.apiBaseUrl), { model: 'gpt-5-mini', prompt: 'Say hello.' })
  return <Code label="Find the request ID" text={`${call.replace('curl ', 'curl -si ')} | grep -i x-request-id`} />
}

function HowTo() {
  return (
    <Card
      title="Find the ID of a call"
      about={
        <>
          Each answer has its request ID in the header <code>x-request-id</code>.
        </>
      }
    >
      <div className="form">
        <FirstCall />
        <p className="muted">{WHO_SEES}</p>
      </div>
    </Card>
  )
}

function Answer({ id }: { readonly id: string }) {
  const viewer = useViewer()
  if (!viewer.isKnown)
    return viewer.failure === null ? <Skeleton height="20rem" /> : <ErrorNotice error={viewer.failure} />
  const isBuyer = isOfSide(viewer, 'buyer')
  if (isBuyer) return <Own id={id} />
  return TRANSACTION.test(id) ? <SignInFirst /> : <Public id={id} otherwise={<SignInFirst />} />
}

/** A receipt of the buyer who is signed in. */
function Own({ id }: { readonly id: string }) {
  const isTransaction = TRANSACTION.test(id)
  const variables = { id, isTransaction, ...(isTransaction ? { transaction: id } : {}) }
  const [isPending, setPending] = useState(false)
  const query = useScreen(BuyerReceiptDocument, variables, isPending ? { everyMs: LOOK_MS } : {})
  const status = query.data?.request?.settlementStatus
  useEffect(() => setPending(status === 'pending'), [status])
  // Without such a call of the buyer, the id may name a payment by wallet. Every holder of the id may read its receipt.
  if (!isTransaction && isMissing(query.error)) return <Public id={id} otherwise={<Unknown />} />
  const calls = query.data?.requests?.edges.map(({ node }) => node) ?? []
  return (
    <Loaded query={query}>
      {({ request, requestBill }) => {
        const receipts = request === null || request === undefined ? calls : [request]
        if (receipts.length === 0) return <Unknown />
        return receipts.map((call) => (
          <CallReceipt
            key={call.requestId}
            call={call}
            bill={requestBill}
            curl={curlOf(BuyerReceiptDocument, variables, true)}
          />
        ))
      }}
    </Loaded>
  )
}

type PublicProps = {
  readonly id: string
  /** Content for a call that no wallet paid, or that does not exist. The market does not distinguish the two. */
  readonly otherwise: ReactNode
}

/** A receipt for anyone with its id. */
function Public({ id, otherwise }: PublicProps) {
  const query = useScreen(PublicReceiptDocument, { id })
  const { error } = query
  if (isMissing(error)) return <Unknown />
  if (error instanceof MarketError && error.code === 'authentication_required') return otherwise
  return (
    <Loaded query={query}>
      {({ payment }) =>
        payment === null ? <Unknown /> : <MoneyReceipt payment={payment} curl={curlOf(PublicReceiptDocument, { id })} />
      }
    </Loaded>
  )
}

function Unknown() {
  return (
    <Card title="You have no call with this ID" about="A call appears here a few seconds after its answer.">
      <div className="form">
        <p className="muted">{WHO_SEES}</p>
        <div className="actions">
          <Link to="/buyer/logs" search={{}} className="button">
            Open your logs
          </Link>
        </div>
      </div>
    </Card>
  )
}

function SignInFirst() {
  const { href } = useLocation()
  return (
    <Card
      title="Sign in to see this receipt"
      about="If the ID is that of a call on credit, only its buyer sees the receipt."
    >
      <div className="form">
        <p className="muted">{WHO_SEES}</p>
        <div className="actions">
          <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
            Sign in as a buyer
          </Link>
        </div>
      </div>
    </Card>
  )
}
