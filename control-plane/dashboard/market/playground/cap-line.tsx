import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useEffect, useState } from 'react'
import { PageUpdateBuyerKeyDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerPlaygroundQuery } from '#control-plane/dashboard/data/documents/buyer-playground.ts'
import { BuyerPlaygroundDocument } from '#control-plane/dashboard/data/documents/buyer-playground.ts'
import { exactMoney, money, toMicro } from '#control-plane/dashboard/data/format.ts'
import { usePayingKey } from '#control-plane/dashboard/data/paid-call.ts'
import { useViewer } from '#control-plane/dashboard/data/session.tsx'
import { nameOf, useChange } from '#control-plane/dashboard/data/use-query.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog, useDialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'

type Caps = BuyerPlaygroundQuery['caps']

/** The spending of the playground: the credit, and the daily cap of the key that its calls are counted for. */
export function CapLine({ caps }: { readonly caps: Caps }) {
  const { keyId, error } = usePayingKey()
  const { kind } = useViewer()
  const change = useDialog()
  const cache = useQueryClient()
  const isNew = caps !== null && keyId !== undefined && !caps.keys.some((key) => key.keyId === keyId)
  useEffect(() => {
    // The key is made with the first secret, after its caps were read.
    if (isNew) void cache.invalidateQueries({ queryKey: [nameOf(BuyerPlaygroundDocument)] })
  }, [isNew, cache])
  if (error !== null) return <ErrorNotice error={error} />
  if (caps === null) return null
  const daily = caps.keys.find((key) => key.keyId === keyId)?.daily
  const isEmpty = toMicro(caps.creditBalanceUsdc) <= 0n
  return (
    <>
      {isEmpty ? (
        <Notice tone="warn">
          <span>You have no credit. Add some before you ask a model that costs money.</span>
          <Link to="/buyer/credit" className="button">
            Add credit
          </Link>
        </Notice>
      ) : null}
      <p className="play-cap muted small">
        <span title={exactMoney(caps.creditBalanceUsdc)}>Credit {money(caps.creditBalanceUsdc)}</span>
        {daily == null ? null : (
          <span>
            Spent today {money(daily.usedUsdc)} of {money(daily.capUsdc)}
          </span>
        )}
        {kind === 'session' ? (
          daily == null ? null : (
            <Button kind="quiet" onClick={change.open}>
              Change the daily cap
            </Button>
          )
        ) : (
          <span>Calls are paid with the key that you signed in with, within its limits.</span>
        )}
      </p>
      {keyId === undefined || daily == null ? null : (
        <ChangeCap key={daily.capUsdc} dialog={change} keyId={keyId} capUsdc={daily.capUsdc} />
      )}
    </>
  )
}

const MICRO = 1_000_000

type ChangeProps = { readonly dialog: DialogState; readonly keyId: string; readonly capUsdc: string }

function ChangeCap({ dialog, keyId, capUsdc }: ChangeProps) {
  const say = useToast()
  const cap = Number(capUsdc) / MICRO
  const [text, setText] = useState(() => String(cap))
  const change = useChange(PageUpdateBuyerKeyDocument, {
    onDone: () => {
      dialog.close()
      say('The daily cap is changed.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.mutate({ id: keyId, input: { capDailyUsd: Number(text) } })
  }
  return (
    <Dialog dialog={dialog} title="Daily cap of the playground">
      <form className="form" onSubmit={submit}>
        <Input
          label="US dollars a day"
          hint="Days are UTC days. Your API keys have caps of their own."
          type="number"
          required
          min={0.000001}
          step="any"
          value={text}
          onChange={({ currentTarget: { value } }) => setText(value)}
        />
        {change.error === null ? null : <ErrorNotice error={change.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={Number(text) === cap || change.isPending}>
            Save changes
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
