import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Card } from './page.tsx'

/** The content of a screen that belongs to an account, for a reader who is signed in with a key. */
export function NeedsAccount({ children }: { readonly children: ReactNode }) {
  const { href } = useLocation()
  return (
    <Card title="You are signed in with a key">
      <div className="form">
        <p>{children}</p>
        <div className="actions">
          <Link to="/sign-in" search={{ to: href }} className="button" data-kind="primary">
            Sign in with a passkey or a wallet
          </Link>
        </div>
      </div>
    </Card>
  )
}
