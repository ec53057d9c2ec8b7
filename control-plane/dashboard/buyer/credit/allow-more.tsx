import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageOpenAllowanceDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { SignButtons } from './sign-buttons.tsx'
import { usePermit } from './sign-permit.ts'

/** The least amount of a permit, in US dollars: the treasury pays its gas. */
const LEAST_USD = 1

type Props = {
  readonly dialog: DialogState
  readonly allowance: Pick<NonNullable<BuyerCreditQuery['allowance']>, 'status' | 'wallet' | 'spender'>
}

/** Opens the line, or allows more. The typed amount stays when the wallet or the market refuses. */
export function AllowMore({ dialog, allowance: { status, wallet, spender } }: Props) {
  const say = useToast()
  const wallets = useWallets()
  const [amount, setAmount] = useState('')
  const done = (text: string) => {
    setAmount('')
    dialog.close()
    say(text)
  }
  const sign = usePermit({ onDone: () => done('Signed. The market advances credit once the permit is in a block.') })
  const open = useChange(PageOpenAllowanceDocument, {
    onDone: () => done('Open. Now approve the spender with your wallet.'),
  })
  const isBusy = sign.isPending || open.isPending
  const isEnough = Number(amount) >= LEAST_USD
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const [first] = wallets
    if (first !== undefined && isEnough) sign.mutate({ wallet: first, amountUsd: amount })
  }
  return (
    <Dialog dialog={dialog} title="Pay from your wallet">
      <form className="form" onSubmit={submit}>
        <p>
          The market (<code>{spender}</code>) may collect up to this amount from your wallet <code>{wallet}</code>. A
          new permit replaces the last one. You can end the permit at any time.
        </p>
        <Input
          label="Amount allowed, US dollars"
          hint={`${LEAST_USD} or more, in USDC of the wallet. The market submits the permit and pays the gas`}
          type="number"
          required
          min={LEAST_USD}
          step={0.000001}
          value={amount}
          onChange={({ currentTarget: { value } }) => setAmount(value)}
        />
        {sign.error === null ? null : <Notice tone="bad">{sign.error.message}</Notice>}
        {open.error === null ? null : <ErrorNotice error={open.error} />}
        {wallets.length === 0 ? (
          <>
            <p className="muted">No wallet extension found. Install one, or use a terminal:</p>
            <Code
              label="Allow at the command line"
              text={`npx market allowance open --usd 5 --private-key-from wallet.key --yes --url ${location.origin}`}
            />
          </>
        ) : null}
        <div className="dialog-foot">
          {status === 'open' || status === 'stopped' ? null : (
            <Button
              disabled={isBusy}
              title="For wallets that approve the spender by a transaction"
              onClick={() => open.mutate({ amountUsd: null })}
            >
              Open without a permit
            </Button>
          )}
          <SignButtons
            wallets={wallets}
            isDisabled={isBusy || !isEnough}
            onSign={(browserWallet) => sign.mutate({ wallet: browserWallet, amountUsd: amount })}
          />
        </div>
      </form>
    </Dialog>
  )
}
