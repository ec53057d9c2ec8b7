import type { FormEvent } from 'react'
import { useState } from 'react'
import { hasPasskeys } from '#control-plane/dashboard/data/passkeys.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Input } from '#control-plane/dashboard/ui/fields.tsx'
import { Card } from '#control-plane/dashboard/ui/page.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'

type Props = {
  readonly isBusy: boolean
  /** The origin that passkeys work on; null where there is none, undefined until the market has said so. */
  readonly passkeyOrigin: string | null | undefined
  readonly onCreate: () => void
  readonly onUse: () => void
  readonly onRecover: (code: string) => void
}

/** Signs in with a passkey, or opens an account with one. */
export function WithPasskey({ isBusy, passkeyOrigin, onCreate, onUse, onRecover }: Props) {
  return (
    <Card title="Passkey" about="Use your fingerprint, face or screen lock. No password, no wallet, no extension.">
      <div className="form">
        {passkeyOrigin !== undefined && passkeyOrigin !== location.origin ? (
          <Elsewhere passkeyOrigin={passkeyOrigin} />
        ) : hasPasskeys() ? (
          <div className="actions">
            <Button kind="primary" disabled={isBusy || passkeyOrigin === undefined} onClick={onCreate}>
              Create an account
            </Button>
            <Button disabled={isBusy || passkeyOrigin === undefined} onClick={onUse}>
              Use a passkey
            </Button>
          </div>
        ) : (
          <Notice tone="warn">
            This browser does not support passkeys. Use another browser, or another way below.
          </Notice>
        )}
        <Recovery isBusy={isBusy} onRecover={onRecover} />
      </div>
    </Card>
  )
}

function Elsewhere({ passkeyOrigin }: { readonly passkeyOrigin: string | null }) {
  if (passkeyOrigin === null) {
    return <Notice tone="warn">This market has no host name, which passkeys need. Use another way below.</Notice>
  }
  return (
    <>
      <p>
        Your passkey belongs to <strong>{passkeyOrigin}</strong>. You are at {location.origin}, where it does not work.
      </p>
      <div className="actions">
        <a className="button" data-kind="primary" href={`${passkeyOrigin}/sign-in${location.search}`}>
          Open {passkeyOrigin}
        </a>
      </div>
    </>
  )
}

function Recovery({ isBusy, onRecover }: Pick<Props, 'isBusy' | 'onRecover'>) {
  const [code, setCode] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onRecover(code.trim())
  }
  return (
    <details>
      <summary>Lost your passkey?</summary>
      <form className="form" onSubmit={submit}>
        <Input
          label="Recovery code"
          hint="25 letters and digits. It works once"
          autoComplete="off"
          spellCheck={false}
          required
          maxLength={100}
          value={code}
          onChange={({ currentTarget: { value } }) => setCode(value)}
        />
        <div>
          <Button type="submit" disabled={isBusy || code.trim() === ''}>
            Recover the account
          </Button>
        </div>
      </form>
    </details>
  )
}
