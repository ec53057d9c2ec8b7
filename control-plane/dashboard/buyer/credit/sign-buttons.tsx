import type { BrowserWallet } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'

type Props = {
  readonly wallets: readonly BrowserWallet[]
  readonly isDisabled: boolean
  readonly onSign: (wallet: BrowserWallet) => void
}

/** A button for each wallet of a form. The first one submits it. A browser without a wallet sees the reason. */
export function SignButtons({ wallets, isDisabled, onSign }: Props) {
  if (wallets.length === 0)
    return (
      <Button kind="primary" refusal="No wallet extension found.">
        Sign with a wallet
      </Button>
    )
  return wallets.map((wallet, place) => (
    <Button
      key={wallet.info.uuid}
      kind="primary"
      type={place === 0 ? 'submit' : 'button'}
      disabled={isDisabled}
      {...(place === 0 ? {} : { onClick: () => onSign(wallet) })}
    >
      {`Sign with ${wallet.info.name}`}
    </Button>
  ))
}
