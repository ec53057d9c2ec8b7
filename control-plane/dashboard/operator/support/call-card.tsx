import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { PageRefundCallDocument } from '#control-plane/dashboard/data/documents/operator.ts'
import type { OperatorSupportQuery } from '#control-plane/dashboard/data/documents/operator-support.ts'
import { exactMoney, milliseconds, percent, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Confirm } from '#control-plane/dashboard/ui/confirm.tsx'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Badge, Time } from '#control-plane/dashboard/ui/marks.tsx'
import { Card, Facts } from '#control-plane/dashboard/ui/page.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Call = NonNullable<OperatorSupportQuery['supportCall']>

const BPS_OF_PERCENT = 100

/** A call of any account: its result, the shares of its charge, and the refund. */
export function CallCard({ call }: { readonly call: Call }) {
  const [isRefunding, setRefunding] = useState(false)
  const { rid, account, sellerAccount, outcome, errorCode, isRefunded, chargeMicro } = call
  return (
    <Card
      title="Call"
      actions={
        <>
          <CopyButton text={rid} label="Copy id" />
          {isRefunded || chargeMicro === '0' ? null : (
            <Button kind="danger" onClick={() => setRefunding(true)}>
              Refund this call
            </Button>
          )}
        </>
      }
    >
      <div className="grid two" style={{ alignItems: 'start' }}>
        <Facts
          facts={[
            ['Request', <code key="rid">{rid}</code>],
            ['Started', <Time key="at" at={call.startedAt} />],
            ['Model', <ModelLink key="model" model={call.model} />],
            [
              'Outcome',
              outcome === 'succeeded' ? (
                'succeeded'
              ) : (
                <Badge key="outcome" tone={outcome === 'failed' ? 'bad' : 'warn'}>
                  {errorCode === null ? words(outcome) : `${words(outcome)}: ${words(errorCode)}`}
                </Badge>
              ),
            ],
            ['Provider', call.provider ?? UNKNOWN],
            [
              'Attempts',
              call.attempts.length === 0
                ? 'none'
                : call.attempts
                    .map(({ provider, status, ms }) => `${provider} ${status ?? 'no answer'} in ${milliseconds(ms)}`)
                    .join(', '),
            ],
            ['First token', milliseconds(call.ttftMs)],
            ['Duration', milliseconds(call.durationMs)],
          ]}
        />
        <Facts
          facts={[
            ['Buyer', <Opened key="buyer" account={account} />],
            ['Key', call.keyId === null ? 'none (paid by wallet)' : <code key="key">{call.keyId}</code>],
            ['Seller', sellerAccount === null ? UNKNOWN : <Opened key="seller" account={sellerAccount} />],
            ['Offer', call.offer === null ? UNKNOWN : <code key="offer">{call.offer}</code>],
            ['List price', exactMoney(call.listCostMicro)],
            ['Held', exactMoney(call.heldMicro)],
            ['Charged', exactMoney(chargeMicro)],
            [`Fee (${percent(call.feeBps / BPS_OF_PERCENT, 2)})`, exactMoney(call.feeMicro)],
            ['Seller net', exactMoney(call.sellerNetMicro)],
            [
              'Refund',
              isRefunded ? (
                <Badge key="refund" tone="info">
                  refunded
                </Badge>
              ) : (
                'none'
              ),
            ],
          ]}
        />
      </div>
      {isRefunding ? <RefundCall call={call} onClose={() => setRefunding(false)} /> : null}
    </Card>
  )
}

function Opened({ account }: { readonly account: string }) {
  return (
    <Link to="/operator/support" search={{ account }}>
      <code>{account}</code>
    </Link>
  )
}

function RefundCall({ call, onClose }: { readonly call: Call; readonly onClose: () => void }) {
  const say = useToast()
  const refund = useChange(PageRefundCallDocument, {
    onDone: () => {
      onClose()
      say('The call is refunded.')
    },
  })
  return (
    <Confirm
      title="Refund this call?"
      about="The buyer gets the whole charge back. The seller gives back what the call earned, and the market its fee. A call can be refunded once. To leave the seller paid, close this and give credit."
      lines={[
        { name: 'Buyer', now: 'charged', after: `+${exactMoney(call.chargeMicro)}` },
        { name: 'Seller', now: 'paid', after: `−${exactMoney(call.sellerNetMicro)}` },
        { name: 'Fee', now: 'kept', after: `−${exactMoney(call.feeMicro)}` },
      ]}
      action="Refund"
      isDanger
      needsReason
      isBusy={refund.isPending}
      error={refund.error}
      onDo={(reason) => refund.mutate({ key: call.rid, reason })}
      onClose={onClose}
    />
  )
}
