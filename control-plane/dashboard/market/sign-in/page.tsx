import { useNavigate, useSearch } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useEffect, useRef, useState } from 'react'
import { ask, toMarketError } from '#control-plane/dashboard/data/client.ts'
import { PageChallengeDocument } from '#control-plane/dashboard/data/documents/viewer.ts'
import type { Proof } from '#control-plane/dashboard/data/session.tsx'
import { useSignIn, useViewer } from '#control-plane/dashboard/data/session.tsx'
import type { BrowserWallet } from '#control-plane/dashboard/data/wallets.ts'
import { signMessage, useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

/** A code that was cut when it was copied is refused in words, too. */
const CODE = /^#code=(.+)$/

/** The first screen of each side. */
const HOMES = {
  buyer: '/buyer',
  seller: '/seller/offers',
  operator: '/operator',
  session: '/buyer',
  org: '/',
  nobody: '/',
} as const

export function SignInPage() {
  const { withProof, withWallet } = useSignIn()
  const viewer = useViewer()
  const { to } = useSearch({ from: '/sign-in' })
  const navigate = useNavigate()
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const isAsked = useRef(false)

  const attempt = (run: () => Promise<void>) => {
    setFault(undefined)
    setBusy(true)
    isAsked.current = true
    run()
      .catch((error: unknown) => setFault(error instanceof Error ? error.message : toMarketError(error).message))
      .finally(() => setBusy(false))
  }
  const prove = (proof: Proof) => attempt(() => withProof(proof))

  // biome-ignore lint/correctness/useExhaustiveDependencies: The link is redeemed once, when it is opened.
  useEffect(() => {
    const redeem = () => {
      const code = CODE.exec(location.hash)?.[1]
      if (code === undefined) return
      // The code works once, so it need not stay in the history.
      history.replaceState(history.state, '', location.pathname + location.search)
      prove({ code })
    }
    redeem()
    // A link that is pasted over this screen's own address loads nothing anew.
    addEventListener('hashchange', redeem)
    return () => removeEventListener('hashchange', redeem)
  }, [])
  useEffect(() => {
    if (!isAsked.current || viewer.kind === 'nobody') return
    isAsked.current = false
    const isOurs = to?.startsWith('/') === true && !to.startsWith('//')
    void navigate({ to: isOurs ? to : HOMES[viewer.kind], replace: true })
  }, [viewer.kind, to, navigate])

  return (
    <Page
      title="Sign in"
      about="With a wallet, or with a key of yours. A session with a key has the rights of that key alone, and ends with it."
    >
      {fault === undefined ? null : <Notice tone="bad">{fault}</Notice>}
      {viewer.kind === 'nobody' ? null : <Notice tone="good">This browser is signed in: {viewer.kind}.</Notice>}
      <div className="grid two">
        <WithKey isBusy={isBusy} onKey={(key) => prove({ key })} />
        <WithWallet
          isBusy={isBusy}
          onWallet={(wallet) =>
            attempt(async () =>
              withWallet(
                await signMessage(wallet, async (address) => {
                  const { signInChallenge } = await ask(PageChallengeDocument, { address })
                  return signInChallenge?.message ?? ''
                }),
              ),
            )
          }
        />
      </div>
    </Page>
  )
}

function WithKey({ isBusy, onKey }: { readonly isBusy: boolean; readonly onKey: (key: string) => void }) {
  const [key, setKey] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onKey(key.trim())
  }
  return (
    <Card title="With a key">
      <form className="form" onSubmit={submit}>
        <Input
          label="Key"
          hint="A buyer, seller or management key: inf_…, mkt_seller_…, mkt_mgmt_…"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <div>
          <Button kind="primary" type="submit" disabled={isBusy || key.trim() === ''}>
            Sign in
          </Button>
        </div>
      </form>
    </Card>
  )
}

type WalletProps = { readonly isBusy: boolean; readonly onWallet: (wallet: BrowserWallet) => void }

function WithWallet({ isBusy, onWallet }: WalletProps) {
  const wallets = useWallets()
  return (
    <Card title="With a wallet" about="You sign a message. Nothing is paid, and a new wallet gets its accounts.">
      {wallets.length === 0 ? (
        <div className="form">
          <p className="muted">No wallet has announced itself in this browser. A key can be had at the command line:</p>
          <Code
            label="Sign in at the command line"
            text={`npx market login --url ${location.origin} --private-key-env WALLET_KEY`}
          />
        </div>
      ) : (
        <div className="actions">
          {wallets.map((wallet) => (
            <Button key={wallet.info.uuid} disabled={isBusy} onClick={() => onWallet(wallet)}>
              {wallet.info.name}
            </Button>
          ))}
        </div>
      )}
    </Card>
  )
}
