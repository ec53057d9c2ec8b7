import { useNavigate, useSearch } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useEffect, useRef, useState } from 'react'
import { toMarketError } from '#control-plane/dashboard/data/client.ts'
import { PublicSignInDocument } from '#control-plane/dashboard/data/documents/public-sign-in.ts'
import type { Proof } from '#control-plane/dashboard/data/session.tsx'
import { useSignIn, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { useScreen } from '#control-plane/dashboard/data/use-query.ts'
import type { BrowserWallet } from '#control-plane/dashboard/data/wallets.ts'
import { signSignInMessage, useWallets } from '#control-plane/dashboard/data/wallets.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Code } from '#control-plane/dashboard/ui/copy.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Card, Page } from '#control-plane/dashboard/ui/page.tsx'
import { SecretOnce } from '#control-plane/dashboard/ui/secret.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import { EmailLink, WithEmail } from './with-email.tsx'
import { WithPasskey } from './with-passkey.tsx'

/** A code that was cut when it was copied is refused in words, too. */
const CODE = /^#code=(.+)$/

const ABOUT = {
  withMail: 'New here? Create an account with a passkey or an e-mail link. It takes a few seconds.',
  withoutMail: 'New here? Create an account with a passkey. It takes a few seconds.',
} as const

/** The first screen of each side. */
const HOMES = {
  buyer: '/buyer',
  seller: '/seller/offers',
  operator: '/operator',
  session: '/start',
  org: '/',
  nobody: '/',
} as const

/** The screen to open after the sign-in. Undefined for a URL of another site. */
function ownPath(to: string | undefined): string | undefined {
  if (to?.startsWith('/') !== true || !URL.canParse(to, location.origin)) return undefined
  const { origin, pathname, search } = new URL(to, location.origin)
  return origin === location.origin ? pathname + search : undefined
}

export function SignInPage() {
  const { withProof, withWallet, withPasskey, withNewPasskey, withRecoveryCode, asSample } = useSignIn()
  const viewer = useViewer()
  const { to } = useSearch({ from: '/sign-in' })
  const navigate = useNavigate()
  const query = useScreen(PublicSignInDocument, {})
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [nextCode, setNextCode] = useState<string>()
  const [linkCode, setLinkCode] = useState<string>()
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
  const redeem = (code: string) => {
    setLinkCode(undefined)
    prove({ code })
  }

  useLinkCode(setLinkCode)
  // biome-ignore lint/correctness/useExhaustiveDependencies: A code is redeemed once, as soon as the viewer is known.
  useEffect(() => {
    if (linkCode !== undefined && viewer.isKnown && viewer.kind === 'nobody') redeem(linkCode)
  }, [linkCode, viewer.isKnown, viewer.kind])
  useEffect(() => {
    if (!isAsked.current || viewer.kind === 'nobody') return
    isAsked.current = false
    void navigate({ to: ownPath(to) ?? HOMES[viewer.kind], replace: true })
  }, [viewer.kind, to, navigate])

  const recover = (code: string) =>
    attempt(async () => {
      // The next code is shown before this screen is left.
      isAsked.current = false
      setNextCode(await withRecoveryCode(code))
    })
  const service = query.data?.service
  return (
    <Page title="Sign in" about={ABOUT[service?.sendsMail === true ? 'withMail' : 'withoutMail']}>
      {fault === undefined ? null : <Notice tone="bad">{fault}</Notice>}
      {viewer.kind === 'nobody' ? null : <Notice tone="good">This browser is signed in: {viewer.kind}.</Notice>}
      {linkCode === undefined || viewer.kind === 'nobody' ? null : (
        <Notice tone="warn">
          <span>The link signs this browser in to another account, and out of this one.</span>
          <span className="actions">
            <Button kind="primary" disabled={isBusy} onClick={() => redeem(linkCode)}>
              Use the link
            </Button>
            <Button onClick={() => setLinkCode(undefined)}>Stay signed in</Button>
          </span>
        </Notice>
      )}
      <EmailLink isBusy={isBusy} attempt={attempt} />
      {service?.isDevelopment === true ? <AsSample isBusy={isBusy} onSample={() => attempt(asSample)} /> : null}
      <div className="grid two ways-in">
        <WithPasskey
          isBusy={isBusy}
          passkeyOrigin={query.isPending ? undefined : (service?.passkeyOrigin ?? null)}
          onCreate={() => attempt(withNewPasskey)}
          onUse={() => attempt(withPasskey)}
          onRecover={recover}
        />
        {service?.sendsMail === true ? <WithEmail isBusy={isBusy} to={ownPath(to)} /> : null}
        <WithKey isBusy={isBusy} onKey={(key) => prove({ key })} />
        <WithWallet
          isBusy={isBusy}
          onWallet={(wallet) => attempt(async () => withWallet(await signSignInMessage(wallet)))}
        />
      </div>
      {nextCode === undefined ? null : (
        <SecretOnce
          shown={{
            title: 'Your next recovery code',
            secret: nextCode,
            about: 'The code that you used no longer works. Add a passkey next.',
          }}
          onDone={() => void navigate({ to: '/account', replace: true })}
        />
      )}
    </Page>
  )
}

/** Redeems the code of a link that is opened or pasted here. */
function useLinkCode(redeemCode: (code: string) => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: The link is redeemed once, when it is opened.
  useEffect(() => {
    const redeem = () => {
      const code = CODE.exec(location.hash)?.[1]
      if (code === undefined) return
      // The code works once, so it need not stay in the history.
      history.replaceState(history.state, '', location.pathname + location.search)
      redeemCode(code)
    }
    redeem()
    // The browser does not reload when a link is pasted over this screen's own address.
    addEventListener('hashchange', redeem)
    return () => removeEventListener('hashchange', redeem)
  }, [])
}

function AsSample({ isBusy, onSample }: { readonly isBusy: boolean; readonly onSample: () => void }) {
  return (
    <Card
      title="Development market"
      about="Money here is not real. The sample buyer has calls to look at."
      actions={
        <Button disabled={isBusy} onClick={onSample}>
          Try it as the sample buyer
        </Button>
      }
      isFlush
    >
      {null}
    </Card>
  )
}

function WithKey({ isBusy, onKey }: { readonly isBusy: boolean; readonly onKey: (key: string) => void }) {
  const [key, setKey] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onKey(key.trim())
  }
  return (
    <Card title="API key" about="You can do only what the key can.">
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
    <Card title="Wallet" about="You sign a message. Nothing is paid.">
      {wallets.length === 0 ? (
        <div className="form">
          <p className="muted">No wallet extension found. Install one, or create a key in a terminal:</p>
          <Code
            label="Sign in at the command line"
            text={`npx market login \\\n  --url ${location.origin} \\\n  --private-key-env WALLET_KEY`}
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
