import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { useEffect, useState } from 'react'
import type { OpenEmailLink } from '#control-plane/dashboard/data/email-links.ts'
import { readEmailLink, sendEmailLink, useEmailCode } from '#control-plane/dashboard/data/email-links.ts'
import { useSignIn, useViewer } from '#control-plane/dashboard/data/session.tsx'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

/** Sends a link that signs in, or that opens an account for a new address. `to` is the screen to go on to. */
export function WithEmail({ isBusy, to }: { readonly isBusy: boolean; readonly to: string | undefined }) {
  const [email, setEmail] = useState('')
  const send = useMutation({
    mutationFn: async (typed: string) => {
      await sendEmailLink(typed, 'sign_in', to)
      return typed
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send.mutate(email.trim())
  }
  if (send.data !== undefined) return <Sent email={send.data} onAgain={send.reset} />
  return (
    <Card title="E-mail" about="We send you a link. New here? The link creates your account.">
      <form className="form" onSubmit={submit}>
        {send.error === null ? null : <Notice tone="bad">{send.error.message}</Notice>}
        <Input
          label="E-mail address"
          type="email"
          autoComplete="email"
          required
          maxLength={254}
          value={email}
          onChange={({ currentTarget: { value } }) => setEmail(value)}
        />
        <div>
          <Button kind="primary" type="submit" disabled={isBusy || send.isPending || email.trim() === ''}>
            Send a link
          </Button>
        </div>
      </form>
    </Card>
  )
}

function Sent({ email, onAgain }: { readonly email: string; readonly onAgain: () => void }) {
  return (
    <Card title="E-mail" about="Check your inbox.">
      <div className="form">
        <p role="status">
          We sent a link to <strong>{email}</strong>. Open the link in this browser within 15 minutes.
        </p>
        <p className="muted">No e-mail? Look in your spam folder.</p>
        <div>
          <Button onClick={onAgain}>Use another address</Button>
        </div>
      </div>
    </Card>
  )
}

type LinkProps = { readonly isBusy: boolean; readonly attempt: (run: () => Promise<void>) => void }

/**
 * Uses a link that was sent by e-mail. A browser that did not ask for the link, or that is signed in, is asked first:
 * mail scanners open links, and a link may be for another user.
 */
export function EmailLink({ isBusy, attempt }: LinkProps) {
  const { withEmailCode } = useSignIn()
  const viewer = useViewer()
  const read = useMutation({ mutationFn: readEmailLink })
  const link = read.data
  const isStranger = viewer.isKnown && viewer.kind === 'nobody'
  const redeem = ({ code, isThisBrowser }: OpenEmailLink) => {
    read.reset()
    attempt(() => withEmailCode(code, !isThisBrowser))
  }
  useEmailCode((code) => read.mutate(code))
  // biome-ignore lint/correctness/useExhaustiveDependencies: A link is used once, as soon as the viewer is known.
  useEffect(() => {
    if (link?.isThisBrowser === true && isStranger) redeem(link)
  }, [link, isStranger])
  if (read.error !== null) return <Notice tone="bad">{read.error.message}</Notice>
  if (link === undefined || !viewer.isKnown || (link.isThisBrowser && isStranger)) return null
  return (
    <Notice tone="warn">
      <span>
        {link.isThisBrowser ? null : 'Another browser asked for this link. '}
        {isStranger ? null : 'The link signs this browser out of the current account. '}
        Sign in as <strong>{link.email}</strong>?
      </span>
      <span className="actions">
        <Button kind="primary" disabled={isBusy} onClick={() => redeem(link)}>
          {`Sign in as ${link.email}`}
        </Button>
        <Button onClick={read.reset}>{isStranger ? 'Cancel' : 'Stay signed in'}</Button>
      </span>
    </Notice>
  )
}
