import type { FormEvent } from 'react'
import { useState } from 'react'
import { PageOpenAllowanceDocument } from '#control-plane/dashboard/data/documents/buyer.ts'
import type { BuyerCreditQuery } from '#control-plane/dashboard/data/documents/buyer-credit.ts'
import { short } from '#control-plane/dashboard/data/format.ts'
import { useChange } from '#control-plane/dashboard/data/use-query.ts'
import { useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import type { DialogState } from '#control-plane/dashboard/ui/dialog.tsx'
import { Dialog } from '#control-plane/dashboard/ui/dialog.tsx'
import { ErrorNotice, Notice } from '#control-plane/dashboard/ui/states.tsx'
import { useToast } from '#control-plane/dashboard/ui/toast.tsx'
import { AmountField, EXAMPLE_USD, LEAST_USD } from './amount-field.tsx'
import { ByCommand } from './by-command.tsx'
import { SignButtons } from './sign-buttons.tsx'
import { usePermit } from './sign-permit.ts'

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
    onDone: () => done(`Set up. Now approve ${short(spender)} with your wallet.`),
  })
  const isOpen = status === 'open' || status === 'stopped'
  const isBusy = sign.isPending || open.isPending
  const isEnough = Number(amount) >= LEAST_USD
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const [first] = wallets
    if (first !== undefined && isEnough) sign.mutate({ wallet: first, amountUsd: amount })
  }
  return (
    <Dialog dialog={dialog} title={isOpen ? 'Allow more' : 'Pay from your wallet'}>
      <form className="form" onSubmit={submit}>
        <AmountField
          label="Amount allowed, US dollars"
          hint={`At least $${LEAST_USD}, in USDC of the wallet. We send the permit and pay the gas`}
          value={amount}
          onChange={setAmount}
        />
        <p>
          We collect what you spend from your wallet <code title={wallet}>{short(wallet)}</code>, up to this amount. A
          new permit replaces the last one. You can end payment at any time.
        </p>
        {sign.error === null ? null : <Notice tone="bad">{sign.error.message}</Notice>}
        {open.error === null ? null : <ErrorNotice error={open.error} />}
        <div className="dialog-foot">
          <Button onClick={dialog.close}>Cancel</Button>
          <SignButtons
            wallets={wallets}
            isDisabled={isBusy || !isEnough}
            onSign={(browserWallet) => sign.mutate({ wallet: browserWallet, amountUsd: amount })}
          />
        </div>
        <ByCommand
          label="Allow at the command line"
          command={`allowance open --usd ${isEnough ? amount : EXAMPLE_USD} --private-key-from wallet.key --yes`}
        >
          {isOpen ? null : (
            <>
              <p>
                A wallet that cannot sign permits can approve our address <code>{spender}</code> by a transaction, and
                pays its gas.
              </p>
              <div className="actions">
                <Button disabled={isBusy} onClick={() => open.mutate({ amountUsd: null })}>
                  Set up for a transaction
                </Button>
              </div>
            </>
          )}
        </ByCommand>
      </form>
    </Dialog>
  )
}
