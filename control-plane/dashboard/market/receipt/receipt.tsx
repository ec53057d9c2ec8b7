import type { ReactNode } from 'react'
import type { BuyerReceiptQuery, ReceiptFragment } from '#control-plane/dashboard/data/documents/buyer-receipt.ts'
import type { PublicReceiptQuery } from '#control-plane/dashboard/data/documents/public-receipt.ts'
import { count, exactMoney, percent, UNKNOWN, words } from '#control-plane/dashboard/data/format.ts'
import { BillTable } from '#control-plane/dashboard/market/bill-table.tsx'
import { ModelLink } from '#control-plane/dashboard/market/model-link.tsx'
import { ReportProblem } from '#control-plane/dashboard/market/report-problem.tsx'
import { Settlement } from '#control-plane/dashboard/market/settlement.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code, CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Time } from '#control-plane/dashboard/ui/marks.tsx'
import type { Fact } from '#control-plane/dashboard/ui/page.tsx'
import { Card, Facts } from '#control-plane/dashboard/ui/page.tsx'

const PAID_BY: Readonly<Record<string, string>> = {
  credit: 'Prepaid credit',
  allowance: 'Wallet, by allowance',
  x402: 'Wallet, by x402',
  mpp: 'Wallet, by MPP',
}

type Payment = NonNullable<PublicReceiptQuery['payment']>

type CallProps = {
  readonly call: ReceiptFragment
  /** Undefined where a transaction paid for several calls. */
  readonly bill: BuyerReceiptQuery['requestBill']
  readonly curl: string
}

/** A receipt of a buyer's own call. */
export function CallReceipt({ call, bill, curl }: CallProps) {
  const { model, provider, createdAt, priceConditions } = call
  const facts: readonly Fact[] = [
    ['Time', <Time key="at" at={createdAt} />],
    ['Model', <ModelLink key="model" model={model} />],
    ['Served by', provider ?? 'No provider'],
    ['Used', usedBy(call) || UNKNOWN],
    ...moneyFacts(call),
  ]
  return (
    <Frame payment={call} curl={curl}>
      <Facts facts={facts} />
      {bill == null || bill.lines.length === 0 ? (
        <Sums call={call} />
      ) : (
        <BillTable bill={bill} priceConditions={priceConditions} />
      )}
    </Frame>
  )
}

/** The list price and the charge of a call whose lines are not known. */
function Sums({ call }: { readonly call: ReceiptFragment }) {
  const { buyerCostMicro, listCostMicro } = call
  const saved = listCostMicro - buyerCostMicro
  return (
    <table className="table sum">
      <tbody>
        <tr>
          <th scope="row">At list price</th>
          <td>{exactMoney(listCostMicro)}</td>
        </tr>
        <tr>
          <th scope="row">
            Saved{listCostMicro > 0 && saved > 0 ? `, ${percent((saved / listCostMicro) * 100)}` : ''}
          </th>
          <td>{exactMoney(saved)}</td>
        </tr>
      </tbody>
      <Charged payment={call} />
    </table>
  )
}

/** The money alone, for a holder of the id. */
export function MoneyReceipt({ payment, curl }: { readonly payment: Payment; readonly curl: string }) {
  return (
    <Frame payment={payment} curl={curl}>
      <Facts facts={moneyFacts(payment)} />
      <table className="table sum">
        <Charged payment={payment} />
      </table>
    </Frame>
  )
}

type FrameProps = { readonly payment: Payment; readonly curl: string; readonly children: ReactNode }

function Frame({ payment: { requestId }, curl, children }: FrameProps) {
  const dialog = useDialog()
  return (
    <Card
      title={`Receipt ${requestId}`}
      actions={
        <>
          <CopyButton text={`${location.origin}/receipt?id=${requestId}`} label="Copy link" />
          <ReportProblem id={requestId} />
          <Button kind="quiet" onClick={dialog.open}>
            curl
          </Button>
        </>
      }
    >
      <div className="grid">{children}</div>
      <Dialog dialog={dialog} title="Get this receipt by API">
        <Code text={curl} label="curl" />
      </Dialog>
    </Card>
  )
}

function Charged({ payment: { buyerCostMicro } }: { readonly payment: Payment }) {
  return (
    <tfoot>
      <tr>
        <th scope="row">Charged</th>
        <td>{exactMoney(buyerCostMicro)}</td>
      </tr>
    </tfoot>
  )
}

function moneyFacts(payment: Payment): readonly Fact[] {
  const { settlementType, settlementStatus, settlementError, confirmedAt, txHash } = payment
  return [
    ['Paid by', PAID_BY[settlementType] ?? words(settlementType)],
    ['Settlement', <Settlement key="state" status={settlementStatus} />],
    ...(settlementError === null ? [] : [['Ended with', words(settlementError)] satisfies Fact]),
    ['Booked', confirmedAt === null ? 'not yet' : <Time key="booked" at={Date.parse(confirmedAt)} />],
    ...(txHash === null
      ? []
      : [
          [
            'Transaction',
            <span key="hash" className="actions">
              <code>{txHash}</code>
              <CopyButton text={txHash} />
            </span>,
          ] satisfies Fact,
        ]),
  ]
}

/** The usage in words: "1,200 tokens in, of which 800 from the cache, 300 out". */
function usedBy(call: ReceiptFragment): string {
  const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens, images, megapixels, seconds, characters } = call
  const parts = [
    inputTokens > 0 ? `${count(inputTokens)} tokens in` : '',
    cacheReadTokens > 0 ? `of which ${count(cacheReadTokens)} from the cache` : '',
    outputTokens > 0 ? `${count(outputTokens)} tokens out` : '',
    reasoningTokens > 0 ? `of which ${count(reasoningTokens)} reasoning` : '',
    images > 0 ? `${count(images)} images` : '',
    megapixels > 0 ? `${count(megapixels)} megapixels` : '',
    seconds > 0 ? `${count(seconds)} seconds` : '',
    characters > 0 ? `${count(characters)} characters` : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}
